// SPDX-License-Identifier: Apache-2.0
// What is done once, when a recording has ended: indexes, WM_OVERVIEW, leaving WAL mode. All of it can be
// repeated and may be interrupted: each step is one transaction.
#pragma once

#include <chrono>
#include <filesystem>

#include "sqlite_db.h"
#include "warpmeter/profile/result.h"

namespace warpmeter {

Result<void> createIndexes(Db& db, const std::filesystem::path& path);
Result<void> writeOverview(Db& db, const std::filesystem::path& path);  // overview.cpp
Result<void> markFinished(Db& db, const std::filesystem::path& path);

// False: somebody else held the file for the whole `patience`; it stays in WAL mode, which is as good to
// read.
bool leaveWal(Db& db, std::chrono::milliseconds patience);

}  // namespace warpmeter
