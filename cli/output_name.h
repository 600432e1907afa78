// SPDX-License-Identifier: Apache-2.0
// Names of the application and of its recording.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "warpmeter/profile/result.h"

namespace warpmeter::cli {

// What people call the program: its file name; for an interpreter the script's, without ending or folder
// ("python -u train.py" -> "train", "python -m pkg.mod" -> "pkg.mod").
std::string applicationName(const std::vector<std::string>& command);
// The same with the script's ending: "train.py".
std::string applicationTitle(const std::vector<std::string>& command);

// ./NAME.wm.sqlite, then NAME.2.wm.sqlite ...: the first that does not exist.
std::filesystem::path freeOutput(const std::string& name);

// The program file that exec would run. Errors: notFound (exit 127), noPermission or isDirectory (126).
Result<std::filesystem::path> findProgram(const std::string& name);

}  // namespace warpmeter::cli
