// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdio>

#include "cli/exit_codes.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace warpmeter::cli {

int runCli(const std::vector<std::string>& args) {
  auto parsed = parseArguments(args);
  if (!parsed) return fail(parsed.error(), Verb::report);
  if (parsed->print) {
    std::fputs(parsed->print->c_str(), stdout);
    return kOk;
  }
  const Arguments& arguments = parsed->arguments;
  switch (arguments.verb) {
    case Verb::record:
      return runRecord(arguments);
    case Verb::report:
      return runReport(arguments);
    case Verb::occupancy:
      return runOccupancy(arguments);
    case Verb::doctor:
      return runDoctor(arguments);
    case Verb::kernelsList:
      return runKernelsList(arguments);
    case Verb::kernelsRun:
      return runKernelsRun(arguments);
    case Verb::count:
      break;
  }
  return kBadInput;
}

}  // namespace warpmeter::cli
