// SPDX-License-Identifier: Apache-2.0
#include "burst_plan.h"

#include <algorithm>

namespace warpmeter::sampler {
namespace {

constexpr std::int64_t kVeryShortKernelNs = 8'000;
// Start and stop may take a fifth of a burst's CPU time. Shorter bursts waste it, longer ones come rarely.
constexpr double kFixedShare = 0.2;
constexpr double kFewSamples = 100, kManySamples = 4000;
constexpr std::size_t kSpareSamples = 32, kLeastSamples = 64;
// 512 MiB held 60 000 samples of six counters on an H200: 1.4 KB per counter. Twice that, to be on the safe
// side.
constexpr std::size_t kBytesPerCounter = 2'800, kUsualSamples = 600;

}  // namespace

bool isFine(std::int64_t medianKernelNs) { return medianKernelNs < kShortKernelNs; }

std::int64_t intervalFor(std::int64_t medianKernelNs, const MetricGroup& group) {
  std::int64_t interval = 2'000;
  if (medianKernelNs >= kLongKernelNs) {
    interval = std::clamp<std::int64_t>(medianKernelNs / 50, 20'000, 50'000);
  } else if (medianKernelNs >= kShortKernelNs) {
    interval = std::clamp<std::int64_t>(medianKernelNs / 8, 5'000, 20'000);
  } else if (medianKernelNs > 0 && medianKernelNs < kVeryShortKernelNs) {
    interval = 1'000;
  }
  return std::max(interval, group.minIntervalNs);
}

void Overhang::measured(std::int64_t sampledNs, std::int64_t lengthNs) {
  const std::int64_t over = std::max<std::int64_t>(0, sampledNs - lengthNs);
  ns_ = over > ns_ ? over : ns_ - (ns_ - over) / 16;
}

BurstPlan planBurst(std::int64_t intervalNs, const SampleCost& cost, const Overhang& overhang,
                    std::size_t mostSamples) {
  const double worth = cost.fixedNs() * (1 / kFixedShare - 1) / std::max(1.0, cost.perSampleNs());
  const auto samples = static_cast<std::int64_t>(std::clamp(worth, kFewSamples, kManySamples));
  BurstPlan plan;
  plan.lengthNs = std::clamp(samples * intervalNs - overhang.ns(), kMinBurstNs, kMaxBurstNs);
  const std::int64_t room = static_cast<std::int64_t>(mostSamples) * intervalNs - overhang.mostNs();
  plan.lengthNs = std::max(kMinBurstNs, std::min(plan.lengthNs, room));
  plan.samples = static_cast<std::size_t>((plan.lengthNs + overhang.mostNs()) / intervalNs) + kSpareSamples;
  return plan;
}

BufferNeed::BufferNeed(std::size_t counters) : counters_(std::max<std::size_t>(1, counters)) {
  while (bytes_ < kMostBuffer && bytes_ < kUsualSamples * counters_ * kBytesPerCounter) bytes_ *= 2;
  samples_ = bytes_ / (counters_ * kBytesPerCounter);
}

void BufferNeed::overflowed() {
  if (bytes_ < kMostBuffer) {
    bytes_ *= 2;
  } else {
    samples_ = std::max(kLeastSamples, samples_ / 2);
  }
}

}  // namespace warpmeter::sampler
