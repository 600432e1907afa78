// SPDX-License-Identifier: Apache-2.0
// What /proc and /sys say about processes, this machine and its clocks. Everything is best effort: a process may be
// gone at any moment, then the answer is empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warpmeter/profile/info.h"

namespace warpmeter::recorder {

struct ProcStat {
  std::int64_t parentPid = 0;
  std::int64_t startTicks = 0;      // since boot, in 1/ticksPerSecond
  std::int64_t processGroup = 0;
  char state = '?';
};

std::optional<ProcStat> readProcStat(std::int64_t pid);
std::vector<std::string> readArgv(std::int64_t pid);
std::string readThreadName(std::int64_t pid, std::int64_t tid);
std::string readSmallFile(const std::string& path);   // up to 64 KiB, "" on any error

// A name for people: last path component of argv[0]; of the script when argv[0] is an interpreter that runs one.
std::string processName(const std::vector<std::string>& argv);

std::int64_t ticksPerSecond();
std::int64_t realtimeNs();
ClockRow readClocks();                                 // the three clocks within a microsecond or so

// CLOCK_REALTIME of a start given in ticks since boot, by the clocks of this moment.
std::int64_t startRealtimeNs(std::int64_t startTicks, const ClockRow& now);

std::uint64_t memoryLimitBytes();                      // control group's limit or the machine's memory
std::string driverVersion();                           // "580.159.03", "" without the driver
std::string hostName();

}  // namespace warpmeter::recorder
