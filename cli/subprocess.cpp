// SPDX-License-Identifier: Apache-2.0
#include "cli/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "cli/environment.h"

namespace warpmeter::cli {
namespace {

constexpr std::size_t kMost = 1u << 20;

struct Pipe {
  int read = -1, write = -1;
  bool open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  static void shut(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
  ~Pipe() {
    shut(read);
    shut(write);
  }
};

void drain(int& fd, std::string& to) {
  char buffer[4096];
  const auto got = read(fd, buffer, sizeof buffer);
  if (got > 0)
    to.append(buffer, std::min(static_cast<std::size_t>(got), kMost - std::min(kMost, to.size())));
  else if (got == 0 || errno != EINTR)
    Pipe::shut(fd);
}

// Reads both pipes until their end or the time is over, then collects the child.
Captured collect(pid_t pid, Pipe& out, Pipe& err, int timeoutMs) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeoutMs);
  Captured result;
  while (out.read >= 0 || err.read >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) break;
    pollfd fds[2] = {{out.read, POLLIN, 0}, {err.read, POLLIN, 0}};
    if (poll(fds, 2, static_cast<int>(left)) < 0 && errno != EINTR) break;
    if (fds[0].revents) drain(out.read, result.out);
    if (fds[1].revents) drain(err.read, result.err);
  }
  // The pipes may end before the process does, and outlive it in a grandchild.
  while (true) {
    const pid_t ended = waitpid(pid, &result.waitStatus, WNOHANG);
    if (ended == pid || (ended < 0 && errno != EINTR)) return result;
    if (Clock::now() >= deadline) break;
    poll(nullptr, 0, 5);
  }
  result.timedOut = true;
  kill(pid, SIGKILL);
  while (waitpid(pid, &result.waitStatus, 0) < 0 && errno == EINTR) {
  }
  return result;
}

}  // namespace

bool Captured::succeeded() const {
  return !timedOut && WIFEXITED(waitStatus) && WEXITSTATUS(waitStatus) == 0;
}
int Captured::exitCode() const {
  return WIFSIGNALED(waitStatus) ? 128 + WTERMSIG(waitStatus) : WEXITSTATUS(waitStatus);
}

Result<Captured> capture(const std::vector<std::string>& command, std::vector<std::string> environment,
                         int timeoutMs) {
  Pipe out, err;
  if (!out.open() || !err.open()) return Error{ErrorKind::io, fmt::format("pipe: {}", std::strerror(errno))};
  auto words = command;
  auto argv = pointersTo(words);
  auto envp = pointersTo(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.write, 1);
  posix_spawn_file_actions_adddup2(&actions, err.write, 2);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return Error{error == ENOENT   ? ErrorKind::notFound
                 : error == EACCES ? ErrorKind::noPermission
                                   : ErrorKind::io,
                 fmt::format("{}: {}", command[0], std::strerror(error))};
  Pipe::shut(out.write);
  Pipe::shut(err.write);
  return collect(pid, out, err, timeoutMs);
}

Result<Captured> captureInChild(const std::function<std::string()>& work, int timeoutMs) {
  Pipe out, err;
  if (!out.open() || !err.open()) return Error{ErrorKind::io, fmt::format("pipe: {}", std::strerror(errno))};
  const pid_t pid = fork();
  if (pid < 0) return Error{ErrorKind::io, fmt::format("fork: {}", std::strerror(errno))};
  if (pid == 0) {
    const std::string text = work();
    for (std::size_t at = 0; at < text.size();) {
      const auto wrote = write(out.write, text.data() + at, text.size() - at);
      if (wrote <= 0) break;
      at += static_cast<std::size_t>(wrote);
    }
    _exit(0);
  }
  Pipe::shut(out.write);
  Pipe::shut(err.write);
  return collect(pid, out, err, timeoutMs);
}

}  // namespace warpmeter::cli
