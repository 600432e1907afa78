// SPDX-License-Identifier: Apache-2.0
#include "sampler_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "commands.h"
#include "cupti_pm_device.h"
#include "gpu_session.h"
#include "measure.h"
#include "message_queue.h"
#include "probe.h"

namespace warpmeter::sampler {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kEndNs = 2 * kSecond;  // for the GPUs to stop and the pipe to drain
constexpr std::int64_t kCostNs = kSecond;

std::int64_t readNs(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * kSecond + t.tv_nsec;
}

// One GPU that somebody asked for. Never freed: its thread may hang in CUPTI until the end.
struct Target {
  std::string uuid;
  std::uint32_t number = 0;
  GpuControl control;
  std::atomic<bool> done = false;
  bool started = false;
  bool pauseAsked = false;  // and not taken back
  Target(const std::atomic<int>& gpus, const std::atomic<std::int64_t>& median) : control(gpus, median) {}
};

// What the thread that asks for the GPUs found.
struct Found {
  Cupti cupti;
  GpuList gpus;
  std::optional<Unavailable> none;
};

class SamplerProcess {
 public:
  SamplerProcess(const Options& options, int out, int signalFd)
      : options_(options), queue_(out), out_(out), signalFd_(signalFd) {}
  [[noreturn]] void run();

 private:
  void look();
  void found();
  Target& target(const std::string& uuid);
  void start(Target& target);
  void obey(const Command& command);
  void readCommands();
  void answerPauses();
  void end();
  bool finished();
  int timeoutMs(std::int64_t now) const;

  const Options options_;
  MessageQueue queue_;
  const int out_, signalFd_;
  CommandReader commands_;
  std::vector<std::unique_ptr<Target>> targets_;
  std::atomic<int> gpus_ = 0;
  std::atomic<std::int64_t> medianKernelNs_ = 0;
  std::atomic<bool> looked_ = false;
  Found found_;  // written before looked_
  bool foundSeen_ = false, inputOpen_ = true;
  std::int64_t endBy_ = 0, nextCostNs_ = 0;
};

void SamplerProcess::look() {
  found_.cupti = loadCupti(options_.cupti);
  if (options_.verbose) {
    fmt::print(stderr, "sampler: CUPTI {} from {} {}\n", found_.cupti.version, found_.cupti.path,
               found_.cupti.problem);
  }
  if (found_.cupti.problem.empty()) found_.gpus = listGpus();
  const std::string& problem = found_.cupti.problem.empty() ? found_.gpus.problem : found_.cupti.problem;
  if (!problem.empty()) {
    found_.none = explainMissing(problem);
  } else if (const PmStatus s = initializeProfiler(found_.cupti); !s.ok()) {
    found_.none = explainFailure(found_.cupti, s, {});
  }
  looked_ = true;
  queue_.wake();
}

void SamplerProcess::found() {
  foundSeen_ = true;
  if (found_.none) {
    sendUnavailable(queue_, kNoGpu, found_.none->reason, found_.none->text);
    end();
    return;
  }
  if (found_.gpus.gpus.size() == 1) (void)target(found_.gpus.gpus.front().uuid);
  for (const auto& t : targets_) start(*t);
}

Target& SamplerProcess::target(const std::string& uuid) {
  for (const auto& t : targets_) {
    if (t->uuid == uuid) return *t;
  }
  targets_.push_back(std::make_unique<Target>(gpus_, medianKernelNs_));
  Target& t = *targets_.back();
  t.uuid = uuid;
  t.number = static_cast<std::uint32_t>(targets_.size() - 1);
  if (foundSeen_) start(t);
  return t;
}

void SamplerProcess::start(Target& t) {
  if (t.started || found_.none) return;
  t.started = true;
  for (const GpuDevice& gpu : found_.gpus.gpus) {
    if (gpu.uuid != t.uuid) continue;
    ++gpus_;
    std::thread([this, &t, &gpu] {
      sampleGpu(found_.cupti, gpu, t.number, queue_, t.control, options_.cores, options_.verbose);
      t.done = true;
      --gpus_;
      queue_.wake();
    }).detach();
    return;
  }
  sendGpu(queue_, t.number, t.uuid, {});
  sendUnavailable(
      queue_, t.number, kUnsupportedChip,
      "the driver shows no such GPU to the sampler (an instance of a GPU split by MIG cannot be sampled)");
  t.done = true;
}

void SamplerProcess::obey(const Command& command) {
  switch (command.kind) {
    case Command::Kind::gpu:
      (void)target(command.uuid);
      break;
    case Command::Kind::kernel:
      medianKernelNs_ = command.medianNs;
      break;
    case Command::Kind::pause: {
      Target& t = target(command.uuid);
      t.pauseAsked = true;
      t.control.give(Order::pause);
      break;
    }
    case Command::Kind::resume: {
      Target& t = target(command.uuid);
      t.pauseAsked = false;
      t.control.give(Order::sample);
      break;
    }
    case Command::Kind::end:
      end();
      break;
    case Command::Kind::unknown:
      fmt::print(stderr, "warpmeter-sampler: not understood: '{}'\n", command.line);
      break;
  }
}

// For those whose thread is gone, and with it the session: it may have ended just when the order came.
void SamplerProcess::answerPauses() {
  for (const auto& t : targets_) {
    if (!t->pauseAsked || !t->done || endBy_ != 0) continue;
    t->pauseAsked = false;
    sendPaused(queue_, t->number);
  }
}

void SamplerProcess::readCommands() {
  char buffer[4096];
  const ssize_t n = read(STDIN_FILENO, buffer, sizeof buffer);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {
    inputOpen_ = false;
    end();
    return;
  }
  for (const Command& c : commands_.feed(std::string_view(buffer, static_cast<std::size_t>(n)))) obey(c);
}

void SamplerProcess::end() {
  if (endBy_ != 0) return;
  endBy_ = readNs(CLOCK_MONOTONIC) + kEndNs;
  for (const auto& t : targets_) t->control.give(Order::end);
}

bool SamplerProcess::finished() {
  if (queue_.broken()) return true;
  if (endBy_ == 0) return false;
  if (readNs(CLOCK_MONOTONIC) >= endBy_) return true;
  for (const auto& t : targets_) {
    if (t->started && !t->done) return false;
  }
  return !queue_.waiting();
}

int SamplerProcess::timeoutMs(std::int64_t now) const {
  const std::int64_t next = endBy_ != 0 ? std::min(endBy_, nextCostNs_) : nextCostNs_;
  return static_cast<int>(std::max<std::int64_t>(0, (next - now) / 1'000'000 + 1));
}

void SamplerProcess::run() {
  nextCostNs_ = readNs(CLOCK_MONOTONIC) + kCostNs;
  std::thread([this] { look(); }).detach();
  while (!finished()) {
    pollfd fds[] = {{inputOpen_ ? STDIN_FILENO : -1, POLLIN, 0},
                    {signalFd_, POLLIN, 0},
                    {queue_.wakeFd(), POLLIN, 0},
                    {queue_.waiting() ? out_ : -1, POLLOUT, 0}};
    if (poll(fds, std::size(fds), timeoutMs(readNs(CLOCK_MONOTONIC))) < 0 && errno != EINTR) break;
    if (fds[0].revents != 0) readCommands();
    if (fds[1].revents != 0) {
      signalfd_siginfo info;
      (void)!read(signalFd_, &info, sizeof info);
      end();
    }
    if (looked_ && !foundSeen_ && endBy_ == 0) found();
    answerPauses();
    if (const std::int64_t now = readNs(CLOCK_MONOTONIC); now >= nextCostNs_) {
      nextCostNs_ = now + kCostNs;
      sendCost(queue_, readNs(CLOCK_PROCESS_CPUTIME_ID));
    }
    queue_.pump();
  }
  sendCost(queue_, readNs(CLOCK_PROCESS_CPUTIME_ID));
  queue_.pump();
  std::fflush(stderr);
  _exit(0);
}

// An injection library in this process would record the sampler; a list of visible devices would change their
// order.
void cleanEnvironment() {
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "CUDA_VISIBLE_DEVICES",
                           "CUDA_MPS_PIPE_DIRECTORY", "CUDA_DEVICE_ORDER"}) {
    unsetenv(name);
  }
}

int prepareSignals() {
  for (const int signal : {SIGPIPE, SIGINT, SIGHUP, SIGQUIT})
    ::signal(signal, SIG_IGN);  // the recorder ends us
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

}  // namespace

void runSampler(const Options& options) {
  const int signalFd = prepareSignals();
  // Whatever libraries print must not land between messages.
  const int out = dup(STDOUT_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  (new SamplerProcess(options, out, signalFd))->run();
}

int samplerMain(int argc, char** argv) {
  const Result<Options> options = parseOptions(argc, argv);
  if (!options) {
    fmt::print(stderr, "{}\n", options.error().message);
    return 2;
  }
  if (options->help) {
    fmt::print("{}", usageText());
    return 0;
  }
  cleanEnvironment();
  setpriority(PRIO_PROCESS, 0, options->nice);
  if (!options->listSets.empty()) return listSetsMain(*options);
  if (options->probe) return probeMain(*options);
  if (options->measure) return measureMain(*options);
  runSampler(*options);
}

}  // namespace warpmeter::sampler
