// SPDX-License-Identifier: Apache-2.0
#include "process_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "item_queue.h"
#include "proc_info.h"

namespace warpmeter::recorder {
namespace {

constexpr std::int64_t kHour = 3600LL * 1'000'000'000;

std::uint32_t kindOf(const std::byte* record) {
  std::uint32_t kind = 0;
  std::memcpy(&kind, record, sizeof kind);
  return kind;
}

}  // namespace

ProcessState::ProcessState(Session& session, std::shared_ptr<const GuestMemory> memory, ProcessInfo info)
    : memory_(memory), info_(std::move(info)), context_(session, memory, info_.pid), cupti_(context_), own_(context_) {}

void ProcessState::decode(const Chunk& chunk, RowBatch& out) {
  if (chunk.own) {
    own_.decode(chunk.bytes, out);
  } else {
    decodeCupti(chunk, out);
  }
  injectionMarks(out);
}

void ProcessState::decodeCupti(const Chunk& chunk, RowBatch& out) {
  const Plausibility bounds{memory_->pidInGuest(),
                            static_cast<std::uint64_t>(context_.cuptiTime(context_.session().startRealtimeNs - kHour)),
                            static_cast<std::uint64_t>(context_.cuptiTime(chunk.arrivedNs + kHour))};
  CuptiWalk walk(chunk.bytes, memory_->recordSizes(), bounds, chunk.salvage ? WalkMode::salvage : WalkMode::completed);
  std::size_t size = 0;
  while (const std::byte* record = walk.next(size)) {
    if (cupti_.decode(record, size, chunk.arrivedNs, out)) continue;
    context_.countLoss(loss::kUnknownKind, fmt::format("records of CUPTI's kind {} are not stored", kindOf(record)), 1);
  }
  const WalkStats& stats = walk.stats();
  cuptiRecords_ += stats.records;
  if (stats.holes == 0) return;
  const std::int64_t at = context_.ownTime(chunk.arrivedNs);
  if (!chunk.salvage) {
    context_.countLoss(loss::kInvalid, "completed buffers held places that are no record", stats.holes, at);
  } else if (!chunk.orderly) {
    context_.countLoss(loss::kInFlight, "records were being written when the process was killed", stats.holes, at);
  }
}

// The guest writes the times down when CUDA loads the library, which may be long after NVTX did.
void ProcessState::injectionMarks(RowBatch& out) {
  if (injectionMarked_) return;
  const wire::Header& header = memory_->header();
  const auto status = memory_->status();
  if (status == wire::GuestStatus::starting || status == wire::GuestStatus::noDriver) return;
  const std::int64_t entered = header.injectionEnteredNs, done = header.injectionDoneNs;
  if (entered == 0) return;
  injectionMarked_ = true;
  MarkRow mark;
  mark.globalTid = makeGlobalTid(info_.pid, 0).value;
  mark.t = context_.ownTime(entered);
  mark.kind = static_cast<std::int64_t>(MarkKind::injectionEntered);
  out.marks.push_back(mark);
  if (done == 0) return;
  mark.t = context_.ownTime(done);
  mark.kind = static_cast<std::int64_t>(MarkKind::injectionDone);
  out.marks.push_back(mark);
}

void ProcessState::end(const ProcessEnd& end, RowBatch& out) {
  ended_ = true;
  context_.setDead();
  injectionMarks(out);
  cupti_.nesting().flush(out.apis);
  own_.processEnded(end.exitNs, out);
  noteCounters(end.counters);
  MarkRow mark;
  mark.globalTid = makeGlobalTid(info_.pid, 0).value;
  mark.t = end.exitNs;
  mark.kind = static_cast<std::int64_t>(MarkKind::processExit);
  out.marks.push_back(mark);
  info_.exitNs = end.exitNs;
  if (info_.exitHow.empty() || info_.exitHow == "unknown") info_.exitHow = end.exitHow;
  refreshStatus();
  statusLosses();
}

void ProcessState::noteCounters(const GuestCounters& c) {
  const auto grown = [](std::uint64_t now, std::uint64_t before) {
    return static_cast<std::int64_t>(now > before ? now - before : 0);
  };
  const std::int64_t now = context_.ownTime(realtimeNs());
  context_.countLoss(loss::kPoolEmpty, "the guest had no buffer left: raise --max-memory", grown(c.poolEmpty, seen_.poolEmpty), now);
  context_.countLoss(loss::kDroppedByCupti, "CUPTI dropped records", grown(c.droppedByCupti, seen_.droppedByCupti), now);
  context_.countLoss(loss::kOwnRecords, "NVTX records found no buffer", grown(c.ownRecordsLost, seen_.ownRecordsLost), now);
  context_.countLoss(loss::kFaults, "faults inside the injected library", grown(c.faults, seen_.faults), now);
  seen_ = c;
}

// Told once, when the process is gone.
void ProcessState::statusLosses() {
  const std::string text = memory_->statusText();
  switch (memory_->problem()) {
    case wire::GuestStatus::blocked: context_.countLoss(loss::kBlocked, text, kNull); break;
    case wire::GuestStatus::refused: context_.countLoss(loss::kRefused, text, kNull); break;
    case wire::GuestStatus::disabled: context_.countLoss(loss::kDisabled, text, kNull); break;
    default: break;
  }
  if (cuptiRecords_ > 0 && seen_.dropCounterState != 1) {
    context_.countLoss(loss::kDroppedByCupti,
                       seen_.dropCounterState == 2 ? "CUPTI's drop counter could not be read"
                                                   : "the process ended before CUPTI's drop counter was read", kNull);
  }
  if (const auto refused = memory_->header().degradedCount.load(std::memory_order_acquire); refused > 0) {
    const char* why = memory_->header().degradedText;
    context_.countLoss(loss::kDegraded, std::string(why, strnlen(why, sizeof(wire::Header::degradedText))), refused);
  }
}

void ProcessState::refreshStatus() {
  const auto status = memory_->status();
  if (status != wire::GuestStatus::starting && status != wire::GuestStatus::noDriver) {
    if (memory_->cuptiVersion() != 0) info_.cuptiVersion = memory_->cuptiVersion();
    info_.cuptiPath = memory_->cuptiPath();
  }
  const std::string text = memory_->statusText();
  const auto problem = memory_->problem();
  if (problem == wire::GuestStatus::blocked) {
    info_.status = "blocked: " + text;
  } else if (problem == wire::GuestStatus::refused) {
    info_.status = "refused: " + text;
  } else if (problem == wire::GuestStatus::disabled) {
    info_.status = "disabled: " + text;
  } else {
    info_.status = cuptiRecords_ > 0 ? "recorded" : "no_gpu_work";
  }
}

std::vector<std::pair<std::string_view, std::pair<std::int64_t, std::int64_t>>> ProcessState::selfCosts() const {
  const auto pair = [](std::uint64_t ns, std::uint64_t count) {
    return std::pair(static_cast<std::int64_t>(ns), static_cast<std::int64_t>(count));
  };
  return {{"guest.buffer_request", pair(seen_.requestNs, seen_.requestCount)},
          {"guest.completion_walk", pair(seen_.walkNs, seen_.walkRecords)},
          {"guest.callbacks", pair(seen_.callbackNs, seen_.callbackCount)},
          {"guest.flush", pair(seen_.flushNs, seen_.flushCount)},
          {"guest.thread_cpu", pair(seen_.threadCpuNs, 1)}};
}

// A buffer request is inside CUPTI's own overhead record of it, so the larger one counts.
std::int64_t ProcessState::selfCostNs() const {
  const RecordCounts& c = cupti_.counts();
  return static_cast<std::int64_t>(seen_.callbackNs) + c.profilerOverheadNs +
         std::max(static_cast<std::int64_t>(seen_.requestNs), c.bufferRequestOverheadNs);
}

void ProcessState::release() {
  memory_.reset();
  context_.release();
}

void ProcessState::threadRows(RowBatch& out, bool alive) {
  for (const std::int64_t id : context_.takeNewThreads()) {
    const GlobalTid tid{id};
    std::string name = alive ? readThreadName(info_.pid, tidOf(tid)) : std::string();
    if (name.empty()) name = info_.name;
    ThreadRow row;
    row.nameId = context_.session().intern(name);
    row.globalTid = id;
    out.threads.push_back(row);
  }
}

}  // namespace warpmeter::recorder
