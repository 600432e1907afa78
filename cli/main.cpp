// SPDX-License-Identifier: Apache-2.0
#include "cli/verbs.h"

int main(int argc, char** argv) { return warpmeter::cli::runCli({argv + 1, argv + argc}); }
