// SPDX-License-Identifier: Apache-2.0
#include "src/counters/unknown_work.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace warpmeter::analyzer {
namespace {

constexpr std::int64_t kFarPast = -(std::int64_t{1} << 60), kFarFuture = std::int64_t{1} << 60;

// Kinds of WM_LOSS that take kernels or copies along (docs/format.md).
constexpr std::array<std::string_view, 10> kLosesWork{"in_flight",       "pool_empty", "dropped_by_cupti",
                                                     "overload",        "no_times",   "invalid_records",
                                                     "implausible_row", "disk_full",  "invalid_row",
                                                      "write_error"};

struct Bracket {
  std::int64_t beginNs = kFarPast, endNs = kFarFuture;
};

// From the end of the last launch before this correlation id to the start of the first behind it.
Bracket around(const Kernels& kernels, std::int64_t correlation) {
  Bracket out;
  const auto ids = kernels.correlation.span();
  if (std::ranges::is_sorted(ids)) {
    const auto first = static_cast<std::size_t>(std::ranges::lower_bound(ids, correlation) - ids.begin());
    const auto behind = static_cast<std::size_t>(std::ranges::upper_bound(ids, correlation) - ids.begin());
    if (first > 0) out.beginNs = kernels.endNs(first - 1);
    if (behind < ids.size()) out.endNs = kernels.startNs(behind);
    return out;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < correlation) out.beginNs = std::max(out.beginNs, kernels.endNs(i));
    if (ids[i] > correlation) out.endNs = std::min(out.endNs, kernels.startNs(i));
  }
  return out;
}

}  // namespace

UnknownWork unknownWorkOf(const ProfileView& view, std::uint32_t gpu) {
  UnknownWork out;
  std::vector<Interval> when;
  for (const UntimedLaunch& u : view.untimed()) {
    if (u.gpu != gpu) continue;
    Bracket where;
    for (const StreamLane& lane : view.streams()) {
      if (lane.process != u.process || lane.gpu != gpu || lane.streamId != u.streamId) continue;
      const Bracket here = around(lane.kernels, u.correlation);
      where.beginNs = std::max(where.beginNs, here.beginNs);
      where.endNs = std::min(where.endNs, here.endNs);
    }
    if (u.process < view.processes().size()) {
      const ProcessInfo& process = view.processes()[u.process].info;
      if (where.beginNs == kFarPast && !isNull(process.startNs)) where.beginNs = process.startNs;
      if (where.endNs == kFarFuture && !isNull(process.exitNs)) where.endNs = process.exitNs;
    }
    when.push_back({where.beginNs, where.endNs});
  }
  for (const LossInfo& loss : view.losses()) {
    if (std::ranges::find(kLosesWork, loss.kind) == kLosesWork.end() || loss.count == 0) continue;
    if (isNull(loss.fromNs)) {
      out.anywhere = true;
    } else {
      when.push_back({loss.fromNs, isNull(loss.toNs) ? kFarFuture : loss.toNs});
    }
  }
  out.when = unite(std::move(when));
  return out;
}

}  // namespace warpmeter::analyzer
