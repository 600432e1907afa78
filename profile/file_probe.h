// SPDX-License-Identifier: Apache-2.0
// Says what a file is, and how SQLite has to open it, before anything is read from it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "file_system.h"
#include "warpmeter/profile/reader.h"
#include "warpmeter/profile/result.h"

namespace warpmeter {

struct OpenedFile {
  std::string uri;  // for sqlite3_open_v2 with SQLITE_OPEN_URI
  int flags = 0;
  std::optional<TemporaryCopy> copy;  // what uri points to, where the original could not be read in place
  FileKind kind = FileKind::warpmeter;
};

// Errors: see ProfileReader::open.
Result<OpenedFile> probeFile(const std::filesystem::path& path);

}  // namespace warpmeter
