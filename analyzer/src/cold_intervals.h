// SPDX-License-Identifier: Apache-2.0
// What a recording says about the start of one process, phase by phase; phases may overlap here.
#pragma once

#include <array>

#include "src/intervals.h"
#include "warpmeter/analyzer/cold_start.h"

namespace warpmeter::analyzer {

struct ColdIntervals {
  struct Phase {
    std::vector<Interval> intervals;
    std::int64_t count = 0;
    bool recorded = false;  // an empty list means "did not happen", not "not known"
  };
  std::array<Phase, 7> phases;
  std::int64_t beginNs = 0;
  bool beginKnown = false;
  std::int64_t beginUncertaintyNs = 0;

  Phase& of(ColdPhase phase) { return phases[static_cast<std::size_t>(phase)]; }
  const Phase& of(ColdPhase phase) const { return phases[static_cast<std::size_t>(phase)]; }

  // firstCorrelation: of the first kernel, which started at untilNs.
  static ColdIntervals of(const ProfileView& view, std::uint32_t process, std::int64_t untilNs,
                          std::int64_t firstCorrelation);
};

}  // namespace warpmeter::analyzer
