// SPDX-License-Identifier: Apache-2.0
// The command line of warpmeter-gui.
#pragma once

#include <QSize>
#include <optional>
#include <string>
#include <variant>

namespace warpmeter::gui {

struct Options {
  std::string file;
  std::string screenshot;  // empty = a window
  QSize size{1600, 900};
  std::string theme;    // "light", "dark", empty = the system's
  bool strict = false;  // 3 when the recording is incomplete (with screenshot)
};

// The options, or the exit code when --help, --version or an error has been printed.
std::variant<Options, int> parseOptions(int argc, const char* const* argv);

}  // namespace warpmeter::gui
