// SPDX-License-Identifier: Apache-2.0
#include "sampler_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "child_process.h"

namespace warpmeter::recorder {
namespace {

constexpr int kPipeBytes = 1 << 20;  // what it may be ahead of the reading thread
constexpr int kReapTries = 100;      // of 1 ms

void closeAll(std::initializer_list<int> fds) {
  for (const int fd : fds) {
    if (fd >= 0) close(fd);
  }
}

std::int64_t ns(const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + std::int64_t{t.tv_usec} * 1000; }

}  // namespace

std::string samplerPath() {
  std::error_code error;
  auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  // A container without /proc: what the kernel was told to run.
  if (const char* given = reinterpret_cast<const char*>(getauxval(AT_EXECFN)); error && given != nullptr) self = given;
  return (self.parent_path() / "warpmeter-sampler").string();
}

SamplerProcess::~SamplerProcess() {
  if (running()) stop();
}

void SamplerProcess::start(const Command& command, SamplerFrames::Take take) {
  if (started_) return;
  started_ = true;
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || (wake_ = eventfd(0, EFD_CLOEXEC)) < 0) {
    failure_ = fmt::format("no pipe for the sampler: {}", std::strerror(errno));
    closeAll({in[0], in[1], out[0], out[1]});
    return;
  }
  std::vector<std::string> words = {command.program, "--cpu", fmt::format("{}", command.cores)};
  if (command.cupti.starts_with('/')) words.insert(words.end(), {"--cupti", command.cupti});
  const int error = spawnChild(command.program, std::move(words), in[0], out[1], -1, child_);
  closeAll({in[0], out[1]});
  in_ = in[1];
  out_ = out[0];
  if (error != 0) {
    failure_ = fmt::format("the sampler could not be started: {}: {}", command.program, std::strerror(error));
    return;
  }
  fcntl(in_, F_SETFL, O_NONBLOCK);
  fcntl(out_, F_SETFL, O_NONBLOCK);
  fcntl(out_, F_SETPIPE_SZ, kPipeBytes);
  reader_ = std::thread([this, take = std::move(take)] {
    readAll(take);
    readerDone_.store(true, std::memory_order_release);
  });
}

void SamplerProcess::readAll(const SamplerFrames::Take& take) {
  SamplerFrames frames;
  std::vector<std::byte> buffer(std::size_t{256} << 10);
  while (true) {
    std::array<pollfd, 2> fds{pollfd{out_, POLLIN, 0}, pollfd{wake_, POLLIN, 0}};
    if (::poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) break;
    if (fds[1].revents != 0) break;
    const ssize_t n = read(out_, buffer.data(), buffer.size());
    if (n == 0) {
      frames.end();
      break;
    }
    if (n < 0) {
      if (errno == EAGAIN || errno == EINTR) continue;
      break;
    }
    if (!frames.feed(std::span(buffer).first(static_cast<std::size_t>(n)), take)) break;
  }
  protocolError_ = frames.error();
}

void SamplerProcess::say(std::string_view line) {
  if (in_ < 0) return;
  const std::string text = std::string(line) + '\n';
  // A pipe takes lines below PIPE_BUF whole or not at all. SIGPIPE is ignored.
  [[maybe_unused]] const ssize_t written = write(in_, text.data(), text.size());
}

void SamplerProcess::sayEnd() {
  if (in_ < 0) return;
  told_ = true;
  say("end");
  close(in_);
  in_ = -1;
}

// False: it is still there.
bool SamplerProcess::reap() {
  if (child_ <= 0) return true;
  rusage usage{};
  const pid_t got = wait4(child_, &waitStatus_, WNOHANG, &usage);
  if (got == 0 || (got < 0 && errno == EINTR)) return false;
  if (got == child_) cpuNs_ = ns(usage.ru_utime) + ns(usage.ru_stime);
  child_ = -1;
  return true;
}

std::optional<SamplerProcess::End> SamplerProcess::poll(std::int64_t nowNs) {
  if (!running()) return std::nullopt;
  if (!reader_.joinable()) return conclude();  // it never ran
  if (!readerDone_.load(std::memory_order_acquire)) return std::nullopt;
  // Either it has ended, or what it says cannot be understood any more, or it closed its output and runs on: then it
  // is of no use.
  if (reap()) return conclude();
  if (silentSinceNs_ == 0) silentSinceNs_ = nowNs;
  if (protocolError_.empty() && nowNs - silentSinceNs_ < kGoneTimeoutNs) return std::nullopt;
  return stop();
}

SamplerProcess::End SamplerProcess::stop() {
  if (!reap()) {
    killed_ = true;
    kill(child_, SIGKILL);
    // A child stuck inside the driver cannot be reaped; waiting for it would hang the recorder too.
    for (int i = 0; i < kReapTries && !reap(); ++i) usleep(1000);
  }
  return conclude();
}

SamplerProcess::End SamplerProcess::conclude() {
  ended_ = true;
  if (reader_.joinable()) {
    // Its end is the end of the output, unless a process of its own holds that open.
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
    reader_.join();
    if (killed_ && told_) {
      failure_ = fmt::format("the sampler did not end within {} s", kEndTimeoutNs / 1'000'000'000);
    } else if (!killed_ && WIFSIGNALED(waitStatus_)) {
      failure_ = fmt::format("the sampler was ended by signal {}", WTERMSIG(waitStatus_));
    } else if (!protocolError_.empty()) {
      failure_ = "the sampler failed: " + protocolError_;
    } else if (killed_) {
      failure_ = "the sampler closed its output";
    } else if (WEXITSTATUS(waitStatus_) != 0 || !told_) {
      failure_ = fmt::format("the sampler ended {}(exit code {})", told_ ? "" : "early ", WEXITSTATUS(waitStatus_));
    }
  }
  closeAll({in_, out_, wake_});
  in_ = out_ = wake_ = -1;
  return End{failure_, cpuNs_};
}

}  // namespace warpmeter::recorder
