// SPDX-License-Identifier: Apache-2.0
// The findings bound.memory, bound.latency, tensor.idle, precision.fp64 and occupancy.grid-too-small.
#pragma once

#include <stop_token>

#include "warpmeter/analyzer/analysis.h"
#include "warpmeter/analyzer/bound.h"

namespace warpmeter::analyzer {

// Of kernels with at least Limits::boundMinSharePct of the kernel time. Pure. Savings: docs/metrics.md.
Findings boundFindings(const ProfileView& view, const KernelSummary& kernels, const CounterSummary& counters,
                       const BoundSummary& bounds, const Limits& limits);

// The same from the view alone: needs kernels, copies and counters. Errors: cancelled.
Result<Findings> findBounds(const ProfileView& view, const Limits& limits, std::stop_token stop);

}  // namespace warpmeter::analyzer
