// SPDX-License-Identifier: Apache-2.0
// --measure: the numbers that burst_plan.h and group_turns.h rest on, measured again on this machine.
#pragma once

#include "options.h"

namespace warpmeter::sampler {

// Standard output: tables. Exit code 1: no usable CUPTI or GPU.
int measureMain(const Options& options);

}  // namespace warpmeter::sampler
