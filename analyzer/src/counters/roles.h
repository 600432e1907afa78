// SPDX-License-Identifier: Apache-2.0
// From the counters' names to what they mean, and from there to the metrics of KernelCounters.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "warpmeter/analyzer/counters.h"

namespace warpmeter::analyzer {

// What a counter counts. Sums over the whole GPU, unless said otherwise.
enum class Role : std::uint8_t {
  smActive,     // cycles in which an SM had a warp
  smElapsed,    // cycles of all SMs
  warpsActive,  // warps resident, per cycle
  instExecuted,
  instIssued,
  tensorActive,  // cycles in which the pipe of an SM (or the sum over its parts) worked
  fp32Active,
  fp32Heavy,  // the two halves of the FMA pipe, where a chip counts them apart
  fp32Lite,
  fp64Active,
  intActive,
  dramRead,  // bytes
  dramWrite,
  l2Sectors,
  l2Hits,
  l2Misses,
  l2Elapsed,
  l1Sectors,
  l1Hits,
  l1Active,
  pcieRead,
  pcieWrite,
  nvlinkReceived,
  nvlinkSent,
  count
};
inline constexpr std::size_t kRoles = static_cast<std::size_t>(Role::count);
using RoleSet = std::bitset<kRoles>;

struct NamedCounter {
  Role role;
  double scale = 1;  // value x scale = what the role says
};
// chip: "GH100"; a pipe's instructions are turned into cycles with its width. nullopt: no metric is made of
// this counter.
std::optional<NamedCounter> counterOf(std::string_view metric, std::string_view chip);

// A metric: factor x (sum of the numerator) / (sum of the denominator). Forms are alternatives, the best
// first. A metric without denominator is an amount per launch; perSecond divides it by the launch's time.
struct MetricForm {
  std::array<Role, 2> numerator{Role::count, Role::count};
  std::array<Role, 2> denominator{Role::count, Role::count};
  enum class Unit : std::uint8_t { ratioPct, perWarpSlotPct, perLaunch, perSecond } unit = Unit::ratioPct;
  double factor = 1;
  bool isAmount() const { return denominator[0] == Role::count; }
  RoleSet roles() const;
};
struct MetricTable {
  Metric KernelCounters::*metric;
  std::span<const MetricForm> forms;
};
std::span<const MetricTable> metricTables();

}  // namespace warpmeter::analyzer
