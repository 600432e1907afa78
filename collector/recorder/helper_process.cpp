// SPDX-License-Identifier: Apache-2.0
#include "helper_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "child_process.h"

namespace warpmeter::recorder {
namespace {

std::int64_t monotonicNs() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::vector<std::byte> contentOf(int fd) {
  const off_t size = lseek(fd, 0, SEEK_END);
  std::vector<std::byte> bytes(size > 0 ? static_cast<std::size_t>(size) : 0);
  std::size_t got = 0;
  while (got < bytes.size()) {
    const ssize_t n = pread(fd, bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
    if (n <= 0) break;
    got += static_cast<std::size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

}  // namespace

HelperProcess::~HelperProcess() {
  if (!ended()) wait(0);
  for (const int fd : {out_, err_}) {
    if (fd >= 0) close(fd);
  }
}

bool HelperProcess::start(std::vector<std::string> words, int input) {
  out_ = memfd_create("warpmeter-helper-out", MFD_CLOEXEC);
  err_ = memfd_create("warpmeter-helper-err", MFD_CLOEXEC);
  if (out_ < 0 || err_ < 0) {
    failure_ = fmt::format("no memory file for a helper: {}", std::strerror(errno));
    return false;
  }
  const std::string program = words[0];
  const int error = spawnChild(program, std::move(words), input, out_, err_, child_);
  if (error == 0) return true;
  failure_ = fmt::format("{} could not be started: {}", program, std::strerror(error));
  return false;
}

bool HelperProcess::ended() {
  if (child_ <= 0) return true;
  int status = 0;
  const pid_t got = waitpid(child_, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return false;
  child_ = -1;
  if (got > 0 && WIFEXITED(status)) {
    exitCode_ = WEXITSTATUS(status);
  } else if (failure_.empty()) {
    failure_ =
        got > 0 ? fmt::format("the helper was ended by signal {}", WTERMSIG(status)) : "the helper is gone";
  }
  return true;
}

bool HelperProcess::wait(std::int64_t timeoutNs) {
  const std::int64_t start = monotonicNs();
  while (!ended()) {
    if (monotonicNs() - start >= timeoutNs) {
      failure_ = "the helper took too long";
      kill(child_, SIGKILL);
      for (int i = 0; i < 100 && !ended(); ++i) usleep(1000);
      exitCode_ = -1;
      return false;
    }
    usleep(1000);
  }
  return true;
}

std::vector<std::byte> HelperProcess::output() const { return contentOf(out_); }

std::string HelperProcess::problem() const {
  if (!failure_.empty()) return failure_;
  const std::vector<std::byte> bytes = contentOf(err_);
  std::string text(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 400));
  text = text.substr(0, text.find('\n'));
  return text.empty() ? fmt::format("the helper ended with exit code {}", exitCode_) : text;
}

}  // namespace warpmeter::recorder
