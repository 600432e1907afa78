// SPDX-License-Identifier: Apache-2.0
#include "burst_plan.h"

#include <algorithm>

namespace warpmeter::sampler {
namespace {

constexpr std::int64_t kVeryShortKernelNs = 8'000;
// 512 MiB held 60 000 samples of three counters on an H200: 3 KB per counter. Twice that, to be on the safe
// side.
constexpr std::size_t kBytesPerCounter = 6'000;
constexpr std::int64_t kLeastCap = 256;

}  // namespace

bool isFine(std::int64_t medianKernelNs) { return medianKernelNs < kShortKernelNs; }

std::int64_t intervalFor(std::int64_t medianKernelNs, const MetricSet& set) {
  std::int64_t interval = 2'000;
  if (medianKernelNs >= kLongKernelNs) {
    interval = std::clamp<std::int64_t>(medianKernelNs / 50, 20'000, 50'000);
  } else if (medianKernelNs >= kShortKernelNs) {
    interval = std::clamp<std::int64_t>(medianKernelNs / 8, 5'000, 20'000);
  } else if (medianKernelNs > 0 && medianKernelNs < kVeryShortKernelNs) {
    interval = 1'000;
  }
  return std::max(interval, set.minIntervalNs);
}

BurstPlan planBurst(std::int64_t medianKernelNs, const MetricSet& set, const SampleCost& cost, double cores,
                    std::int64_t sampleCap) {
  BurstPlan plan;
  plan.intervalNs = intervalFor(medianKernelNs, set);
  const double payable = std::max(0.0, cores * static_cast<double>(kCycleNs) - cost.fixedNs());
  const double samples = std::min(payable / std::max(1.0, cost.perSampleNs()), 1e9);
  plan.lengthNs = static_cast<std::int64_t>(samples) * plan.intervalNs;
  // A cycle's money that lasts for more than the cycle: sample on, decode while it runs.
  if (plan.lengthNs >= kCycleNs) plan.lengthNs = kMaxBurstNs;
  plan.lengthNs = std::clamp(plan.lengthNs, kMinBurstNs, kMaxBurstNs);
  // Decoding empties the buffer once a slice.
  const std::int64_t room = sampleCap * plan.intervalNs;
  if (room < kSliceNs) plan.lengthNs = std::min(plan.lengthNs, room);
  return plan;
}

BufferCap::BufferCap(std::size_t bufferBytes, std::size_t columns)
    : cap_(std::max(kLeastCap, static_cast<std::int64_t>(
                                   bufferBytes / (kBytesPerCounter * std::max<std::size_t>(columns, 1))))),
      most_(2 * cap_) {}

void BufferCap::overflowed(std::int64_t wanted) {
  cap_ = std::max(kLeastCap, std::min(cap_, wanted) / 2);
  most_ = std::max(kLeastCap, std::min(most_, wanted * 3 / 4));
}

void BufferCap::went(std::int64_t samples) {
  if (samples * 10 >= cap_ * 9) cap_ = std::min(most_, cap_ + cap_ / 8);
}

}  // namespace warpmeter::sampler
