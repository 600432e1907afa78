// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/statistics.h"

#include <algorithm>
#include <numeric>

namespace warpmeter::analyzer {

std::int64_t medianOf(std::vector<std::int64_t>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const std::int64_t below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

DurationStats statsOf(std::vector<std::int64_t>& durations) {
  DurationStats out;
  if (durations.empty()) return out;
  const std::size_t n = durations.size();
  out.count = static_cast<std::int64_t>(n);
  out.totalNs = std::accumulate(durations.begin(), durations.end(), std::int64_t{0});
  const auto [lowest, highest] = std::minmax_element(durations.begin(), durations.end());
  out.minNs = *lowest;
  out.maxNs = *highest;
  out.medianNs = medianOf(durations);
  const auto rank = durations.begin() + static_cast<std::ptrdiff_t>((n * 95 + 99) / 100 - 1);
  std::nth_element(durations.begin(), rank, durations.end());
  out.p95Ns = *rank;
  return out;
}

}  // namespace warpmeter::analyzer
