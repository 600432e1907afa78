// SPDX-License-Identifier: Apache-2.0
// What `warpmeter kernels run` measured, kept for each GPU in the user's data folder (references.json), and
// the results that ship for some models (share/warpmeter/references/*.json). Both have the same form,
// docs/references.schema.json; shipped ones have no UUID.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/json.h"
#include "cli/kernel_programs.h"

namespace warpmeter::cli {

struct GpuReferences {
  std::string uuid, name;
  std::string measured;  // when it was measured last, UTC
  std::vector<analyzer::ReferenceResult> results;
};

// Empty: neither XDG_DATA_HOME nor HOME is set.
std::filesystem::path referencesFile();

// No file means none. Errors: foreign when it cannot be understood (a newer version, damage), io.
Result<std::vector<GpuReferences>> readReferences(const std::filesystem::path& file);

// Adds the GPU or replaces results of the same program and variant; others of that GPU stay unless `listed`
// (names as "program variant") lacks them: programs come and go. The file is replaced as a whole or not at
// all. Errors: io, noPermission; foreign as above (nothing is overwritten).
Result<void> keepReferences(const std::filesystem::path& file, const GpuReferences& measured,
                            const std::vector<std::string>& listed);

// Kept and shipped ones for the analyzer. `complaint`: one line about each file that cannot be understood.
std::vector<analyzer::ReferenceSet> knownReferences(std::vector<std::string>& complaints);

}  // namespace warpmeter::cli
