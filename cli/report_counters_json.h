// SPDX-License-Identifier: Apache-2.0
// Counters, bound and ceilings in report --json.
#pragma once

#include "cli/json.h"
#include "cli/report.h"

namespace warpmeter::cli {

Json countersJson(const ReportData& data);                   // how the run was measured
Json ceilingsJson(const ReportData& data, std::size_t gpu);  // null where they are not known
Json boundJson(const analyzer::KernelBound& bound);
// "counters" and "bound" of a distinct kernel.
void addCountersJson(Json& out, const ReportData& data, const analyzer::DistinctSummary& distinct);

}  // namespace warpmeter::cli
