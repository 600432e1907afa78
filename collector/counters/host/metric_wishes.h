// SPDX-License-Identifier: Apache-2.0
// What is worth sampling, in the order of its value, with the names that the chips have for it.
#pragma once

#include <span>
#include <string_view>

namespace warpmeter::sampler {

inline constexpr std::string_view kCyclesActive = "sm__cycles_active.sum";
inline constexpr std::string_view kWarpsActive = "sm__warps_active.sum";
inline constexpr std::string_view kCyclesElapsed = "sm__cycles_elapsed.sum";

// A metric, or (with a rate) a count made of a rate and the column before it.
struct WishedMetric {
  std::string_view name;
  std::string_view rate = {};  // CUPTI's name of a percentage of the metric before this one
};

// Metrics that are of use only together.
struct Alternative {
  WishedMetric metrics[3];
  std::size_t count() const { return metrics[1].name.empty() ? 1 : metrics[2].name.empty() ? 2 : 3; }
};

inline constexpr std::string_view kNvlinkWish = "NVLink";

struct Wish {
  std::string_view what;
  bool core;   // of every recording's first group
  bool fine;   // has a place in a small group for short kernels
  bool apart;  // in a group of its own, see kWishes
  std::span<const Alternative>
      names;  // the first that the chip can count beside occupancy; else beside cycles alone
};

std::span<const Wish> wishes();

}  // namespace warpmeter::sampler
