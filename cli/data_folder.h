// SPDX-License-Identifier: Apache-2.0
// The user's data folder, and files in it that are replaced as a whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "cli/json.h"
#include "warpmeter/profile/result.h"

namespace warpmeter::cli {

// $XDG_DATA_HOME/warpmeter, else ~/.local/share/warpmeter; empty: neither XDG_DATA_HOME nor HOME is set.
std::filesystem::path dataFolder();

// Errors: noPermission, io; with the file's name.
Error fileError(const std::filesystem::path& file, int number);

// Of a regular file of at most 16 MiB: these are written by us. Errors: as above, foreign.
Result<std::string> contentOf(const std::filesystem::path& file);

// The "gpus" of a document {"schema":schema,"version":1,"gpus":[..]} that one of our verbs wrote; an empty
// array when there is no such file. Errors: of contentOf, foreign: what `warpmeter verb` did not write has to
// be removed, and then remedy.
Result<Json> gpusKeptIn(const std::filesystem::path& file, std::string_view schema, std::string_view verb,
                        std::string_view remedy);

// The folder is made. Errors: as above; nothing is left behind.
Result<void> replaceFile(const std::filesystem::path& file, const std::string& content);

// "2026-12-01T11:52:03Z"
std::string utcNow();

}  // namespace warpmeter::cli
