// SPDX-License-Identifier: Apache-2.0
#include "processes/child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "common/program.h"

namespace warpmeter::kernels {
namespace {

constexpr int kAnswerMs = 120'000;  // a context of the first client of a new MPS server takes seconds
constexpr int kEndMs = 20'000;
constexpr int kStepMs = 10;

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) {
    list.push_back(text.data());
  }
  list.push_back(nullptr);
  return list;
}

std::vector<std::string> environmentWith(const std::string& mpsFolder) {
  constexpr const char* kVariable = "CUDA_MPS_PIPE_DIRECTORY=";
  std::vector<std::string> variables{kVariable + mpsFolder};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, kVariable, std::strlen(kVariable)) != 0) {
      variables.emplace_back(*entry);
    }
  }
  return variables;
}

}  // namespace

// Byte by byte: lines are short and few, and nothing beyond one may be taken.
bool readLine(int from, std::string& line, int waitMs) {
  line.clear();
  for (char c = 0;;) {
    pollfd waiting{from, POLLIN, 0};
    const int ready = poll(&waiting, 1, waitMs);
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0 || read(from, &c, 1) != 1) {
      return false;
    }
    if (c == '\n') {
      return true;
    }
    line += c;
  }
}

bool writeLine(int to, const std::string& line) {
  const std::string text = line + "\n";
  return send(to, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

Child::Child(const std::string& program, const std::vector<std::string>& words,
             const std::string& mpsFolder) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Failure{kExitFailed, std::string("cannot make a socket: ") + std::strerror(errno)};
  }
  // Equal numbers would leave the descriptor to be closed at exec.
  const int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, kChildLines + 1);
  close(ends[1]);
  lines_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, theirs, kChildLines);
  std::vector<std::string> all{program};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<std::string> variables = environmentWith(mpsFolder);
  const int error = posix_spawn(&process_, program.c_str(), &actions, nullptr, pointers(all).data(),
                                pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  close(theirs);
  if (error != 0) {
    close(lines_);
    throw Failure{kExitFailed, "cannot start " + program + ": " + std::strerror(error)};
  }
}

Child::Child(Child&& other) noexcept
    : process_(std::exchange(other.process_, -1)), lines_(std::exchange(other.lines_, -1)) {}

Child::~Child() {
  if (process_ < 0) {
    return;
  }
  close(lines_);
  int status = 0;
  for (int waited = 0; waitpid(process_, &status, WNOHANG) == 0; waited += kStepMs) {
    if (waited >= kEndMs) {
      kill(process_, SIGKILL);
      waitpid(process_, &status, 0);
      return;
    }
    usleep(kStepMs * 1000);
  }
}

void Child::say(const std::string& line) const {
  if (!writeLine(lines_, line)) {
    throw Failure{kExitFailed, "process " + std::to_string(process_) + " has ended before its work was done"};
  }
}

std::string Child::answer() const {
  std::string line;
  if (!readLine(lines_, line, kAnswerMs)) {
    throw Failure{kExitFailed, "process " + std::to_string(process_) + " has ended or hangs"};
  }
  if (line.compare(0, 7, "failed ") == 0) {
    char* end = nullptr;
    const long code = std::strtol(line.c_str() + 7, &end, 10);
    throw Failure{static_cast<int>(code), *end == ' ' ? end + 1 : end};
  }
  return line;
}

}  // namespace warpmeter::kernels
