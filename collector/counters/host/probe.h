// SPDX-License-Identifier: Apache-2.0
// The parts of the program that sample nothing for anybody: --probe and --list-sets.
#pragma once

#include "options.h"

namespace warpmeter::sampler {

// Standard output: one line of JSON per GPU {uuid, chip, available, reason, text, sets}; without any GPU one
// line with uuid and chip null. Opens, samples and closes a session for real. Exit code 0 when lines were
// printed.
int probeMain(const Options& options);

// Standard output: one line per group, its smallest interval and weights, then one per set with its counters.
// Exit code 2: unknown chip, 1: no usable CUPTI.
int listSetsMain(const Options& options);

}  // namespace warpmeter::sampler
