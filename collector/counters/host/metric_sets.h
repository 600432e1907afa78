// SPDX-License-Identifier: Apache-2.0
// Which counters are sampled together. A set must fit into one pass of the chip's counters; what fits is
// asked of CUPTI's host library, chip by chip (no GPU needed for that), in the order of value of the wishes
// in metric_wishes.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace warpmeter::sampler {

// One column of a sample. Usually the value of the CUPTI metric of the same name. With factor >= 0 it is
// asked (a percentage) / 100 x column[factor]: hits, where a chip counts only sectors and tells a hit rate.
struct MetricColumn {
  std::string name;   // travels: "sm__warps_active.sum"
  std::string asked;  // what CUPTI is asked for
  int factor = -1;
};

struct MetricSet {
  std::vector<MetricColumn> columns;
  // Share of the bursts that the set gets, among programs of short and of longer kernels.
  int fineWeight = 0, coarseWeight = 0;
  std::int64_t minIntervalNs = 0;  // more counters need more time between samples
};

class MetricHost {
 public:
  virtual ~MetricHost() = default;
  // Whether these metrics exist and can be counted together in one pass.
  virtual bool fitsOnePass(const std::vector<std::string>& asked) = 0;
};

inline constexpr std::size_t kFineColumns = 3;    // at most, for intervals below kManyColumnsNs
inline constexpr std::size_t kCoarseColumns = 7;  // decoding costs grow faster than the number of counters
inline constexpr std::int64_t kFineIntervalNs = 1000, kManyColumnsNs = 5000;

// The set that every recording starts with: occupancy and instructions. Empty columns: the chip has not even
// those.
MetricSet buildFirstSet(MetricHost& host);

// All sets of a chip; the first equals buildFirstSet(). Each has sm__cycles_active.sum as its first column;
// occupancy's sm__warps_active.sum is in every set into which the chip can fit it. Empty: see buildFirstSet.
std::vector<MetricSet> buildSets(MetricHost& host);

}  // namespace warpmeter::sampler
