// SPDX-License-Identifier: Apache-2.0
// Which samples of a GPU may be used, and what they saw of each kind of work.
#pragma once

#include <stop_token>
#include <vector>

#include "src/counters/layout.h"
#include "src/counters/series_view.h"
#include "src/intervals.h"

namespace warpmeter::analyzer {

struct Sight {
  std::vector<KindSight> kinds;
  std::vector<std::vector<std::int64_t>> samplesOf;  // [series][kind]: usable samples that touched it
  std::int64_t samples = 0, dropped = 0,
               sampledNs = 0;  // of samples between the first and the last operation
  // Of samples in which the recording has nothing on the GPU, away from everything by more than the clock
  // uncertainty:
  std::int64_t idle = 0, foreign = 0;  // all of them; those with active SMs
  double foreignPct() const {
    return idle == 0 ? 0 : 100 * static_cast<double>(foreign) / static_cast<double>(idle);
  }
};

// Sets SeriesView::use and inner and returns what was seen. unknown: when work ran that the recording does
// not know (lost or untimed launches); such samples are neither idle nor anybody's. Samples within 2 ms of
// foreign work are dropped, up to the next idle sample without it.
Sight look(const Schedule& schedule, std::vector<SeriesView>& series, const IntervalSet& unknown,
           unsigned threads, std::stop_token stop = {});

// The same for each stride-th chunk of 512 samples, without dropping anything: enough to lay out a first fit.
std::vector<KindSight> glance(const Schedule& schedule, const std::vector<SeriesView>& series,
                              std::size_t stride);

}  // namespace warpmeter::analyzer
