// SPDX-License-Identifier: Apache-2.0
// WM_PROCESS.argv holds a command line as a shell would take it: arguments that need it in single quotes.
// splitCommandLine(joinCommandLine(a)) == a for every a.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace warpmeter {

std::string joinCommandLine(const std::vector<std::string>& argv);
std::vector<std::string> splitCommandLine(std::string_view text);

}  // namespace warpmeter
