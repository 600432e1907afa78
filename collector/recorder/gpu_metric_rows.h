// SPDX-License-Identifier: Apache-2.0
// Samples as rows of GPU_METRICS, for people and programs that plot them: percentages, at most one row per metric and
// millisecond. A percentage is made only where its 100 % is known, and from sums: of both sides over the same samples.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "warpmeter/profile/counters.h"
#include "warpmeter/profile/info.h"
#include "warpmeter/profile/rows.h"

namespace warpmeter::recorder {

class GpuMetricRows {
 public:
  static constexpr std::int64_t kEveryNs = 1'000'000;

  // Adds the batch's rows, and the description of every metric that appears for the first time.
  // Batches of a GPU come in the order of time.
  void add(const GpuInfo& gpu, const SampleSetInfo& set, const SampleBatch& batch, std::vector<GpuMetricInfo>& metrics,
           std::vector<GpuMetricRow>& rows);

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> lastNs_;  // (typeId, metricId) -> last row
};

}  // namespace warpmeter::recorder
