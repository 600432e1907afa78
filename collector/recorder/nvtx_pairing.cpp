// SPDX-License-Identifier: Apache-2.0
#include "nvtx_pairing.h"

#include <algorithm>

namespace warpmeter::recorder {
namespace {

// nsys leaves endGlobalTid empty for a range that ended on its own thread, and its scripts look only at those.
std::int64_t otherThread(const NvtxRow& row, std::int64_t globalTid) {
  return globalTid == row.globalTid ? kNull : globalTid;
}

}  // namespace

void NvtxPairing::push(NvtxRow row) {
  row.eventType = nvtx_event::kPushPop;
  stacks_[{row.globalTid, row.domainId}].push_back(row);
}

void NvtxPairing::pop(std::int64_t globalTid, std::int64_t domainId, std::int64_t t, std::vector<NvtxRow>& out) {
  const auto at = stacks_.find({globalTid, domainId});
  if (at == stacks_.end() || at->second.empty()) {
    ++orphans_;
    return;
  }
  NvtxRow row = at->second.back();
  at->second.pop_back();
  row.end = t;
  out.push_back(row);
}

void NvtxPairing::start(NvtxRow row, std::vector<NvtxRow>& out) {
  row.eventType = nvtx_event::kStartEnd;
  const auto early = early_.find(row.rangeId);
  if (early == early_.end()) {
    started_[row.rangeId] = row;
    return;
  }
  row.end = early->second.t;
  row.endGlobalTid = otherThread(row, early->second.globalTid);
  early_.erase(early);
  out.push_back(row);
}

void NvtxPairing::end(std::int64_t rangeId, std::int64_t globalTid, std::int64_t t, std::vector<NvtxRow>& out) {
  const auto at = started_.find(rangeId);
  if (at == started_.end()) {
    if (early_.size() < kMaxEarly) {
      early_[rangeId] = {globalTid, t};
    } else {
      ++orphans_;
    }
    return;
  }
  NvtxRow row = at->second;
  started_.erase(at);
  row.end = t;
  row.endGlobalTid = otherThread(row, globalTid);
  out.push_back(row);
}

std::int64_t NvtxPairing::closeAll(std::int64_t t, std::vector<NvtxRow>& out) {
  std::int64_t closed = 0;
  const auto close = [&](NvtxRow row) {
    row.end = std::max(t, row.start);
    out.push_back(row);
    ++closed;
  };
  for (auto& [key, stack] : stacks_) {
    for (const NvtxRow& row : stack) close(row);
  }
  for (auto& [id, row] : started_) close(row);
  stacks_.clear();
  started_.clear();
  orphans_ += static_cast<std::int64_t>(early_.size());
  early_.clear();
  return closed;
}

std::size_t NvtxPairing::open() const {
  std::size_t count = started_.size();
  for (const auto& [key, stack] : stacks_) count += stack.size();
  return count;
}

}  // namespace warpmeter::recorder
