// SPDX-License-Identifier: Apache-2.0
// What recording adds to the counts of a kernel. CUPTI's kernel tracing lets every warp execute instructions
// of its own, which the counters count like the kernel's.
#pragma once

#include "warpmeter/analyzer/metric.h"
#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::analyzer {

// Warp instructions of a launch, or of several on average.
struct Added {
  double known = 0;     // measured for this chip and CUPTI: taken off
  double possible = 0;  // not measured: the true value may be lower by so much
  void add(const Added& other) { known += other.known, possible += other.possible; }
  Added over(double launches) const { return {known / launches, possible / launches}; }
};

Added addedInstructions(const GpuInfo& gpu, const ProcessInfo& process, const LaunchConfig& config);

// Instructions per launch as the kernel has them without being traced. A metric without interval gets none.
Metric without(const Added& added, const Metric& instructions);

}  // namespace warpmeter::analyzer
