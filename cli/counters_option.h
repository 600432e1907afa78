// SPDX-License-Identifier: Apache-2.0
// What --counters takes, and why it does not take the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace warpmeter::cli {

// The values that this version can record, as `choices` of the option table. Whatever is added here is offered by
// --help, docs/cli.md and the completion, and handed to the recorder as it is.
inline constexpr std::string_view kCountersChoices = "sample|exact|sample,exact|pc|none";
inline constexpr std::int64_t kMostLaunchesPerKernel = 100;
inline constexpr std::int64_t kLeastPcPeriod = 5, kMostPcPeriod = 31;  // CUPTI's

// For a value that is not among them: " (why)", or "" where there is nothing to say but the list.
std::string whyNoSuchCounters(std::string_view value);

// Whether a value that is among them asks for exact mode.
bool wantsExact(std::string_view value);
// What exact mode will cost, for the line before the run; metrics: basic or full.
std::string exactCost(std::string_view metrics, std::int64_t launchesPerKernel);

}  // namespace warpmeter::cli
