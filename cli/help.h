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

// `warpmeter --completion-kernels [NAME]`, called by the completion: the bundled programs, or the variants of NAME;
// one a line, nothing where there are none.
inline constexpr char kCompletionKernels[] = "--completion-kernels";
std::string completedKernels(const std::string& program);

}  // namespace warpmeter::cli
