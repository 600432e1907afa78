// SPDX-License-Identifier: Apache-2.0
#include "loss_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace warpmeter::recorder {
namespace {

std::int64_t sum(std::int64_t a, std::int64_t b) { return isNull(a) || isNull(b) ? kNull : a + b; }
std::int64_t earlier(std::int64_t a, std::int64_t b) { return isNull(a) ? b : isNull(b) ? a : std::min(a, b); }
std::int64_t later(std::int64_t a, std::int64_t b) { return isNull(a) ? b : isNull(b) ? a : std::max(a, b); }

// Larger = told first.
int rankOf(std::string_view kind) {
  if (!lossMeansIncomplete(kind)) return 1;
  if (kind == loss::kBlocked || kind == loss::kRefused || kind == loss::kDisabled) return 4;
  if (kind == loss::kOverload || kind == loss::kPoolEmpty || kind == loss::kDroppedByCupti) return 3;
  return 2;
}

}  // namespace

void LossTable::add(std::string_view kind, std::string_view why, std::int64_t count, std::int64_t fromNs,
                    std::int64_t toNs, GlobalPid globalPid) {
  if (count == 0) return;
  auto [at, isNew] = entries_.try_emplace({std::string(kind), std::string(why), globalPid.value});
  LossEntry& entry = at->second;
  if (isNew) {
    entry.kind = kind;
    entry.why = why;
    entry.globalPid = globalPid;
  }
  entry.count = sum(entry.count, count);
  entry.fromNs = earlier(entry.fromNs, fromNs);
  entry.toNs = later(entry.toNs, toNs);
  if (lossMeansIncomplete(kind)) {
    incomplete_ = true;
    lost_ = sum(lost_, count);
  }
  if (rankOf(kind) > headlineRank_) {
    headlineRank_ = rankOf(kind);
    headline_ = globalPid.value == 0 || why.starts_with("process ") ? entry.why : fmt::format("process {}: {}", pidOf(globalPid), entry.why);
  }
}

std::vector<LossEntry> LossTable::take() {
  std::vector<LossEntry> result;
  result.reserve(entries_.size());
  for (auto& [key, entry] : entries_) result.push_back(std::move(entry));
  entries_.clear();
  rows_ += static_cast<std::int64_t>(result.size());
  return result;
}

}  // namespace warpmeter::recorder
