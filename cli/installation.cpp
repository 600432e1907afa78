// SPDX-License-Identifier: Apache-2.0
#include "cli/installation.h"

#include <sys/auxv.h>

namespace warpmeter::cli {

Installation installation() {
  namespace fs = std::filesystem;
  std::error_code error;
  auto self = fs::read_symlink("/proc/self/exe", error);
  if (error) {  // a container without /proc: what the kernel was told to run
    const auto* given = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
    error.clear();
    self = given ? fs::canonical(given, error) : fs::path();
  }
  return Installation{error || self.empty() ? fs::path("/usr/local") : self.parent_path().parent_path()};
}

}  // namespace warpmeter::cli
