// SPDX-License-Identifier: Apache-2.0
// Profiles written as text, and what the report says about them, beside each other in tests/cli/golden.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace warpmeter::cli::testing {

inline std::string contentOf(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(WARPMETER_SOURCE_DIR) / "tests/cli/golden" / name;
}

// The expected text. With WARPMETER_UPDATE_GOLDEN=1 it is written first: look at the difference before
// committing.
inline std::string expected(const std::string& name, const std::string& actual) {
  if (std::getenv("WARPMETER_UPDATE_GOLDEN")) std::ofstream(golden(name)) << actual;
  return contentOf(golden(name));
}

}  // namespace warpmeter::cli::testing
