// SPDX-License-Identifier: Apache-2.0
// The running program: one thread reads orders and writes messages, one asks driver and CUPTI for the GPUs,
// one samples each GPU. The first never calls into CUPTI, so that a call that hangs cannot keep the program
// from ending.
#pragma once

#include "options.h"

namespace warpmeter::sampler {

// Until `end`, the end of standard input, SIGTERM, or until nothing can be sampled. Does not return: it
// leaves with _exit(0), past the driver's exit handlers and threads that hang.
[[noreturn]] void runSampler(const Options& options);

// Parses the arguments and does what they say.
int samplerMain(int argc, char** argv);

}  // namespace warpmeter::sampler
