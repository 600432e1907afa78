// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "warpmeter/profile/result.h"

namespace warpmeter::sampler {

struct Options {
  std::string cupti;   // path; empty: look for it
  double cores = 0.5;  // CPU time per time, for each GPU
  int nice = 10;
  bool verbose = false;  // on standard error: what is measured, what it costs, every failure
  bool probe = false;    // one line of JSON per GPU, then end
  bool measure = false;  // tables of what CUPTI's calls cost on the first GPU, then end
  std::string listSets;  // chip: print its sets, then end
  bool help = false;
};

inline constexpr double kLeastCores = 0.01,
                        kMostCores = 16;  // one thread per GPU decodes: it cannot use more than 1

Result<Options> parseOptions(int argc, const char* const* argv);
std::string usageText();

}  // namespace warpmeter::sampler
