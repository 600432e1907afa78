// SPDX-License-Identifier: Apache-2.0
// How a burst is made: its sampling interval, its length, the room that its samples need. From what the
// program runs, what samples cost and what the hardware buffer holds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu_budget.h"
#include "metric_sets.h"

namespace warpmeter::sampler {

inline constexpr std::int64_t kShortKernelNs = 20'000, kLongKernelNs = 1'000'000;
// Short, so that bursts lie everywhere in the run and an order to pause is answered soon.
inline constexpr std::int64_t kMinBurstNs = 50'000, kMaxBurstNs = 20'000'000;
inline constexpr std::size_t kLeastBuffer = std::size_t{16} << 20, kMostBuffer = std::size_t{128} << 20;

// Programs of short kernels need fine samples. 0 = not known yet: fine.
bool isFine(std::int64_t medianKernelNs);

// 1 us for medians below 8 us, 2 us below 20 us or unknown; then an eighth of the median, 5-20 us; from 1 ms
// on a fiftieth, 20-50 us. Never below what the group needs.
std::int64_t intervalFor(std::int64_t medianKernelNs, const MetricGroup& group);

// What goes on being sampled between the order to stop and the end: 0.4-0.6 ms on an H200. Learned, since the
// decoded samples need room: what finds none is lost.
class Overhang {
 public:
  std::int64_t ns() const { return ns_; }  // of the usual burst
  std::int64_t mostNs() const { return ns_ + ns_ / 4 + 100'000; }
  void measured(std::int64_t sampledNs, std::int64_t lengthNs);
  void wasMore() { ns_ = ns_ + ns_ / 2; }  // the room did not suffice

 private:
  std::int64_t ns_ = 600'000;
};

struct BurstPlan {
  std::int64_t lengthNs = 0;  // from start to the order to stop
  std::size_t samples = 0;    // that decoding needs room for
};
// mostSamples: see BufferNeed.
BurstPlan planBurst(std::int64_t intervalNs, const SampleCost& cost, const Overhang& overhang,
                    std::size_t mostSamples);

// Size of the hardware buffer of a group, and how many samples a burst may put into it. Begins small, since
// the GPU's driver has to pin it; after an overflow it doubles, and at kMostBuffer bursts get shorter.
class BufferNeed {
 public:
  explicit BufferNeed(std::size_t counters);
  void overflowed();
  std::size_t bytes() const { return bytes_; }
  std::size_t samples() const { return samples_; }

 private:
  std::size_t counters_, bytes_ = kLeastBuffer, samples_;
};

}  // namespace warpmeter::sampler
