// SPDX-License-Identifier: Apache-2.0
#include "src/counters/schedule.h"

#include <algorithm>

namespace warpmeter::analyzer {

void Schedule::finish() {
  std::erase_if(ops, [](const Operation& op) { return op.endNs <= op.startNs; });
  std::ranges::stable_sort(ops, {}, &Operation::startNs);
  reach.resize(ops.size());
  std::int64_t last = INT64_MIN;
  for (std::size_t i = 0; i < ops.size(); ++i) reach[i] = last = std::max(last, ops[i].endNs);
}

std::size_t Schedule::firstAlive(std::int64_t t) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(reach, t) - reach.begin());
}

void SampleWalk::moveTo(std::int64_t beginNs, std::int64_t endNs) {
  const std::vector<Operation>& ops = schedule_.ops;
  if (!started_) {
    next_ = schedule_.firstAlive(beginNs);
    started_ = true;
  }
  std::erase_if(alive_, [&](std::uint32_t i) { return ops[i].endNs <= beginNs; });
  // After a hole between bursts there may be many operations that nothing was measured of.
  if (next_ < ops.size() && ops[next_].endNs <= beginNs)
    next_ = std::max(next_, schedule_.firstAlive(beginNs));
  for (; next_ < ops.size() && ops[next_].startNs < endNs; ++next_) {
    if (ops[next_].endNs > beginNs) alive_.push_back(static_cast<std::uint32_t>(next_));
  }
  pieces_.clear();
  std::int64_t covered = beginNs, busy = 0;
  std::uint32_t kernel = UINT32_MAX;  // the kind whose end is kernelEnd
  std::int64_t kernelEnd = beginNs;
  concurrentNs_ = 0;
  for (const std::uint32_t i : alive_) {
    const Operation& op = ops[i];
    const Piece piece{i, std::max(op.startNs, beginNs), std::min(op.endNs, endNs)};
    if (piece.fromNs >= piece.toNs) continue;  // alive, but begins behind this sample
    pieces_.push_back(piece);
    busy += std::max<std::int64_t>(0, piece.toNs - std::max(piece.fromNs, covered));
    covered = std::max(covered, piece.toNs);
    if (!schedule_.isKernel(op)) continue;
    if (kernel != UINT32_MAX && kernel != op.kind) {
      concurrentNs_ += std::max<std::int64_t>(0, std::min(piece.toNs, kernelEnd) - piece.fromNs);
    }
    if (piece.toNs >= kernelEnd) {
      kernelEnd = piece.toNs;
      kernel = op.kind;
    }
  }
  idleNs_ = endNs - beginNs - busy;
}

}  // namespace warpmeter::analyzer
