// SPDX-License-Identifier: Apache-2.0
// Samples one GPU: burst after burst, sets in rotation, within a CPU budget, until told to end. Runs in a
// thread of its own; everything it says goes to the sink.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "batch_encoder.h"
#include "burst_plan.h"
#include "cpu_budget.h"
#include "metric_sets.h"
#include "pm_device.h"
#include "reasons.h"
#include "sampler_clock.h"
#include "set_rotation.h"

namespace warpmeter::sampler {

struct GpuSamplerOptions {
  double cores = 0.5;
  std::size_t hardwareBufferBytes = 0;
  bool verbose = false;
};

// What the sampler said about itself, for --verbose and tests.
struct GpuSamplerStats {
  std::uint64_t bursts = 0, overflows = 0, failures = 0, samples = 0;
};

class GpuSampler {
 public:
  // explain: a failure in words. The device, sink, clock and host outlive this object.
  GpuSampler(std::uint32_t gpu, PmDevice& device, MetricHost& host, MessageSink& sink, SamplerClock& clock,
             GpuSamplerOptions options, std::function<Unavailable(const PmStatus&)> explain);

  // Until Order::end, or until the GPU turns out to be unavailable (said to the sink).
  void run();
  const GpuSamplerStats& stats() const { return stats_; }

 private:
  struct Set {
    MetricSet metrics;
    SampleCost cost;
    BufferCap cap;
    bool announced = false;
  };

  bool loadFirstSet();
  void loadAllSets();
  void addSet(MetricSet metrics);
  bool openPatiently();
  void pausedUntilTold();
  std::size_t nextSet();
  // False: the GPU has to be given up.
  bool burst();
  PmStatus sampleFor(Set& set, const BurstPlan& plan);
  PmStatus decodeAll(Set& set, bool stopped);
  bool recover(const PmStatus& status);
  void account();
  void waitForBudget();

  const std::uint32_t gpu_;
  PmDevice& device_;
  MetricHost& host_;
  MessageSink& sink_;
  SamplerClock& clock_;
  const GpuSamplerOptions options_;
  const std::function<Unavailable(const PmStatus&)> explain_;

  std::deque<Set> sets_;  // a device keeps the addresses of their metrics
  bool allSets_ = false, open_ = false;
  SetRotation fineRotation_, coarseRotation_;
  CpuBudget budget_;
  BatchEncoder encoder_;
  SampleBlock block_;
  std::size_t configured_ = 0;  // set and interval that the device has
  std::int64_t configuredNs_ = 0;
  std::int64_t spentNs_ = 0;  // accounted so far
  std::uint64_t burstSamples_ = 0;
  std::int64_t decodeNs_ = 0;  // CPU time of this burst's decoding
  bool overflow_ = false, drained_ = false;
  int failuresInRow_ = 0, overflowsInRow_ = 0;
  GpuSamplerStats stats_;
};

}  // namespace warpmeter::sampler
