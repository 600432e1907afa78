// SPDX-License-Identifier: Apache-2.0
#include "cli/installation.h"

namespace warpmeter::cli {

Installation installation() {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return Installation{error ? std::filesystem::path("/usr/local") : self.parent_path().parent_path()};
}

}  // namespace warpmeter::cli
