// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace warpmeter::gui {
namespace {

constexpr int kUsage = 2;
constexpr int kLeastPx = 400;
constexpr int kMostPx = 16384;

// "1600x900"; empty when it is not a size.
std::optional<QSize> sizeFrom(const std::string& text) {
  int width = 0, height = 0, used = 0;
  if (std::sscanf(text.c_str(), "%5dx%5d%n", &width, &height, &used) != 2) return std::nullopt;
  if (used != static_cast<int>(text.size())) return std::nullopt;
  const bool fits = width >= kLeastPx && height >= kLeastPx / 2 && width <= kMostPx && height <= kMostPx;
  return fits ? std::optional(QSize(width, height)) : std::nullopt;
}

}  // namespace

std::variant<Options, int> parseOptions(int argc, const char* const* argv) {
  Options options;
  std::string size;
  CLI::App app{"Shows a recording of CUDA work as a timeline", "warpmeter-gui"};
  app.set_version_flag("--version", "warpmeter-gui " WARPMETER_VERSION);
  app.add_option("FILE", options.file, "A Warpmeter file or an nsys .sqlite export")->required();
  app.add_option("--screenshot", options.screenshot,
                 "Write the window as a PNG to OUT and leave; needs no display")
      ->type_name("OUT");
  auto* sizeOption =
      app.add_option("--size", size, "Size of the window in pixels, default 1600x900")->type_name("WxH");
  app.add_option("--theme", options.theme, "light or dark; default: as the system")
      ->check(CLI::IsMember({"light", "dark"}))
      ->type_name("NAME");
  app.add_flag("--strict", options.strict, "With --screenshot: exit with 3 when the recording is incomplete");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::fprintf(stderr, "warpmeter-gui: %s; see warpmeter-gui --help\n", error.what());
    return kUsage;
  }
  if (sizeOption->count() > 0) {
    const auto parsed = sizeFrom(size);
    if (!parsed) {
      std::fprintf(stderr, "warpmeter-gui: --size %s is not a size: give WIDTHxHEIGHT, at least %dx%d\n",
                   size.c_str(), kLeastPx, kLeastPx / 2);
      return kUsage;
    }
    options.size = *parsed;
  }
  return options;
}

}  // namespace warpmeter::gui
