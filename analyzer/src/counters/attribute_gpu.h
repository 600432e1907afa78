// SPDX-License-Identifier: Apache-2.0
// The samples of one GPU -> metrics of its kernels.
#pragma once

#include <optional>
#include <stop_token>
#include <vector>

#include "src/counters/clock_offset.h"
#include "src/counters/sight.h"

namespace warpmeter::analyzer {

struct GpuWork {
  Schedule schedule;
  std::vector<SeriesView> series;
  IntervalSet unknown;           // when launches ran that are not in the schedule
  bool unknownAnywhere = false;  // launches were lost at times that are not known
  double maxWarpsPerSm = 0;      // 0: not known
  double memoryBytesPerNs = 0;   // what the GPU's memory can move; 0: not known
  unsigned threads = 0;
};

struct GpuMetrics {
  std::optional<ClockOffset> clock;
  Sight sight;
  bool shared = false;                  // more than 20 % foreign
  std::vector<KernelCounters> kernels;  // by kind of the schedule; `distinct` is not filled
};

// work.series must not be used behind it: what they show is shortened. Metrics whose counters no set has are
// left as missing(notRecorded).
GpuMetrics attributeGpu(GpuWork& work, std::stop_token stop = {});

// What a form makes of numerator / denominator; durationNs of a launch.
double scaleOf(const MetricForm& form, double maxWarpsPerSm, double durationNs);
// The roles that are set, in order.
std::vector<Role> listed(const std::array<Role, 2>& roles);

}  // namespace warpmeter::analyzer
