// SPDX-License-Identifier: Apache-2.0
// The program: options to window or picture, and the exit code (0, 2 bad input or usage, 3 --strict).
#pragma once

namespace warpmeter::gui {

int runApp(int argc, char** argv);

}  // namespace warpmeter::gui
