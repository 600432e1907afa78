// SPDX-License-Identifier: Apache-2.0
// What the window says about one kernel function: its times, its main size, occupancy, why its warps wait.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/profile_loader.h"

namespace warpmeter::gui {

struct KernelDetails {
  std::string name;  // demangled, in full
  std::vector<std::pair<std::string, std::string>> lines;
};

// Of `function`, or of the one that takes most time when it is kNone; empty without kernels or summary.
KernelDetails kernelDetails(const LoadedProfile& profile, std::uint32_t function = analyzer::kNone);

}  // namespace warpmeter::gui
