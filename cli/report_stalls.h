// SPDX-License-Identifier: Apache-2.0
// Why warps wait, as text and JSON: of the longest running functions together, and of one in full.
#pragma once

#include <string>

#include "cli/report.h"

namespace warpmeter::cli {

// How the run was sampled: "PC samples: 1 234 567 ..."; "" when it was not.
std::string pcHeaderText(const ReportData& data);

// The section of the report; "" without PC samples.
std::string stallsText(const ReportData& data, const ReportOptions& options, const Style& style);

// Everything about one function; one line with the remedy when there is nothing.
std::string functionStallsText(const ReportData& data, const analyzer::FunctionSummary& function,
                               const Style& style);

Json pcSamplesJson(const ReportData& data);  // of the run
Json stallsJson(const ReportData& data,
                const analyzer::FunctionSummary& function);  // null without PC samples

}  // namespace warpmeter::cli
