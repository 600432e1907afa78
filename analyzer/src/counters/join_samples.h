// SPDX-License-Identifier: Apache-2.0
// Fewer samples that say the same: neighbours that lie inside one launch, away from its edges, become one.
#pragma once

#include <optional>

#include "src/counters/series_view.h"

namespace warpmeter::analyzer {

// Up to six samples are left of the inside of a launch, as many as a fit gives it rates. Sums are kept, and
// with them all totals. nullopt where it would not save at least a third. Needs SeriesView::use and inner.
std::optional<SampleSeries> joinSamples(const SeriesView& series, std::vector<SampleUse>& use);

}  // namespace warpmeter::analyzer
