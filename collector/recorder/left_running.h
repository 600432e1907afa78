// SPDX-License-Identifier: Apache-2.0
// Processes of this run that outlive it. What they do later is in no file, and nobody would know.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace warpmeter::recorder {

struct LeftRunning {
  std::vector<std::string> processes;  // "4711 worker.py", by number
  bool all = true;                     // false: looking took too long, there may be more
};

// Processes of this user, apart from `known`, that were started with `socketPath` in WARPMETER_SOCKET. One that
// cleaned its environment is not found. Takes 50 ms at most.
LeftRunning findLeftRunning(std::string_view socketPath, const std::set<std::int64_t>& known);

// "2 processes still ran when the recording ended (4711 worker.py, 4712 sleep): what they do later is not recorded";
// "" when there are none.
std::string leftRunningText(const LeftRunning& left);

}  // namespace warpmeter::recorder
