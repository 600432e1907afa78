// SPDX-License-Identifier: Apache-2.0
// Text -> ProfileView, by way of a file. A failure throws, which fails the test with the message.
#pragma once

#include <memory>
#include <stdexcept>
#include <string_view>

#include "support/profile_builder.h"
#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::support {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}
inline void must(Result<void> result) {
  if (!result) throw std::runtime_error(result.error().message);
}

inline analyzer::ProfileView viewOfFile(const std::filesystem::path& path,
                                        analyzer::Tables tables = analyzer::Tables::all) {
  auto reader = std::make_shared<const ProfileReader>(must(ProfileReader::open(path)));
  analyzer::LoadOptions options;
  options.tables = tables;
  return must(analyzer::ProfileView::load({std::move(reader)}, options));
}

inline analyzer::ProfileView viewOf(std::string_view text) {
  const TempDir dir;
  const auto path = dir.path() / "view.wm.sqlite";
  must(writeProfile(path, text));
  return viewOfFile(path);
}

}  // namespace warpmeter::support
