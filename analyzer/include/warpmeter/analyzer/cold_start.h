// SPDX-License-Identifier: Apache-2.0
// Where the time of a process went before its first kernel, and what each kernel function's first launch
// cost.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string_view>
#include <vector>

#include "warpmeter/analyzer/analysis.h"
#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::analyzer {

enum class ColdPhase : std::uint8_t {
  process,      // process start until the driver entered the recorder's library (inside cuInit)
  cuInit,       // from there until cuInit was finished
  context,      // calls in which a context was created
  moduleLoad,   // loading modules and libraries, without compiling
  jit,          // compiling PTX: only where a record says so
  firstLaunch,  // the launch call of the first kernel until it started
  host,         // the rest
};
std::string_view idOf(
    ColdPhase phase);  // "process", "cu_init", "context", "module_load", "jit", "first_launch", "host"
std::string_view textOf(ColdPhase phase);  // for people

struct ColdBar {
  ColdPhase phase = ColdPhase::host;
  std::optional<std::int64_t> ns;  // nullopt = not recorded (its time is in host then)
  std::int64_t count = 0;          // contexts, modules, compilations; 0 where it has no meaning
};

// One stretch of one phase, for drawing. Disjoint, in order, from beginNs to firstKernelNs without holes.
struct ColdPiece {
  ColdPhase phase = ColdPhase::host;
  std::int64_t startNs = 0, endNs = 0;
};

struct FirstLaunch {
  std::uint32_t function = 0;          // ProfileView::functions()
  std::uint32_t rowid = 0;             // launch id
  std::int64_t atNs = 0;               // start of the kernel
  std::optional<std::int64_t> hostNs;  // duration of the launching call; nullopt = not recorded
  std::int64_t gpuNs = 0;
  std::size_t laterLaunches = 0;
  std::optional<std::int64_t> laterHostNs, laterGpuNs;  // medians; nullopt below Limits::firstLaunchMinLater
};

struct ColdStart {
  std::uint32_t process = 0;  // ProfileView::processes()
  std::int64_t beginNs = 0;   // process start; else the first thing recorded of it
  bool beginKnown = false;    // beginNs is the process start
  std::int64_t beginUncertaintyNs = 0;
  std::int64_t firstKernelNs = 0;
  std::vector<ColdBar> bars;  // one per ColdPhase, in that order; add up to totalNs()
  std::vector<ColdPiece> pieces;
  std::vector<FirstLaunch> firstLaunches;  // by time
  std::int64_t totalNs() const { return firstKernelNs - beginNs; }
};

// One entry per process that ran a timed kernel, by process. Needs kernels and api, uses overheads.
Result<std::vector<ColdStart>> coldStartsOf(const ProfileView& view, const Limits& limits = {},
                                            std::stop_token stop = {});

}  // namespace warpmeter::analyzer
