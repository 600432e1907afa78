// SPDX-License-Identifier: Apache-2.0
#include "processes/mps.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/program.h"

namespace warpmeter::kernels {
namespace {

constexpr const char* kProgram = "nvidia-cuda-mps-control";
constexpr int kStepMs = 20;
constexpr int kStartMs = 10'000;
constexpr int kQuitMs = 10'000;

std::string onPath(const char* program) {
  const char* path = std::getenv("PATH");
  const std::string list = std::string(path != nullptr ? path : "") + ":/usr/bin";
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    const std::string candidate = list.substr(begin, end - begin) + "/" + program;
    if (end > begin && access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  return "";
}

// This process's, with the daemon's folder. It and its servers are not to be recorded, and see all GPUs: a
// client's CUDA_VISIBLE_DEVICES counts those of the server.
std::vector<std::string> environmentOf(const std::string& folder) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string variable = *entry;
    const std::string name = variable.substr(0, variable.find('='));
    if (name != "CUDA_MPS_PIPE_DIRECTORY" && name != "CUDA_MPS_LOG_DIRECTORY" &&
        name != "CUDA_VISIBLE_DEVICES" && name != "CUDA_INJECTION64_PATH" &&
        name != "NVTX_INJECTION64_PATH") {
      variables.push_back(variable);
    }
  }
  variables.push_back("CUDA_MPS_PIPE_DIRECTORY=" + folder);
  variables.push_back("CUDA_MPS_LOG_DIRECTORY=" + folder);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) {
    list.push_back(text.data());
  }
  list.push_back(nullptr);
  return list;
}

}  // namespace

PipeFolder::PipeFolder() : path_("/tmp/warpmeter-mps-XXXXXX") {
  if (mkdtemp(path_.data()) == nullptr) {
    throw Failure{kExitFailed, std::string("cannot make a folder below /tmp: ") + std::strerror(errno)};
  }
}

PipeFolder::~PipeFolder() {
  if (DIR* folder = opendir(path_.c_str())) {
    while (const dirent* entry = readdir(folder)) {
      unlinkat(dirfd(folder), entry->d_name, 0);
    }
    closedir(folder);
  }
  rmdir(path_.c_str());
}

MpsDaemon::MpsDaemon(const PipeFolder& folder) : program_(onPath(kProgram)), folder_(folder.path()) {
  if (program_.empty()) {
    obstacle_ = std::string(kProgram) + " is not installed";
    return;
  }
  std::vector<std::string> words{program_, "-f"};  // in the foreground: a child, which is ended by its id
  std::vector<std::string> variables = environmentOf(folder_);
  const std::vector<char*> arguments = pointers(words);
  const std::vector<char*> environment = pointers(variables);
  process_ = fork();
  if (process_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 0);
    dup2(nothing, 1);
    dup2(nothing, 2);
    execve(program_.c_str(), arguments.data(), environment.data());
    _exit(127);
  }
  for (int waited = 0; process_ > 0 && waited < kStartMs; waited += kStepMs) {
    if (ended(0)) {
      obstacle_ = "its daemon ended at once with status " +
                  std::to_string(WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_));
      return;
    }
    if (access((folder_ + "/control").c_str(), F_OK) == 0) {
      return;
    }
    usleep(kStepMs * 1000);
  }
  obstacle_ = process_ > 0 ? "its daemon does not take commands" : "its daemon cannot be started";
}

MpsDaemon::~MpsDaemon() {
  if (process_ <= 0) {
    return;
  }
  if (obstacle_.empty()) {
    ask("quit");
  }
  for (const int signal : {0, SIGTERM, SIGKILL}) {
    if (signal != 0) {
      kill(process_, signal);
    }
    if (ended(obstacle_.empty() || signal != 0 ? kQuitMs : 0)) {
      return;
    }
  }
}

// Server ids are numbers; an answer in words says that there is none.
bool MpsDaemon::hasServer() const {
  const std::string answer = ask("get_server_list");
  return !answer.empty() && answer.find_first_not_of("0123456789 \n") == std::string::npos;
}

// The folder's name needs no quotes; the program's may.
std::string MpsDaemon::ask(const char* command) const {
  std::string quoted;
  for (const char c : program_) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  const std::string line = std::string("echo ") + command + " | CUDA_MPS_PIPE_DIRECTORY=" + folder_ +
                           " timeout 10 '" + quoted + "' 2>/dev/null";
  std::string answer;
  if (std::FILE* pipe = popen(line.c_str(), "r")) {
    char part[256];
    while (std::fgets(part, sizeof part, pipe) != nullptr) {
      answer += part;
    }
    pclose(pipe);
  }
  return answer;
}

bool MpsDaemon::ended(int waitMs) {
  for (int waited = 0;; waited += kStepMs) {
    if (waitpid(process_, &status_, WNOHANG) == process_) {
      process_ = -1;
      return true;
    }
    if (waited >= waitMs) {
      return false;
    }
    usleep(kStepMs * 1000);
  }
}

}  // namespace warpmeter::kernels
