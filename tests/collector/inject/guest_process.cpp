// SPDX-License-Identifier: Apache-2.0
#include "guest_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <stdexcept>

namespace warpmeter::test {

std::string injectLibrary() { return WARPMETER_INJECT_LIBRARY; }
std::string fakeFolder() { return WARPMETER_FAKE_FOLDER; }

bool GuestResult::exited(int code) const { return WIFEXITED(waitStatus) && WEXITSTATUS(waitStatus) == code; }

std::int64_t GuestResult::value(const std::string& key) const {
  std::istringstream lines(output);
  std::string name, value;
  while (lines >> name >> value) {
    if (name == key) return static_cast<std::int64_t>(std::stoull(value));  // negative ones are printed unsigned
  }
  return -1;
}
bool GuestResult::has(const std::string& key) const { return output.find(key) != std::string::npos; }

GuestProcess::GuestProcess(const GuestCommand& command) {
  const std::string program = fakeFolder() + "/" + command.program;
  // The test's own come first: of two equal names the first one counts.
  std::vector<std::string> environment = command.environment;
  for (const std::string& variable :
       {std::string("PATH=/usr/bin:/bin"), "LD_LIBRARY_PATH=" + fakeFolder() + "/lib",
        "CUDA_INJECTION64_PATH=" + injectLibrary(), "NVTX_INJECTION64_PATH=" + injectLibrary(),
        std::string("WARPMETER_FLUSH_MS=50")}) {
    environment.push_back(variable);
  }
  if (!command.socketPath.empty()) environment.push_back("WARPMETER_SOCKET=" + command.socketPath);
  std::vector<char*> argv{const_cast<char*>(program.c_str())}, envp;
  for (const std::string& argument : command.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  for (const std::string& variable : environment) envp.push_back(const_cast<char*>(variable.c_str()));
  argv.push_back(nullptr);
  envp.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
  pid_ = fork();
  if (pid_ == 0) {
    dup2(ends[1], 1);
    if (command.fileSizeLimit != 0) {
      const rlimit limit{command.fileSizeLimit, command.fileSizeLimit};
      setrlimit(RLIMIT_FSIZE, &limit);
    }
    execve(program.c_str(), argv.data(), envp.data());
    _exit(127);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

bool GuestProcess::readMore() {
  char text[4096];
  const ssize_t bytes = read(pipe_, text, sizeof text);
  if (bytes > 0) output_.append(text, static_cast<std::size_t>(bytes));
  return bytes > 0;
}

void GuestProcess::waitForLine(const std::string& text) {
  while (output_.find(text) == std::string::npos && readMore()) {
  }
}

GuestResult GuestProcess::wait() {
  while (readMore()) {
  }
  GuestResult result;
  waitpid(pid_, &result.waitStatus, 0);
  close(pipe_);
  result.output = output_;
  return result;
}

GuestResult runGuest(const GuestCommand& command) { return GuestProcess(command).wait(); }

}  // namespace warpmeter::test
