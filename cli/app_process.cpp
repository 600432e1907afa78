// SPDX-License-Identifier: Apache-2.0
#include "cli/app_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "cli/environment.h"

namespace warpmeter::cli {
namespace {

std::atomic<pid_t> forwardTo{0};

void forward(int signal) {
  const int saved = errno;
  if (const pid_t pid = forwardTo.load(); pid > 0) kill(pid, signal);
  errno = saved;
}

// Changes our dispositions for the time of the run. One that was ignored before (nohup) stays as it was.
class SignalsWhileRunning {
 public:
  SignalsWhileRunning() {
    sigemptyset(&reset_);
    for (auto& s : saved_) {
      sigaction(s.number, nullptr, &s.before);
      if (s.before.sa_handler == SIG_IGN) continue;
      struct sigaction now {};
      now.sa_handler = s.forwarded ? forward : SIG_IGN;
      now.sa_flags = SA_RESTART;
      sigaction(s.number, &now, nullptr);
      sigaddset(&reset_, s.number);
    }
  }
  ~SignalsWhileRunning() {
    for (const auto& s : saved_) {
      // Nobody may be reading our last lines: that must not cost the application its exit code.
      if (s.number != SIGPIPE) sigaction(s.number, &s.before, nullptr);
    }
  }
  SignalsWhileRunning(const SignalsWhileRunning&) = delete;
  SignalsWhileRunning& operator=(const SignalsWhileRunning&) = delete;
  const sigset_t& toDefaultInChild() const { return reset_; }

 private:
  struct Saved {
    int number;
    bool forwarded;
    struct sigaction before {};
  };
  Saved saved_[5] = {
      {SIGINT, false}, {SIGQUIT, false}, {SIGTERM, true}, {SIGHUP, true}, {SIGPIPE, false}};
  sigset_t reset_{};
};

Error startError(const std::string& program, int error) {
  const auto kind = error == ENOENT                                         ? ErrorKind::notFound
                    : error == EACCES || error == ENOEXEC || error == EPERM ? ErrorKind::noPermission
                                                                            : ErrorKind::io;
  if (error == ENOENT)  // the file was there a moment ago: its interpreter is missing
    return Error{kind,
                 fmt::format("{}: cannot be started: its interpreter or loader does not exist", program)};
  if (error == ENOEXEC)
    return Error{
        kind, fmt::format("{}: not in a format that this machine runs (a script without #! line?)", program)};
  return Error{kind, fmt::format("{}: cannot be started: {}", program, std::strerror(error))};
}

}  // namespace

int AppEnd::exitCode() const {
  return WIFSIGNALED(waitStatus) ? 128 + WTERMSIG(waitStatus) : WEXITSTATUS(waitStatus);
}

std::string AppEnd::how() const {
  if (!WIFSIGNALED(waitStatus)) return fmt::format("exited {}", WEXITSTATUS(waitStatus));
  const char* name = sigabbrev_np(WTERMSIG(waitStatus));
  return name ? fmt::format("was killed by SIG{} ({})", name, WTERMSIG(waitStatus))
              : fmt::format("was killed by signal {}", WTERMSIG(waitStatus));
}

Result<AppEnd> runApplication(const std::string& program, const std::vector<std::string>& command,
                              std::vector<std::string> environment,
                              const std::function<void(pid_t)>& started) {
  std::vector<std::string> words = command;
  auto argv = pointersTo(words);
  auto envp = pointersTo(environment);

  AppEnd end;
  const auto begin = std::chrono::steady_clock::now();
  const SignalsWhileRunning signals;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setsigdefault(&attributes, &signals.toDefaultInChild());
  const int error = posix_spawn(&end.pid, program.c_str(), nullptr, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return startError(program, error);

  forwardTo = end.pid;
  started(end.pid);
  while (waitpid(end.pid, &end.waitStatus, 0) < 0 && errno == EINTR) {
  }
  forwardTo = 0;
  end.durationNs = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
  return end;
}

}  // namespace warpmeter::cli
