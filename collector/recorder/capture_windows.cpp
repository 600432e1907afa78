// SPDX-License-Identifier: Apache-2.0
#include "capture_windows.h"

#include <algorithm>

namespace warpmeter::recorder {
namespace {

constexpr std::int64_t kProfilerKey = 0, kOtherRange = -1;
constexpr std::size_t kMaxEarly = 65536;

// end NULL (a mark, an event): a moment.
template <class Row, class Keep>
void move(std::vector<Row>& from, std::vector<Row>& to, const Keep& keep) {
  for (const Row& row : from) {
    if (keep(row)) to.push_back(row);
  }
  from.clear();
}

template <class Row>
void moveAll(std::vector<Row>& from, std::vector<Row>& to) {
  to.insert(to.end(), from.begin(), from.end());
  from.clear();
}

}  // namespace

void CaptureWindows::open(std::int64_t pid, std::int64_t key, std::int64_t t) { open_.try_emplace({pid, key}, t); }

void CaptureWindows::close(std::int64_t pid, std::int64_t key, std::int64_t t) {
  const auto at = open_.find({pid, key});
  if (at == open_.end()) return;
  insert({at->second, std::max(t, at->second)});
  open_.erase(at);
}

// Joins what it touches, so that the list stays disjoint and sorted.
void CaptureWindows::insert(Window window) {
  auto at = std::lower_bound(closed_.begin(), closed_.end(), window.start,
                             [](const Window& w, std::int64_t start) { return w.end < start; });
  auto last = at;
  while (last != closed_.end() && last->start <= window.end) {
    window.start = std::min(window.start, last->start);
    window.end = std::max(window.end, last->end);
    ++last;
  }
  at = closed_.erase(at, last);
  closed_.insert(at, window);
}

void CaptureWindows::profilerStart(std::int64_t pid, std::int64_t t) {
  const std::lock_guard lock(mutex_);
  if (options_.profilerApi) open(pid, kProfilerKey, t);
}

void CaptureWindows::profilerStop(std::int64_t pid, std::int64_t t) {
  const std::lock_guard lock(mutex_);
  if (options_.profilerApi) close(pid, kProfilerKey, t);
}

void CaptureWindows::nvtxPush(ThreadDomain where, bool matches, std::int64_t t) {
  const std::lock_guard lock(mutex_);
  const std::int64_t key = matches ? nextKey_++ : -1;
  stacks_[where].push_back(key);
  if (matches) open(where.pid, key, t);
}

void CaptureWindows::nvtxPop(ThreadDomain where, std::int64_t t) {
  const std::lock_guard lock(mutex_);
  const auto at = stacks_.find(where);
  if (at == stacks_.end() || at->second.empty()) return;
  const std::int64_t key = at->second.back();
  at->second.pop_back();
  if (key >= 0) close(where.pid, key, t);
}

void CaptureWindows::nvtxStart(std::int64_t pid, std::int64_t rangeId, bool matches, std::int64_t t) {
  const std::lock_guard lock(mutex_);
  const auto early = early_.find({pid, rangeId});
  if (early != early_.end()) {
    if (matches) insert({t, std::max(t, early->second)});
    early_.erase(early);
    return;
  }
  if (!matches) {
    ranges_[{pid, rangeId}] = kOtherRange;
    return;
  }
  ranges_[{pid, rangeId}] = nextKey_;
  open(pid, nextKey_++, t);
}

void CaptureWindows::nvtxEnd(std::int64_t pid, std::int64_t rangeId, std::int64_t t) {
  const std::lock_guard lock(mutex_);
  const auto at = ranges_.find({pid, rangeId});
  if (at == ranges_.end()) {
    if (early_.size() < kMaxEarly) early_[{pid, rangeId}] = t;
    return;
  }
  if (at->second != kOtherRange) close(pid, at->second, t);
  ranges_.erase(at);
}

void CaptureWindows::processEnded(std::int64_t pid, std::int64_t t) {
  const std::lock_guard lock(mutex_);
  while (true) {
    const auto at = open_.lower_bound({pid, std::numeric_limits<std::int64_t>::min()});
    if (at == open_.end() || at->first.first != pid) break;
    close(pid, at->first.second, t);
  }
  std::erase_if(stacks_, [pid](const auto& entry) { return entry.first.pid == pid; });
  std::erase_if(early_, [pid](const auto& entry) { return entry.first.first == pid; });
  std::erase_if(ranges_, [pid](const auto& entry) { return entry.first.first == pid; });
}

bool CaptureWindows::overlaps(std::int64_t start, std::int64_t end) const {
  const std::lock_guard lock(mutex_);
  return overlapsLocked(start, end);
}

bool CaptureWindows::overlapsLocked(std::int64_t start, std::int64_t end) const {
  if (isNull(start)) return true;  // an untimed launch cannot be judged
  if (isNull(end)) end = start;
  if (options_.byTime()) {
    if (end < options_.delayNs) return false;
    if (options_.durationNs && start > options_.delayNs + *options_.durationNs) return false;
  }
  if (!options_.byRange()) return true;
  for (const auto& [key, from] : open_) {
    if (end >= from) return true;
  }
  const auto at = std::lower_bound(closed_.begin(), closed_.end(), start,
                                   [](const Window& w, std::int64_t t) { return w.end < t; });
  return at != closed_.end() && at->start <= end;
}

void CaptureWindows::filter(RowBatch& from, RowBatch& to) const {
  const std::lock_guard lock(mutex_);
  const auto interval = [this](const auto& row) { return overlapsLocked(row.start, row.end); };
  move(from.kernels, to.kernels, interval);
  move(from.untimed, to.untimed, interval);
  move(from.apis, to.apis, interval);
  move(from.copies, to.copies, interval);
  move(from.memsets, to.memsets, interval);
  move(from.syncs, to.syncs, interval);
  move(from.overheads, to.overheads, interval);
  move(from.events, to.events, [this](const CudaEventRow& row) { return overlapsLocked(row.timestamp, kNull); });
  move(from.latencies, to.latencies, [this](const LatencyRow& row) {
    return overlapsLocked(isNull(row.queued) ? row.submitted : row.queued, kNull);
  });
  move(from.memory, to.memory, [this](const MemoryRow& row) { return overlapsLocked(row.start, kNull); });
  move(from.nvtx, to.nvtx, [this](const NvtxRow& row) {
    return (row.eventType != 59 && row.eventType != 60 && row.eventType != 34) || overlapsLocked(row.start, row.end);
  });
  moveAll(from.marks, to.marks);
  moveAll(from.contexts, to.contexts);
  moveAll(from.streams, to.streams);
  moveAll(from.threads, to.threads);
}

}  // namespace warpmeter::recorder
