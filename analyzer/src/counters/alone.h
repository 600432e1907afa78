// SPDX-License-Identifier: Apache-2.0
// Samples of a kernel that ran alone: whole stretches of its launches with nothing else near, so that neither
// ramp nor tail is left out and nothing of others is in the sums.
#pragma once

#include <array>
#include <stop_token>
#include <vector>

#include "src/counters/fit.h"
#include "src/counters/series_view.h"

namespace warpmeter::analyzer {

// One stretch, or a part of a long one.
struct AloneSums {
  double launches = 0, idleUs = 0;
  std::array<double, kRoles> count{};
};
using AloneStretches = std::vector<std::vector<AloneSums>>;  // by kind; neighbours are joined above 512

AloneStretches stretchesOf(const Schedule& schedule, const SeriesView& series, std::stop_token stop = {});

// numerator / denominator over stretches (empty denominator: per launch), what the idle GPU counts taken off.
Estimate ratioOf(const std::vector<AloneSums>& stretches, std::span<const Role> numerator,
                 std::span<const Role> denominator, const std::array<double, kRoles>& idlePerUs);

}  // namespace warpmeter::analyzer
