// SPDX-License-Identifier: Apache-2.0
// What `occupancy FILE --kernel NAME` shows: the recorded launches of some functions, each shape once, with
// what bounds it where the file has counters.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "cli/json.h"
#include "cli/report.h"

namespace warpmeter::cli {

// "blocks of 256 threads, 32 registers, 0 B static and 0 B dynamic shared memory".
std::string launchLine(const analyzer::KernelResources& kernel);

// `functions`: indices into data.kernels.functions. Of more than three shapes of a function the text has the
// longest running only, the JSON all whose occupancy can be computed ("bound": null in a file without
// counters).
std::string launchesText(const ReportData& data, std::span<const std::size_t> functions, const Style& style);
Json launchesJson(const ReportData& data, std::span<const std::size_t> functions);

}  // namespace warpmeter::cli
