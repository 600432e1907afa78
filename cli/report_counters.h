// SPDX-License-Identifier: Apache-2.0
// What counters say, as text: the header line, cells of the kernel table, the detail of one kernel.
#pragma once

#include <string>

#include "cli/report.h"

namespace warpmeter::cli {

// The counters and the bound of a distinct kernel; nullptr where the analysis has none.
const analyzer::KernelCounters* countersOf(const ReportData& data, std::uint32_t distinct);
const analyzer::KernelBound* boundOf(const ReportData& data, std::uint32_t distinct);

// "Counters   sampled in 2 us bursts, 23 of 23 kernels measured; ceilings ...", "" when there is nothing to
// say.
std::string countersHeaderText(const ReportData& data, const Style& style);

// "14.6 ±0.1 / 18.8"; possible: as in the table without counters.
std::string occupancyCell(const ReportData& data, const analyzer::FunctionSummary& function,
                          const std::string& possible);
std::string occupancyCell(const analyzer::Metric& achieved, const std::string& possible);
// "tensor   71 %", "launch   64/132 SMs", "—"; a question mark behind what is uncertain.
std::string boundCell(const ReportData& data, const analyzer::DistinctSummary& distinct);

// Why the table has "—" for achieved occupancy and bound, and what its signs mean; lines of their own.
std::string countersReasonText(const ReportData& data, const Style& style);

// "bound by DRAM (sure): 88 % of DRAM 4.21 TB/s, ...", "bound by: not measured, too few samples"; of any length.
std::string boundLine(const analyzer::KernelBound& bound);

// Every counter of a distinct kernel with interval, samples and provenance; bound, roofline point, ceilings.
std::string kernelCountersText(const ReportData& data, const analyzer::DistinctSummary& distinct,
                               const Style& style);

}  // namespace warpmeter::cli
