// SPDX-License-Identifier: Apache-2.0
// The recorder's process: from its command line to its exit code.
#pragma once

namespace warpmeter::recorder {

// Returns 0 after a recording, 2 for wrong arguments, 125 when it could not start (the CLI was told why).
int recorderMain(int argc, char** argv);

}  // namespace warpmeter::recorder
