// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace warpmeter::cli {

Result<analyzer::ProfileView> loadView(const std::filesystem::path& file, analyzer::Tables tables) {
  auto reader = ProfileReader::open(file);
  if (!reader) return std::move(reader).error();

  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  int shown = -1;
  analyzer::LoadOptions options;
  options.tables = tables;
  options.progress = [&](double fraction) {
    const int percent = static_cast<int>(fraction * 100);
    if (!terminal || percent >= 100 || percent == shown ||
        Clock::now() - begin < std::chrono::milliseconds(500))
      return;
    shown = percent;
    std::fprintf(stderr, "\rloading %d %%", percent);
  };
  auto view =
      analyzer::ProfileView::load({std::make_shared<const ProfileReader>(std::move(*reader))}, options);
  if (shown >= 0) std::fputs("\r\x1b[K", stderr);
  return view;
}

}  // namespace warpmeter::cli
