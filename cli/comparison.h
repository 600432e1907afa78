// SPDX-License-Identifier: Apache-2.0
// Kernels of a recording beside the bundled programs: the lines that `kernels compare` and `report` share.
#pragma once

#include <string>

#include "cli/report.h"

namespace warpmeter::cli {

// "reference copy vector: 99 % of DRAM 4.26 TB/s, reached to 67 %", or "no reference: ..."; never empty.
std::string referenceLine(const analyzer::KernelComparison& comparison);

// A section: one line for each kernel with a reference, and why others have none: all of them, or (brief)
// only for want of results of their GPU. "" when there is nothing to say.
std::string comparisonText(const ReportData& data, bool brief, const Style& style);

// The comparison of a function's longest running kernel; nullptr where there is none.
const analyzer::KernelComparison* comparisonOf(const ReportData& data, std::uint32_t distinct);
Json toJson(const analyzer::KernelComparison& comparison);

}  // namespace warpmeter::cli
