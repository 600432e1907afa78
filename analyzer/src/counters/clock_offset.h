// SPDX-License-Identifier: Apache-2.0
// By how much the samples of a GPU carry later times than its activity records, from the data: the shift at
// which what ran explains the samples best.
#pragma once

#include <optional>

#include "src/counters/schedule.h"
#include "src/counters/series_view.h"

namespace warpmeter::analyzer {

struct ClockOffset {
  std::int64_t ns = 0;
  std::int64_t uncertaintyNs = 0;  // one standard deviation
};

// nullopt: the samples say nothing about it (no counter of SM work, or nothing ever begins or ends).
std::optional<ClockOffset> estimateClockOffset(const Schedule& schedule,
                                               const std::vector<SeriesView>& series, unsigned threads);

}  // namespace warpmeter::analyzer
