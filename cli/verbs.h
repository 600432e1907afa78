// SPDX-License-Identifier: Apache-2.0
// One function per verb; each returns the exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace warpmeter::cli {

int runRecord(const Arguments& arguments);
int runReport(const Arguments& arguments);
int runOccupancy(const Arguments& arguments);
int runDoctor(const Arguments& arguments);
int runCalibrate(const Arguments& arguments);
int runKernelsList(const Arguments& arguments);
int runKernelsRun(const Arguments& arguments);
int runKernelsSet(const Arguments& arguments);  // kernels run without a NAME
int runKernelsCompare(const Arguments& arguments);
int runKernelsTune(const Arguments& arguments);

// The whole program: `args` without its name.
int runCli(const std::vector<std::string>& args);

}  // namespace warpmeter::cli
