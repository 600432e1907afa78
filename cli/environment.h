// SPDX-License-Identifier: Apache-2.0
// Environments of the processes that we start, and who else put himself into ours.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace warpmeter::cli {

using Variables = std::map<std::string, std::string>;

// The environment of this process with `changes`; a name with nullopt is left out. "NAME=value" strings.
std::vector<std::string> changedEnvironment(const std::map<std::string, std::optional<std::string>>& changes);

// For the recorder: only what it needs. No injection, preload or device selection of the application reaches
// it, or its own use of the driver would load the injected library again.
std::vector<std::string> recorderEnvironment();

// Pointers for exec; valid as long as `strings` lives unchanged.
std::vector<char*> pointersTo(std::vector<std::string>& strings);

// The tool that a path in an injection or preload variable belongs to: "NVIDIA Nsight Systems", else the
// path.
std::string ownerOf(const std::string& injectionPath);

// "" when unset.
std::string variable(const char* name);

}  // namespace warpmeter::cli
