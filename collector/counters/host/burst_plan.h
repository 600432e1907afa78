// SPDX-License-Identifier: Apache-2.0
// How a burst is made: its sampling interval and its length, from what the program runs, what samples cost
// and what the hardware buffer holds. Pure functions.
#pragma once

#include <cstdint>

#include "cpu_budget.h"
#include "metric_sets.h"

namespace warpmeter::sampler {

inline constexpr std::int64_t kShortKernelNs = 20'000, kLongKernelNs = 1'000'000;
inline constexpr std::int64_t kCycleNs = 100'000'000;     // a burst with its decoding and pause
inline constexpr std::int64_t kMinBurstNs = 1'000'000;    // Start and Stop take 2.5 ms on an H200
inline constexpr std::int64_t kMaxBurstNs = 500'000'000;  // where the budget pays for continuous sampling
inline constexpr std::int64_t kSliceNs = 20'000'000;      // longer bursts are decoded while they run

// Programs of short kernels need fine samples. 0 = not known yet: fine.
bool isFine(std::int64_t medianKernelNs);

// 1 us for medians below 8 us, 2 us below 20 us; then an eighth of the median, 5-20 us; from 1 ms on a
// fiftieth, 20-50 us. Never below what the set needs.
std::int64_t intervalFor(std::int64_t medianKernelNs, const MetricSet& set);

struct BurstPlan {
  std::int64_t intervalNs = 0, lengthNs = 0;
};
// sampleCap: samples that the hardware buffer holds of this set between two decodings (see BufferCap).
BurstPlan planBurst(std::int64_t medianKernelNs, const MetricSet& set, const SampleCost& cost, double cores,
                    std::int64_t sampleCap);

// How many samples of a set fit into the hardware buffer. A guess until the buffer overflows, then half of
// what the burst wanted, growing again slowly.
class BufferCap {
 public:
  BufferCap(std::size_t bufferBytes, std::size_t columns);
  void overflowed(std::int64_t wanted);
  void went(std::int64_t samples);  // without overflow
  std::int64_t samples() const { return cap_; }

 private:
  std::int64_t cap_, most_;
};

}  // namespace warpmeter::sampler
