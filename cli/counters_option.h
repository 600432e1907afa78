// SPDX-License-Identifier: Apache-2.0
// What --counters takes, and why it does not take the rest.
#pragma once

#include <string>
#include <string_view>

namespace warpmeter::cli {

// The values that this version can record, as `choices` of the option table. Whatever is added here is offered by
// --help, docs/cli.md and the completion, and handed to the recorder as it is.
inline constexpr std::string_view kCountersChoices = "sample|none";

// For a value that is not among them: " (why)", or "" where there is nothing to say but the list.
std::string whyNoSuchCounters(std::string_view value);

}  // namespace warpmeter::cli
