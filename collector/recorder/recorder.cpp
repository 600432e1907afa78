// SPDX-License-Identifier: Apache-2.0
#include "recorder.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "left_running.h"
#include "proc_info.h"
#include "record_walk.h"

namespace warpmeter::recorder {
namespace {

constexpr std::int64_t kMs = 1'000'000, kSecond = 1000 * kMs;
constexpr int kBusyTickMs = 5, kQuietTickMs = 20, kIdleTickMs = 50;
constexpr std::int64_t kLiveEveryNs = 100 * kMs;
constexpr std::int64_t kCountersEveryNs = 5 * kSecond;
constexpr std::int64_t kAfterLastGuestNs = 2 * kSecond;
constexpr std::int64_t kNoGuestNs = 60 * kSecond;
constexpr std::int64_t kLeaveGraceNs = 50 * kMs;
constexpr int kSlotsPerTurn = 256;
constexpr std::uint64_t kMinimumShareBytes = std::uint64_t{4} << 20;

std::uint64_t fileBytes(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

}  // namespace

Recorder::Recorder(const Options& options, Control& control, Listener listener, ProfileWriter writer, SessionInfo session)
    : options_(options),
      control_(control),
      listener_(std::move(listener)),
      session_(session),
      capture_(options.capture),
      scan_(capture_, session.utcEpochNs),
      queue_(options.output + ".spill"),
      store_(std::move(writer), options, session, queue_, capture_),
      exact_({options.exactCounters ? options.exactMetrics : "", options.sampler.empty() ? samplerPath() : options.sampler},
             [this](std::vector<std::byte> bytes) {
               queue_.push([all = std::move(bytes)](Store& store) { store.exactConfigurations(all); });
             }),
      samplerFeed_(queue_, [this] { return options_.maxSizeBytes == 0 || outputBytes_ < options_.maxSizeBytes; }) {
  if (options_.maxMemoryBytes == 0) options_.maxMemoryBytes = defaultMaxMemoryBytes();
  startedNs_ = readClocks().monotonicNs;
  writerThread_ = std::thread([this] { store_.run(); });
}

Recorder::~Recorder() {
  if (writerThread_.joinable()) writerThread_.join();
}

int Recorder::run(int signalFd) {
  control_.ready();
  while (true) {
    std::int64_t now = readClocks().monotonicNs;
    int tick = kIdleTickMs;
    if (!guests_.empty()) tick = now - lastTakenNs_ < kSecond ? kBusyTickMs : kQuietTickMs;
    if (!listener_.waiting().empty()) tick = kBusyTickMs;
    wait(tick, signalFd);
    now = readClocks().monotonicNs;
    readControl(now);
    takeNewcomers(now);
    takeBuffers(now);
    reapGuests(now);
    queryGpus(now);
    exact_.watch(guests_, now);
    watchSampler(now);
    if (now - lastSecondNs_ >= kSecond) everySecond(now);
    if (over(now)) break;
  }
  finish(readClocks().monotonicNs);
  return 0;
}

void Recorder::wait(int timeoutMs, int signalFd) {
  std::vector<pollfd> fds;
  const auto add = [&fds](int fd) {
    if (fd >= 0) fds.push_back({fd, POLLIN, 0});
  };
  add(signalFd);
  add(listener_.fd());
  add(control_.fd());
  add(gpuQuery_.fd());
  for (const int fd : listener_.waiting()) add(fd);
  const std::size_t firstGuest = fds.size();
  for (const auto& guest : guests_) fds.push_back({guest->pidfd(), POLLIN, 0});  // -1 is skipped by poll
  ::poll(fds.data(), fds.size(), timeoutMs);
  if (signalFd >= 0 && fds[0].revents != 0) terminated_ = true;
  gone_.clear();
  for (std::size_t i = 0; i < guests_.size(); ++i) {
    if (guests_[i]->pidfd() < 0 || fds[firstGuest + i].revents != 0) gone_.push_back(guests_[i].get());
  }
}

void Recorder::takeNewcomers(std::int64_t now) {
  for (auto& newcomer : listener_.poll(now)) attach(std::move(newcomer), now);
}

ProcessInfo Recorder::describe(std::int64_t pid) const {
  ProcessInfo info;
  info.pid = pid;
  info.globalPid = makeGlobalPid(pid);
  info.argv = readArgv(pid);
  info.name = processName(info.argv);
  if (const auto stat = readProcStat(pid)) {
    info.parentPid = stat->parentPid;
    info.startNs = sessionTime(startRealtimeNs(stat->startTicks, readClocks()));
    info.startUncertaintyNs = kSecond / ticksPerSecond();
  }
  info.status = "no_gpu_work";
  return info;
}

void Recorder::attach(Listener::Newcomer newcomer, std::int64_t now) {
  lastGuestNs_ = now;
  if (newcomer.memory == nullptr) {
    const std::string why = fmt::format("process {} is not recorded: {}", newcomer.pid, newcomer.why);
    const std::int64_t at = sessionTime(realtimeNs());
    queue_.push([why, at, pid = newcomer.pid](Store& store) { store.lose(loss::kNotAttached, why, kNull, at, pid); });
    return;
  }
  for (const auto& guest : guests_) {
    if (guest->pid() == newcomer.pid) guestGone(*guest, now, "replaced by exec");
  }
  std::erase_if(guests_, [&](const auto& guest) { return guest->pid() == newcomer.pid; });
  ProcessInfo info = describe(newcomer.pid);
  if (app_ && app_->pid == newcomer.pid) {
    app_->guest = true;
    if (info.argv.empty()) info = app_->info;
  }
  const std::uint32_t process = nextProcess_++;
  auto memory = newcomer.memory;
  queue_.push([process, info, memory](Store& store) { store.processStarted(process, info, memory); });
  guests_.push_back(std::make_unique<Guest>(process, newcomer.pid, newcomer.pidfd, memory));
  memory->header().waitAtExit.store(1, std::memory_order_release);
  memory->header().recorderAlive.store(1, std::memory_order_release);
  shareMemory();
  lastTakenNs_ = now;
}

void Recorder::shareMemory() {
  if (guests_.empty()) return;
  const std::uint64_t share = std::max(options_.maxMemoryBytes / guests_.size(), kMinimumShareBytes);
  for (const auto& guest : guests_) guest->memory().setAllowedBytes(share);
}

void Recorder::takeChunk(const Chunk& chunk, Guest& guest) {
  scan_.look(chunk, guest.memory(), guest.pid());
  std::uint64_t spillLimit = std::numeric_limits<std::uint64_t>::max();
  if (options_.maxSizeBytes != 0) {
    spillLimit = options_.maxSizeBytes > outputBytes_ ? options_.maxSizeBytes - outputBytes_ : 0;
    if (spillLimit == 0 || queue_.spilledBytes() > spillLimit) {
      drop(chunk, guest);
      return;
    }
  }
  if (!queue_.push(chunk, spillLimit)) drop(chunk, guest);
}

void Recorder::drop(const Chunk& chunk, const Guest& guest) {
  const std::int64_t at = sessionTime(chunk.arrivedNs);
  const char* reason = options_.maxSizeBytes != 0 ? "--max-size is reached" : "the spill file could not be written";
  const auto lose = [&](std::string_view what, std::int64_t count) {
    queue_.push([why = fmt::format("{} were dropped: {}", what, reason), count, at, pid = guest.pid()](Store& store) {
      store.lose(loss::kOverload, why, count, at, pid);
    });
  };
  if (chunk.own) {
    std::int64_t records = 0;
    walkOwnRecords(chunk.bytes, [&records](const auto&, const std::byte*, std::size_t) { ++records; });
    lose("NVTX records and marks", records);
    return;
  }
  std::map<std::string_view, std::int64_t> byName;
  for (const auto& [kind, count] : countKinds(chunk.bytes, guest.shared()->recordSizes())) byName[nameOfKind(kind)] += count;
  for (const auto& [name, count] : byName) lose(name, count);
}

void Recorder::takeBuffers(std::int64_t now) {
  const bool live = now - lastLiveNs_ >= kLiveEveryNs;
  if (live) lastLiveNs_ = now;
  const std::int64_t arrived = realtimeNs();
  for (const auto& guest : guests_) {
    const auto sink = [this, &guest](const Chunk& chunk) { takeChunk(chunk, *guest); };
    const bool exiting = guest->exiting();  // before the drain: what it published until then is taken
    if (guest->drain(sink, arrived, kSlotsPerTurn) > 0) lastTakenNs_ = now;
    if (exiting && !guest->exitSeen) {
      while (guest->drain(sink, arrived, kSlotsPerTurn) > 0) {
      }
      guest->readLive(sink, arrived);
      guest->exitSeen = true;
      queue_.push([process = guest->process()](Store& store) { store.commitFor(process); });
    } else if (live) {
      guest->readLive(sink, arrived);
    }
  }
}

void Recorder::guestGone(Guest& guest, std::int64_t now, const char* how) {
  const std::int64_t arrived = realtimeNs();
  const auto sink = [this, &guest](const Chunk& chunk) { takeChunk(chunk, guest); };
  while (guest.drain(sink, arrived, kSlotsPerTurn) > 0) {
  }
  guest.salvage(sink, arrived);
  ProcessEnd end;
  end.exitNs = sessionTime(arrived);
  end.counters = guest.memory().counters();
  if (how != nullptr) {
    end.exitHow = how;
  } else if (const auto code = guest.memory().exitCode()) {
    end.exitHow = fmt::format("exited({})", *code & 0xff);
  }
  exact_.guestGone(guest);
  scan_.processEnded(guest.pid(), end.exitNs);
  queue_.push([process = guest.process(), end](Store& store) { store.processEnded(process, end); });
  lastGuestNs_ = now;
}

void Recorder::reapGuests(std::int64_t now) {
  if (gone_.empty()) return;
  for (Guest* guest : gone_) {
    const auto at = std::find_if(guests_.begin(), guests_.end(), [guest](const auto& g) { return g.get() == guest; });
    if (at == guests_.end()) continue;  // replaced by exec meanwhile
    guestGone(*guest, now, nullptr);
    guests_.erase(at);
  }
  gone_.clear();
  shareMemory();
}

// An argument may be empty, so they are counted; the last zero of the buffer is not taken on trust.
std::vector<std::string> Recorder::wordsOf(const wire::ControlMessage& message) {
  std::vector<std::string> words;
  std::string_view left(message.text, sizeof message.text);
  for (std::uint32_t i = 0; i < message.words; ++i) {
    const auto end = left.find('\0');
    if (end == std::string_view::npos) break;
    words.emplace_back(left.substr(0, end));
    left.remove_prefix(end + 1);
  }
  return words;
}

void Recorder::readControl(std::int64_t now) {
  for (const auto& message : control_.read()) {
    if (message.kind == wire::ControlKind::appStarted) {
      app_ = App{};
      app_->pid = message.pid;
      app_->info.pid = message.pid;
      app_->info.globalPid = makeGlobalPid(message.pid);
      app_->info.status = "no_gpu_work";
      app_->given = wordsOf(message);
      app_->info.argv = app_->given;
      app_->info.name = processName(app_->info.argv);
      app_->info.startNs = sessionTime(realtimeNs());  // until /proc has said it, if it lives that long
      app_->info.startUncertaintyNs = kBusyTickMs * kMs;
      app_->startedNs = now;
      lastAppLookNs_ = 0;
      watchApp();
    } else if (message.kind == wire::ControlKind::appEnded && app_ && app_->pid == message.pid) {
      app_->ended = true;
      app_->waitStatus = message.waitStatus;
      lastGuestNs_ = std::max(lastGuestNs_, now);
    }
  }
  if (app_ && !app_->ended) watchApp();
}

// The program's command line is there only after its exec, and gone after its exit: look until it has settled.
void Recorder::watchApp() {
  const std::int64_t now = readClocks().monotonicNs;
  if (app_->guest || now - lastAppLookNs_ < (now - app_->startedNs < kSecond ? kBusyTickMs : 500) * kMs) return;
  lastAppLookNs_ = now;
  ProcessInfo info = describe(app_->pid);
  if (!app_->given.empty()) {  // who started it knows its command line; /proc adds when and by whom
    if (app_->described || isNull(info.startNs)) return;
    info.argv = app_->given;
    info.name = processName(info.argv);
    app_->described = true;
  } else if (info.argv.empty() || info.argv == app_->info.argv) {
    return;
  }
  app_->info = info;
  queue_.push([info](Store& store) { store.plainProcess(info); });
}

void Recorder::everySecond(std::int64_t now) {
  lastSecondNs_ = now;
  queue_.push([clock = readClocks()](Store& store) { store.clock(clock); });
  if (options_.maxSizeBytes != 0) outputBytes_ = fileBytes(options_.output) + fileBytes(options_.output + "-wal");
  if (const std::int64_t median = store_.kernelMedianNs(); median > 0) sampler_.say(fmt::format("kernel {}", median));
  if (now - lastCountersNs_ < kCountersEveryNs) return;
  lastCountersNs_ = now;
  for (const auto& guest : guests_) {
    queue_.push([process = guest->process(), counters = guest->memory().counters()](Store& store) {
      store.counters(process, counters);
    });
  }
}

void Recorder::queryGpus(std::int64_t now) {
  if (store_.cuInitSeen()) gpuQuery_.start(now);
  if (!gpuQuery_.running() || !gpuQuery_.poll(now)) return;
  queue_.push([gpus = gpuQuery_.result()](Store& store) { store.gpusFromDriver(gpus); });
}

// Never before the first guest has initialized CUDA, and not for one that is gone already.
void Recorder::startSampler() {
  if (!options_.sampleCounters || sampler_.started() || guests_.empty() || !store_.cuInitSeen()) return;
  if (!exact_.takeCounters(guests_)) return;  // exact mode comes first: both need the same hardware
  SamplerProcess::Command command;
  command.program = options_.sampler.empty() ? samplerPath() : options_.sampler;
  command.cores = options_.samplerCores;
  for (const auto& guest : guests_) {
    if (command.cupti.empty()) command.cupti = guest->memory().cuptiPath();
  }
  sampler_.start(command, [this](const wire::SamplerMessage& message, std::span<const std::byte> payload) {
    samplerFeed_.take(message, payload, readClocks().monotonicNs, realtimeNs());
  });
}

void Recorder::watchSampler(std::int64_t now) {
  startSampler();
  if (!sampler_.started()) return;
  for (const std::string& uuid : store_.takeNewGpus()) sampler_.say("gpu " + uuid);
  if (const auto end = sampler_.poll(now)) samplerEnded(*end);
}

void Recorder::samplerEnded(const SamplerProcess::End& end) {
  samplerFeed_.tellDropped();  // its thread is gone
  queue_.push([end](Store& store) { store.samplerEnded(end.failure, end.cpuNs); });
}

bool Recorder::over(std::int64_t now) const {
  if (terminated_) return true;
  if (!guests_.empty() || !listener_.waiting().empty()) return false;
  if (control_.open()) return app_ && app_->ended;
  if (nextProcess_ == 0 && !control_.existed()) return now - startedNs_ > kNoGuestNs;
  return now - std::max(lastGuestNs_, startedNs_) > kAfterLastGuestNs;
}

// Helpers of the application may need a moment to see that it is gone; what is still there then stays.
void Recorder::noteLeftRunning(const std::set<std::int64_t>& guests) {
  const std::int64_t begin = readClocks().monotonicNs;
  LeftRunning left;
  while (true) {
    left = findLeftRunning(options_.socketPath, guests);
    if (left.processes.empty() || readClocks().monotonicNs - begin > kLeaveGraceNs) break;
    wait(kBusyTickMs, -1);
  }
  const std::int64_t now = realtimeNs();
  for (const auto& late : listener_.poll(readClocks().monotonicNs)) {
    const std::string why = fmt::format("process {} began with CUDA when the recording had ended", late.pid);
    queue_.push([why, at = sessionTime(now), pid = late.pid](Store& store) { store.lose(loss::kNotAttached, why, kNull, at, pid); });
    if (late.memory != nullptr) late.memory->header().recorderAlive.store(2, std::memory_order_release);
  }
  if (left.processes.empty()) return;
  queue_.push([text = leftRunningText(left), count = static_cast<std::int64_t>(left.processes.size()), at = sessionTime(now)](
                  Store& store) { store.leftRunning(text, count, at); });
}

void Recorder::finish(std::int64_t now) {
  std::set<std::int64_t> runningGuests;
  for (const auto& guest : guests_) {  // SIGTERM: they run on, unrecorded
    runningGuests.insert(guest->pid());
    guest->memory().header().recorderAlive.store(2, std::memory_order_release);
    guest->memory().ring();
    guestGone(*guest, now, "still running");
  }
  guests_.clear();
  sampler_.sayEnd();
  // A short program may be over before its limits were asked for, and the sampler has samples to send.
  static_assert(SamplerProcess::kEndTimeoutNs == 3 * kSecond);
  while ((gpuQuery_.running() || sampler_.running()) && readClocks().monotonicNs - now < 3 * kSecond) {
    wait(kBusyTickMs, -1);
    queryGpus(readClocks().monotonicNs);
    watchSampler(readClocks().monotonicNs);
  }
  if (sampler_.running()) samplerEnded(sampler_.stop());
  noteLeftRunning(runningGuests);
  std::string how = "unknown";
  const std::int64_t ended = sessionTime(realtimeNs());
  if (app_) {
    if (app_->ended) how = describeWaitStatus(app_->waitStatus);
    queue_.push([pid = app_->pid, info = app_->info, how, ended](Store& store) {
      if (info.pid == pid) store.plainProcess(info);
      store.exitOf(pid, how, ended);
    });
  }
  if (terminated_ && (!app_ || !app_->ended)) how = "recorder terminated";
  queue_.push([how, ended](Store& store) { store.finish(how, ended); });
  store_.hurry();
  queue_.wake();
  writerThread_.join();
  control_.summary(store_.summary());
}

}  // namespace warpmeter::recorder
