// SPDX-License-Identifier: Apache-2.0
#include "cli/recorder_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "cli/environment.h"

namespace warpmeter::cli {
namespace {

constexpr int kControlFd = 3;  // in the recorder
constexpr int kReadyMs = 20'000;
constexpr int kTellMs = 3'000;
// GPUs, those calibrated last: a home folder may know all of a cluster, a command line may not (about 150 bytes each).
constexpr std::size_t kMostCeilings = 1'000;
// A socket's path has 107 bytes: folder, "/warpmeter/", 32 digits, ".sock".
constexpr std::size_t kLongestFolder = 107 - 11 - 32 - 5;

Error system(const std::string& what) {
  return Error{ErrorKind::io, fmt::format("{}: {}", what, std::strerror(errno))};
}

// One that a damaged file may hold would make the recorder refuse its command line.
bool usable(const analyzer::CalibratedGpu& gpu) {
  constexpr std::size_t kLongest = 64;
  return !gpu.values.empty() && !gpu.uuid.empty() && gpu.uuid.size() <= kLongest &&
         std::ranges::all_of(gpu.uuid, [](unsigned char c) { return std::isalnum(c) || c == '-'; });
}

// UUID:kind=value,kind=value
std::string ceilingsArgument(const analyzer::CalibratedGpu& gpu) {
  std::string text = gpu.uuid;
  for (const auto& c : gpu.values) text += fmt::format("{}{}={}", &c == &gpu.values.front() ? ":" : ",", c.kind, c.value);
  return text;
}

std::vector<std::string> recorderCommand(const Installation& where, const Arguments& a,
                                         std::span<const analyzer::CalibratedGpu> ceilings,
                                         const std::string& runId, const std::filesystem::path& socket,
                                         const std::filesystem::path& output) {
  std::vector<std::string> words{where.recorder(),
                                 "--control-fd",
                                 std::to_string(kControlFd),
                                 "--run",
                                 runId,
                                 "--socket",
                                 socket,
                                 "--output",
                                 output,
                                 "--version",
                                 WARPMETER_VERSION};
  const auto add = [&](const char* name, const std::string& value) {
    words.insert(words.end(), {name, value});
  };
  const auto milliseconds = [](double s) {
    return std::to_string(static_cast<std::int64_t>(s * 1000 + 0.5));
  };
  if (a.has(Opt::force)) words.emplace_back("--force");
  if (!a.has(Opt::noNvtx)) words.emplace_back("--nvtx-requested");
  if (const auto v = a.number(Opt::delay)) add("--delay-ms", milliseconds(*v));
  if (const auto v = a.number(Opt::duration)) add("--duration-ms", milliseconds(*v));
  if (a.has(Opt::captureRange)) add("--capture-range", a.text(Opt::captureRange));
  if (a.has(Opt::api)) add("--api", a.text(Opt::api));
  if (const auto v = a.whole(Opt::flushMs)) add("--flush-ms", std::to_string(*v));
  if (const auto v = a.bytes(Opt::maxMemory)) add("--max-memory", std::to_string(*v));
  if (const auto v = a.bytes(Opt::maxSize)) add("--max-size", std::to_string(*v));
  add("--counters", a.has(Opt::counters) ? a.text(Opt::counters) : std::string(specOf(Opt::counters).fallback));
  if (a.has(Opt::metrics)) add("--metrics", a.text(Opt::metrics));
  if (a.has(Opt::samplerCpu)) add("--sampler-cpu", a.text(Opt::samplerCpu));
  if (ceilings.size() > kMostCeilings) ceilings = ceilings.last(kMostCeilings);
  for (const auto& gpu : ceilings)
    if (usable(gpu)) add("--ceilings", ceilingsArgument(gpu));
  return words;
}

// A session of its own, so that Ctrl-C reaches the application only; nothing open but the control connection.
int spawnRecorder(std::vector<std::string> words, int control, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  // dup2 onto itself would leave close-on-exec set, so the descriptor takes a detour when it already is 3.
  if (control == kControlFd) {
    posix_spawn_file_actions_adddup2(&actions, control, kControlFd + 1);
    control = kControlFd + 1;
  }
  posix_spawn_file_actions_adddup2(&actions, control, kControlFd);
  for (int fd = 0; fd < 3; ++fd)
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
  posix_spawn_file_actions_addclosefrom_np(&actions, kControlFd + 1);
  sigset_t all, none;
  sigfillset(&all);
  sigemptyset(&none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  auto environment = recorderEnvironment();
  auto argv = pointersTo(words);
  auto envp = pointersTo(environment);
  const int error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Bytes of one message, 0 at the end of the connection, -1 when nothing came in time or a signal did.
ssize_t receive(int fd, void* to, std::size_t room, int timeoutMs) {
  pollfd p{fd, POLLIN, 0};
  const int ready = poll(&p, 1, timeoutMs);
  if (ready <= 0) return -1;
  const ssize_t got = recv(fd, to, room, 0);
  return got < 0 && errno == ECONNRESET ? 0 : got;
}

volatile sig_atomic_t interrupted = 0;
void interrupt(int) { interrupted = 1; }

}  // namespace

Result<std::filesystem::path> socketFolder() {
  const std::string runtime = variable("XDG_RUNTIME_DIR");
  const bool usable =
      runtime.starts_with('/') && runtime.size() < kLongestFolder && access(runtime.c_str(), W_OK) == 0;
  const std::filesystem::path folder =
      usable ? std::filesystem::path(runtime) / "warpmeter"
             : std::filesystem::path(fmt::format("/tmp/warpmeter-{}", getuid()));
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return system(fmt::format("cannot make {}", folder.string()));
  struct stat s {};
  if (lstat(folder.c_str(), &s) != 0) return system(folder.string());
  if (!S_ISDIR(s.st_mode) || s.st_uid != getuid() || (s.st_mode & 077) != 0)
    return Error{ErrorKind::noPermission,
                 fmt::format("{} is not a folder of yours with mode 0700; remove it or set XDG_RUNTIME_DIR",
                             folder.string())};
  return folder;
}

std::string newRunId() {
  unsigned char bytes[16] = {};
  for (std::size_t done = 0; done < sizeof bytes;) {
    const auto got = getrandom(bytes + done, sizeof bytes - done, 0);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  std::string out;
  for (const unsigned char b : bytes) out += fmt::format("{:02x}", b);
  return out;
}

RecorderProcess::RecorderProcess(RecorderProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      control_(std::exchange(other.control_, -1)),
      runId_(std::move(other.runId_)),
      socket_(std::move(other.socket_)) {}

RecorderProcess::~RecorderProcess() {
  if (control_ < 0) return;
  close(control_);
  unlink(socket_.c_str());
}

Result<RecorderProcess> RecorderProcess::start(const Installation& where, const Arguments& arguments,
                                               std::span<const analyzer::CalibratedGpu> ceilings,
                                               const std::filesystem::path& output) {
  for (const auto& part : {where.recorder(), where.injectLibrary()})
    if (access(part.c_str(), F_OK) != 0)
      return Error{ErrorKind::notFound,
                   fmt::format("{} is missing: this build cannot record (made without the CUDA toolkit?)",
                               part.string())};
  auto folder = socketFolder();
  if (!folder) return std::move(folder).error();

  RecorderProcess self;
  self.runId_ = newRunId();
  self.socket_ = *folder / (self.runId_ + ".sock");
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return system("socketpair");
  self.control_ = ends[0];
  const int error =
      spawnRecorder(recorderCommand(where, arguments, ceilings, self.runId_, self.socket_, output), ends[1], self.pid_);
  close(ends[1]);
  if (error != 0)
    return Error{ErrorKind::io, fmt::format("{}: {}", where.recorder().string(), std::strerror(error))};
  if (auto ready = self.awaitReady(); !ready) return std::move(ready).error();
  return self;
}

Result<void> RecorderProcess::awaitReady() {
  wire::ControlMessage message{};
  const auto got = receive(control_, &message, sizeof message, kReadyMs);
  if (got == static_cast<ssize_t>(sizeof message) && message.kind == wire::ControlKind::ready) return {};
  message.text[sizeof message.text - 1] = 0;
  if (got == static_cast<ssize_t>(sizeof message) && message.kind == wire::ControlKind::failed) {
    waitpid(pid_, nullptr, 0);
    std::string text = message.text;
    for (std::string_view own : {"warpmeter-recorder: ", "warpmeter: "})
      if (text.starts_with(own)) text.erase(0, own.size());
    return Error{ErrorKind::io, text};
  }
  if (got != 0) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  if (got != 0)
    return Error{ErrorKind::internal, fmt::format("the recorder was not ready after {} s", kReadyMs / 1000)};
  return Error{ErrorKind::internal,
               fmt::format("the recorder ended before it was ready ({} {})",
                           WIFSIGNALED(status) ? "signal" : "exit code",
                           WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status))};
}

void RecorderProcess::send(const wire::ControlMessage& message) {
  // A dead recorder is found out by awaitSummary; the application is not to notice.
  (void)::send(control_, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void RecorderProcess::applicationStarted(pid_t pid, const std::vector<std::string>& command) {
  wire::ControlMessage message{};
  message.kind = wire::ControlKind::appStarted;
  message.pid = pid;
  // A program of a few milliseconds is gone before the recorder could read its command line from /proc.
  std::size_t used = 0;
  for (const auto& word : command) {
    if (used + word.size() + 1 > sizeof message.text) break;
    std::copy(word.begin(), word.end(), message.text + used);
    used += word.size() + 1;
    ++message.words;
  }
  send(message);
}

void RecorderProcess::applicationEnded(pid_t pid, int waitStatus) {
  wire::ControlMessage message{};
  message.kind = wire::ControlKind::appEnded;
  message.pid = pid;
  message.waitStatus = waitStatus;
  send(message);
}

// SIGTERM ends a recording in order: the file is completed and the summary comes.
void RecorderProcess::stop() { kill(pid_, SIGTERM); }

std::optional<wire::Summary> RecorderProcess::awaitSummary(bool tell) {
  // The application is gone, so Ctrl-C is for us now: it stops waiting for processes that the application
  // left behind.
  struct sigaction now {
  }, before{};
  now.sa_handler = interrupt;  // no SA_RESTART: poll has to come back
  interrupted = 0;
  sigaction(SIGINT, &now, &before);

  std::optional<wire::Summary> result;
  wire::Summary summary{};
  bool told = !tell, stopped = false;
  while (true) {
    const auto got = receive(control_, &summary, sizeof summary, told ? 1000 : kTellMs);
    if (got == static_cast<ssize_t>(sizeof summary) && summary.kind == wire::ControlKind::summary) {
      result = summary;
      break;
    }
    if (got == 0) break;
    if (interrupted && !stopped) {
      stop();
      stopped = true;
    }
    if (!told) {
      std::fputs(
          "warpmeter: the application ended; waiting for processes it left behind and for the file "
          "(Ctrl-C: stop recording now)\n",
          stderr);
      told = true;
    }
  }
  sigaction(SIGINT, &before, nullptr);
  if (result) waitpid(pid_, nullptr, 0);
  return result;
}

}  // namespace warpmeter::cli
