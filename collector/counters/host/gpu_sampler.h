// SPDX-License-Identifier: Apache-2.0
// Samples one GPU: burst after burst, groups of counters in turn, within a CPU budget, until told to end.
// Runs in a thread of its own; everything it says goes to the sink.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "batch_encoder.h"
#include "burst_plan.h"
#include "cpu_budget.h"
#include "group_turns.h"
#include "metric_sets.h"
#include "pm_device.h"
#include "reasons.h"
#include "sampler_clock.h"
#include "set_rotation.h"

namespace warpmeter::sampler {

struct GpuSamplerOptions {
  double cores = 0.5;
  bool verbose = false;
  bool links = true;  // the GPU may have an NVLink that is up
};

// What the sampler said about itself, for --verbose and tests.
struct GpuSamplerStats {
  std::uint64_t bursts = 0, changes = 0, overflows = 0, full = 0, failures = 0, samples = 0;
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
    std::uint32_t number;  // on the wire
    SampleCost cost;
    std::uint64_t bursts = 0, samples = 0;
    int empty = 0;  // bursts in a row that gave nothing
  };
  struct Group {
    MetricGroup metrics;
    BufferNeed buffer;
    std::vector<Set> sets;
    SetRotation rotation;
  };

  void addGroup(MetricGroup metrics);
  void loadAllGroups();
  // False: the GPU has to be given up.
  bool step();
  bool openPatiently();
  void pausedUntilTold();
  void chooseGroup();
  PmStatus configure(std::int64_t fromNs);
  PmStatus burst();
  void hole(std::int64_t fromNs, std::int64_t toNs, const char* why);
  void gaveNothing(std::size_t index);
  bool recover(const PmStatus& status);
  std::int64_t newlySpentNs();
  void waitForBudget();
  void tellStats() const;

  const std::uint32_t gpu_;
  PmDevice& device_;
  MetricHost& host_;
  MessageSink& sink_;
  SamplerClock& clock_;
  const GpuSamplerOptions options_;
  const std::function<Unavailable(const PmStatus&)> explain_;

  std::deque<Group> groups_;  // a device keeps the addresses of their metrics
  bool allGroups_ = false, open_ = false, configured_ = false;
  std::size_t group_ = 0;
  std::int64_t intervalNs_ = 0;
  std::uint32_t sets_ = 0;
  GroupTurns turns_;
  Overhang overhang_;
  CpuBudget budget_;
  BatchEncoder encoder_;
  SampleBlock block_;
  std::int64_t spentNs_ = 0;  // accounted so far
  int failuresInRow_ = 0;
  GpuSamplerStats stats_;
};

}  // namespace warpmeter::sampler
