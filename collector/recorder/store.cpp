// SPDX-License-Identifier: Apache-2.0
#include "store.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "proc_info.h"

namespace warpmeter::recorder {
namespace {

constexpr std::int64_t kLossEveryNs = 5'000'000'000;
constexpr int kNice = 5;

std::int64_t monotonicNs() { return readClocks().monotonicNs; }

}  // namespace

Store::Store(ProfileWriter writer, const Options& options, SessionInfo session, ItemQueue& queue,
             const CaptureWindows& capture)
    : writer_(std::move(writer)), options_(options), sessionInfo_(std::move(session)), queue_(queue), capture_(capture),
      samples_(session_, capture, [this](const std::string& uuid) -> const GpuInfo* {
        const auto at = gpus_.find(uuid);
        return at == gpus_.end() ? nullptr : &at->second;
      }),
      ranged_(options.output + ".ranges"), pc_(options.output + ".pc") {
  session_.startRealtimeNs = sessionInfo_.utcEpochNs;
  session_.intern = [this](std::string_view text) { return writer_.intern(text).value; };
  session_.keepNestedDriverCalls = options.api == ApiMode::all;
  session_.storeApi = options.api != ApiMode::none;
}

void Store::run() {
  // Writing can wait, the queue holds it; taking buffers in cannot, and the application should not have to.
  const auto self = static_cast<id_t>(syscall(SYS_gettid));
  setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + kNice);
  while (!finished_) {
    std::int64_t notAfter = std::numeric_limits<std::int64_t>::max();
    if (capture_.byRange() && !hurry_.load(std::memory_order_relaxed)) {
      notAfter = realtimeNs() - CaptureWindows::kDecisionDelayNs;
    }
    const auto item = queue_.pop(std::chrono::milliseconds(dirty_ ? 50 : 200), notAfter);
    if (item && item->chunk && item->chunk->sampler) {
      takeSamples(*item->chunk);
    } else if (item && item->chunk) {
      decode(*item->chunk);
    } else if (item) {
      item->action(*this);
    }
    const std::int64_t now = monotonicNs();
    if (now - lastExpireNs_ > kCommitNs) {
      lastExpireNs_ = now;
      for (auto& [index, state] : processes_) {
        if (!state->ended()) state->expire(realtimeNs(), scratch_);
      }
      emit(scratch_);
    }
    if (dirty_ && (!item || now - firstUncommittedNs_ > kCommitNs || uncommittedRows_ >= kCommitRows ||
                   uncommittedSampleBytes_ >= kCommitSampleBytes)) {
      commit();
    }
  }
}

ProcessState* Store::stateOf(std::uint32_t process) {
  const auto at = processes_.find(process);
  return at == processes_.end() ? nullptr : at->second.get();
}

void Store::check(Result<void> result) {
  if (!result && !full_.load(std::memory_order_relaxed)) afterError(result.error());
}

// From here on the file stays as it is. Its loss row says from when.
void Store::afterError(const Error& error) {
  full_.store(true, std::memory_order_relaxed);
  fullWhy_ = error.message;
  const std::int64_t lost = uncommittedRows_ + static_cast<std::int64_t>(batch_.rows());
  discarded_ += lost;
  batch_.clear();
  scratch_.clear();
  const std::int64_t at = realtimeNs() - session_.startRealtimeNs;
  if (const auto closed = writer_.closeAfterError(error, at, lost); !closed) {
    fullWhy_ += "; " + closed.error().message;
  }
  dirty_ = false;
}

void Store::decode(const Chunk& chunk) {
  ProcessState* state = stateOf(chunk.process);
  if (state == nullptr || state->ended() || chunk.bytes.empty()) return;
  if (full_.load(std::memory_order_relaxed)) {
    countDiscarded(chunk);
    return;
  }
  const bool wasRecorded = state->recordedAnything();
  RowBatch& decoded = capture_.active() ? scratch_ : batch_;
  const auto before = RangedLaunches::endOf(decoded);
  state->decode(chunk, decoded);
  if (options_.exactCounters) {
    dropCuptiKernels(decoded, before.kernels);
    ranged_.see(decoded, before, realtimeNs());
  }
  state->threadRows(batch_, true);
  if (capture_.active()) emit(scratch_);
  if (!dirty_ && batch_.rows() > 0) {
    dirty_ = true;
    firstUncommittedNs_ = monotonicNs();
  }
  if (batch_.rows() >= kBatchRows) append();
  if (state->cuInitSeen()) cuInitSeen_.store(true, std::memory_order_relaxed);
  if (!wasRecorded && state->recordedAnything()) putProcess(*state);
}

void Store::countDiscarded(const Chunk& chunk) {
  if (chunk.own) {
    walkOwnRecords(chunk.bytes, [this](const auto&, const std::byte*, std::size_t) { ++discarded_; });
    return;
  }
  for (const auto& [kind, count] : countKinds(chunk.bytes, stateOf(chunk.process)->memory().recordSizes())) {
    discarded_ += count;
  }
}

void Store::emit(RowBatch& rows) {
  if (rows.rows() == 0) return;
  if (full_.load(std::memory_order_relaxed)) {
    rows.clear();
    return;
  }
  capture_.filter(rows, batch_);
  if (!dirty_) {
    dirty_ = true;
    firstUncommittedNs_ = monotonicNs();
  }
}

void Store::append() {
  if (batch_.rows() == 0 || full_.load(std::memory_order_relaxed)) return;
  noteKernels(batch_.kernels);
  const auto result = batch_.appendTo(writer_);
  if (!result) {
    check(result);
    return;
  }
  uncommittedRows_ += static_cast<std::int64_t>(batch_.rows());
  uncommitted_.add(batch_.totals());
  batch_.clear();
}

bool Store::commit() {
  append();
  if (!full_.load(std::memory_order_relaxed)) {
    const std::int64_t now = monotonicNs();
    if (now - lastLossNs_ > kLossEveryNs) {
      lastLossNs_ = now;
      writeLosses();
    }
  }
  if (!full_.load(std::memory_order_relaxed)) check(writer_.commit());
  dirty_ = false;
  if (full_.load(std::memory_order_relaxed)) return false;
  uncommittedRows_ = 0;
  uncommittedSampleBytes_ = 0;
  committed_.add(uncommitted_);
  uncommitted_ = {};
  return true;
}

void Store::writeLosses() {
  std::vector<LossRow> rows;
  for (const LossEntry& entry : session_.losses.take()) {
    LossRow row;
    row.kind = session_.intern(entry.kind);
    row.why = session_.intern(entry.why);
    row.count = entry.count;
    row.fromNs = entry.fromNs;
    row.toNs = entry.toNs;
    if (entry.globalPid.value != 0) row.globalPid = entry.globalPid.value;
    rows.push_back(row);
  }
  if (!rows.empty()) check(writer_.append(std::span<const LossRow>(rows)));
}

void Store::putProcess(ProcessState& state) {
  state.refreshStatus();
  if (full_.load(std::memory_order_relaxed)) return;
  check(writer_.put(state.info()));
  if (!dirty_) firstUncommittedNs_ = monotonicNs();
  dirty_ = true;
}

void Store::processStarted(std::uint32_t process, ProcessInfo info, std::shared_ptr<GuestMemory> memory) {
  plain_.erase(info.pid);
  auto state = std::make_unique<ProcessState>(session_, std::move(memory), std::move(info));
  state->cupti().onDevice = [this, process](const CuptiRecords::Device& device) { onDevice(process, device); };
  if (options_.exactCounters) watchRanges(*state);
  if (options_.pcCounters) watchPc(*state);
  ProcessInfo& stored = state->info();
  if (!isNull(stored.startNs)) {
    MarkRow mark;
    mark.t = stored.startNs;
    mark.globalTid = makeGlobalTid(stored.pid, stored.pid).value;
    mark.kind = static_cast<std::int64_t>(MarkKind::processStart);
    mark.bytes = stored.startUncertaintyNs;
    batch_.marks.push_back(mark);
    state->context().thread(static_cast<std::uint32_t>(stored.pid));
    state->threadRows(batch_, true);
  }
  putProcess(*state);
  processes_[process] = std::move(state);
}

void Store::processEnded(std::uint32_t process, const ProcessEnd& end) {
  ProcessState* state = stateOf(process);
  if (state == nullptr || state->ended()) return;
  state->end(end, scratch_);
  state->threadRows(scratch_, false);
  emit(scratch_);
  putProcess(*state);
  const std::int64_t pid = state->info().globalPid.value;
  std::vector<SelfCostRow> costs;
  for (const auto& [what, cost] : state->selfCosts()) {
    costs.push_back({pid, session_.intern(what), cost.first, cost.second});
  }
  if (!full_.load(std::memory_order_relaxed)) check(writer_.append(std::span<const SelfCostRow>(costs)));
  if (options_.exactCounters) exactEnded(*state);
  if (options_.pcCounters) writePc(*state);
  commit();
  state->release();
}

void Store::counters(std::uint32_t process, const GuestCounters& counters) {
  if (ProcessState* state = stateOf(process); state != nullptr && !state->ended()) state->noteCounters(counters);
}

void Store::commitFor(std::uint32_t process) {
  ProcessState* state = stateOf(process);
  if (state == nullptr || state->ended()) return;
  commit();  // before anything that may take a while: whoever kills the recorder meanwhile finds this much
  if (options_.pcCounters) {
    writePc(*state);
    commit();
  }
  state->memory().setCommitted();
}

void Store::exitOf(std::int64_t pid, const std::string& how, std::int64_t exitNs) {
  bool guest = false;
  for (auto& [index, state] : processes_) {
    if (state->info().pid != pid) continue;
    guest = true;
    state->info().exitHow = how;
    if (isNull(state->info().exitNs)) state->info().exitNs = exitNs;
    if (!full_.load(std::memory_order_relaxed)) check(writer_.put(state->info()));
  }
  if (const auto at = plain_.find(pid); at != plain_.end() && !guest) {
    at->second.exitHow = how;
    at->second.exitNs = exitNs;
    plainProcess(ProcessInfo(at->second));
  }
  dirty_ = true;
}

void Store::plainProcess(const ProcessInfo& info) {
  for (const auto& [index, state] : processes_) {
    if (state->info().pid == info.pid) return;
  }
  plain_[info.pid] = info;
  if (!full_.load(std::memory_order_relaxed)) check(writer_.put(info));
  dirty_ = true;
}

void Store::clock(const ClockRow& row) {
  if (full_.load(std::memory_order_relaxed)) return;
  check(writer_.append(std::span<const ClockRow>(&row, 1)));
  if (!dirty_) firstUncommittedNs_ = monotonicNs();
  dirty_ = true;
}

void Store::lose(std::string_view kind, std::string_view why, std::int64_t count, std::int64_t atNs, std::int64_t pid) {
  session_.losses.add(kind, why, count, atNs, atNs, pid == 0 ? GlobalPid{} : makeGlobalPid(pid));
  dirty_ = true;
}

void Store::leftRunning(const std::string& text, std::int64_t count, std::int64_t atNs) {
  leftRunning_ = text;
  lose(loss::kLeftRunning, text, count, atNs, 0);
}

void Store::finish(const std::string& endedHow, std::int64_t endedNs) {
  commit();
  if (gpus_.empty()) {
    for (const GpuInfo& gpu : driverGpus_) gpus_[gpu.uuid] = gpu;
    if (processes_.empty()) gpus_.clear();  // nothing of this run points to them
    for (const auto& [uuid, gpu] : gpus_) putGpu(gpu);
  }
  finishSamples();
  finishRanges();
  finishPc();
  writeLosses();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + std::int64_t{t.tv_usec} * 1000; };
  const SelfCostRow cost{kNull, session_.intern("recorder.cpu"), ns(usage.ru_utime) + ns(usage.ru_stime), 1};
  if (!full_.load(std::memory_order_relaxed)) check(writer_.append(std::span<const SelfCostRow>(&cost, 1)));
  sessionInfo_.endedHow = endedHow;
  sessionInfo_.endedNs = endedNs;
  bool journalDeleted = false;
  if (!full_.load(std::memory_order_relaxed)) {
    const auto result = writer_.finish(sessionInfo_);
    if (result) {
      journalDeleted = *result;
    } else {
      afterError(result.error());
    }
  }
  summarize(journalDeleted);
  finished_ = true;
}

}  // namespace warpmeter::recorder
