// SPDX-License-Identifier: Apache-2.0
// What people read about the command line, all of it made from the option table.
#pragma once

#include <string>

#include "cli/options.h"

namespace warpmeter::cli {

std::string overviewHelp();  // warpmeter --help
std::string verbHelp(const VerbSpec& verb);
std::string markdownHelp();    // docs/cli.md
std::string bashCompletion();  // share/bash-completion/completions/warpmeter

}  // namespace warpmeter::cli
