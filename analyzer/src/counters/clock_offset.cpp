// SPDX-License-Identifier: Apache-2.0
#include "src/counters/clock_offset.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/counters/fit.h"
#include "src/counters/sight.h"

namespace warpmeter::analyzer {
namespace {

constexpr std::int64_t kLowestNs = -2'000, kHighestNs = 4'000;
constexpr std::int64_t kCoarseNs = 500, kFineNs = 100;
constexpr std::size_t kSamples = 40'000;  // enough to see 0.1 us; each shift costs a pass over them
// What the model of a launch's edges leaves open (docs/accuracy.md).
constexpr double kModelNs = 120;

RoleSet sensitiveRoles(const std::vector<SeriesView>& series) {
  RoleSet any;
  for (const SeriesView& s : series) any |= s.roles;
  RoleSet out;
  for (const Role r : {Role::smActive, Role::warpsActive, Role::instExecuted}) {
    const auto i = static_cast<std::size_t>(r);
    if (any.test(i)) out.set(i);
  }
  return out;
}

}  // namespace

std::optional<ClockOffset> estimateClockOffset(const Schedule& schedule,
                                               const std::vector<SeriesView>& series, unsigned threads) {
  const RoleSet roles = sensitiveRoles(series);
  if (roles.none() || schedule.ops.empty()) return std::nullopt;
  std::size_t total = 0;
  for (const SeriesView& s : series) total += s.size();
  const std::size_t stride = std::max<std::size_t>(1, total / kSamples);

  const std::vector<KindSight> seen = glance(schedule, series, stride);
  const Layout layout = Layout::of(schedule, seen);
  Fit fit(schedule, layout, series, seen, threads);
  const auto misfitAt = [&](std::int64_t shift) {
    fit.accumulate(shift, stride);
    double out = 0;
    for (std::size_t r = 0; r < kRoles; ++r) {
      RoleSet one;
      one.set(r);
      if (!roles.test(r)) continue;
      if (const auto* system = fit.solve(one, true)) out += fit.misfit(*system, r);
    }
    return out;
  };
  std::int64_t best = 0;
  double least = std::numeric_limits<double>::max();
  std::vector<std::pair<std::int64_t, double>> tried;
  const auto attempt = [&](std::int64_t shift) {
    const double m = misfitAt(shift);
    tried.emplace_back(shift, m);
    if (m < least) {
      least = m;
      best = shift;
    }
  };
  for (std::int64_t s = kLowestNs; s <= kHighestNs; s += kCoarseNs) attempt(s);
  const std::int64_t around = best;
  for (std::int64_t s = around - kCoarseNs + kFineNs; s < around + kCoarseNs; s += kFineNs) {
    if (s != around) attempt(s);
  }
  // Parabola through the best and its neighbours.
  std::ranges::sort(tried);
  const auto at = std::ranges::find(tried, best, &std::pair<std::int64_t, double>::first);
  if (at == tried.begin() || at + 1 == tried.end()) return std::nullopt;
  const double left = (at - 1)->second - least, right = (at + 1)->second - least;
  if (!(left + right > 0)) return std::nullopt;
  ClockOffset out;
  out.ns = best + std::llround(0.5 * static_cast<double>(kFineNs) * (left - right) / (left + right));
  out.uncertaintyNs = static_cast<std::int64_t>(kModelNs);
  return out;
}

}  // namespace warpmeter::analyzer
