// SPDX-License-Identifier: Apache-2.0
// Loading a profile with progress for people who wait.
#pragma once

#include <filesystem>

#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::cli {

// Shows "loading 43 %" on stderr when it is a terminal and loading takes longer than half a second; the line
// is erased afterwards.
Result<analyzer::ProfileView> loadView(const std::filesystem::path& file, analyzer::Tables tables);

}  // namespace warpmeter::cli
