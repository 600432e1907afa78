// SPDX-License-Identifier: Apache-2.0
// Order statistics of durations. Formulas: docs/metrics.md.
#pragma once

#include <cstdint>
#include <vector>

namespace warpmeter::analyzer {

// median: mean of the two middle values when count is even (rounded down); p95: nearest rank, ceil(0.95 n).
struct DurationStats {
  std::int64_t count = 0, totalNs = 0, medianNs = 0, minNs = 0, maxNs = 0, p95Ns = 0;
  std::int64_t meanNs() const { return count > 0 ? totalNs / count : 0; }
};

// Reorders durations.
DurationStats statsOf(std::vector<std::int64_t>& durations);
std::int64_t medianOf(std::vector<std::int64_t>& values);  // 0 when empty; reorders

}  // namespace warpmeter::analyzer
