// SPDX-License-Identifier: Apache-2.0
// Which counters are sampled together. A group must fit into one pass of the chip's counters; what fits is
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

// What is decoded together.
struct MetricSet {
  std::vector<MetricColumn> columns;
  int weight = 1;  // share of its group's bursts
};

// What the GPU counts together, in one pass: its hardware is set up for the counters of a group, which takes
// 0.3 s. Decoding may leave counters out, but see kCoarseColumns: a group has one set.
struct MetricGroup {
  std::vector<MetricSet> sets;
  // Share of the time that the group gets, among programs of short and of longer kernels.
  int fineWeight = 0, coarseWeight = 0;
  std::int64_t minIntervalNs = 0;  // more counters need more time between samples

  // Each counter of its sets once, as CUPTI is asked for it.
  std::vector<std::string> asked() const;
};

class MetricHost {
 public:
  virtual ~MetricHost() = default;
  // Whether these metrics exist and can be counted together in one pass.
  virtual bool fitsOnePass(const std::vector<std::string>& asked) = 0;
};

inline constexpr std::size_t kFineColumns = 3;  // at most, for intervals below kCoreIntervalNs
inline constexpr std::size_t kCoreColumns = 6;  // below kBroadIntervalNs
// One set a group: on an H200 the first burst that read another set of a configuration left the earlier ones
// without values, mostly until the session was opened again.
inline constexpr std::size_t kCoarseColumns = 12;
inline constexpr std::size_t kGroupColumns = 20;  // what a sample takes in the hardware buffer has a limit
inline constexpr std::int64_t kFineIntervalNs = 1000, kCoreIntervalNs = 2000, kBroadIntervalNs = 5000;

// What every recording starts with, one set: occupancy, coverage, instructions, DRAM traffic; without those
// of them that the chip cannot count beside occupancy. No sets: the chip has not even occupancy and
// instructions.
MetricGroup buildCore(MetricHost& host);

// All groups of a chip. The first equals buildCore(), the second holds pipes and caches as far as one
// pass goes, then come those with what it had no room for, last the small ones for short kernels. Each set
// has sm__cycles_active.sum as its first column. links: whether the GPU has an NVLink to count, in a group of
// its own. Empty: see buildCore.
std::vector<MetricGroup> buildGroups(MetricHost& host, bool links = true);

}  // namespace warpmeter::sampler
