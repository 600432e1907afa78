// SPDX-License-Identifier: Apache-2.0
// Theoretical occupancy for people and as JSON.
#pragma once

#include <string>

#include "cli/json.h"
#include "cli/text.h"
#include "warpmeter/analyzer/occupancy.h"

namespace warpmeter::cli {

// The answer to one launch: occupancy, limiter, waves and tail, best block sizes, what-if table.
std::string occupancyText(const analyzer::DeviceLimits& device, const analyzer::KernelResources& kernel,
                          const analyzer::Occupancy& occupancy, const Style& style);
Json occupancyJson(const analyzer::Occupancy& occupancy);
Json occupancyAnswerJson(const analyzer::DeviceLimits& device, const analyzer::KernelResources& kernel,
                         const analyzer::Occupancy& occupancy);

// "block 128 instead of 192: 100 % instead of 75.0 %", or "" when no block size has more occupancy.
std::string betterBlocksLine(const analyzer::DeviceLimits& device, const analyzer::KernelResources& kernel,
                             const analyzer::Occupancy& occupancy);

}  // namespace warpmeter::cli
