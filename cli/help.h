// SPDX-License-Identifier: Apache-2.0
// What people read about the command line, all of it made from the option table.
#pragma once

#include <string>

#include "cli/options.h"

namespace warpmeter::cli {

std::string overviewHelp();               // warpmeter --help
std::string verbHelp(const VerbSpec& verb);
std::string markdownHelp();               // docs/cli.md
std::string bashCompletion();             // share/bash-completion/completions/warpmeter

// Breaks `text` at spaces so that no line is longer than `width`; lines after the first begin with `indent` spaces.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace warpmeter::cli
