// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>

#include "cli/exit_codes.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace warpmeter::cli {

namespace {

int runVerb(const Arguments& arguments) {
  switch (arguments.verb) {
    case Verb::record:
      return runRecord(arguments);
    case Verb::report:
      return runReport(arguments);
    case Verb::occupancy:
      return runOccupancy(arguments);
    case Verb::doctor:
      return runDoctor(arguments);
    case Verb::calibrate:
      return runCalibrate(arguments);
    case Verb::kernelsList:
      return runKernelsList(arguments);
    case Verb::kernelsRun:
      return runKernelsRun(arguments);
    case Verb::kernelsCompare:
      return runKernelsCompare(arguments);
    case Verb::kernelsTune:
      return runKernelsTune(arguments);
    case Verb::count:
      break;
  }
  return kBadInput;
}

}  // namespace

int runCli(const std::vector<std::string>& args) {
  auto parsed = parseArguments(args);
  if (!parsed) return fail(parsed.error(), Verb::report);
  int code = kOk;
  if (parsed->print) {
    std::fputs(parsed->print->c_str(), stdout);
  } else {
    code = runVerb(parsed->arguments);
    if (parsed->arguments.verb == Verb::record) return code;  // the application's own, whatever became of stdout
  }
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("warpmeter: the output could not be written: stdout is closed or full\n", stderr);
  return code == kOk ? kBadInput : code;
}

}  // namespace warpmeter::cli
