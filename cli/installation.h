// SPDX-License-Identifier: Apache-2.0
// Where the other parts of Warpmeter lie: relative to the running program, the same in a build and installed.
#pragma once

#include <filesystem>

namespace warpmeter::cli {

struct Installation {
  std::filesystem::path prefix;  // the folder above bin/
  std::filesystem::path self() const { return prefix / "bin/warpmeter"; }
  std::filesystem::path recorder() const { return prefix / "libexec/warpmeter/warpmeter-recorder"; }
  std::filesystem::path sampler() const { return prefix / "libexec/warpmeter/warpmeter-sampler"; }
  std::filesystem::path calibrate() const { return prefix / "libexec/warpmeter/warpmeter-calibrate"; }
  std::filesystem::path injectLibrary() const { return prefix / "lib/warpmeter/libwarpmeter_inject.so"; }
  std::filesystem::path kernels() const { return prefix / "lib/warpmeter/kernels"; }
  std::filesystem::path kernelGroups() const { return prefix / "share/warpmeter/kernel_groups"; }  // lines "group name"
  std::filesystem::path references() const { return prefix / "share/warpmeter/references"; }
};

Installation installation();

}  // namespace warpmeter::cli
