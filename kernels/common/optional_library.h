// SPDX-License-Identifier: Apache-2.0
// Libraries that stand beside a program's own kernels for comparison: opened when the variant runs, so that
// the program itself needs nothing but the driver.
#pragma once

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "common/report.h"

namespace warpmeter::kernels {

// One thread; never closed, because CUDA libraries leave threads and exit handlers behind.
class OptionalLibrary {
 public:
  // The first of sonames that the loader's own list (LD_LIBRARY_PATH, ldconfig) or the usual folder of the
  // toolkit has. name is what people call it.
  OptionalLibrary(std::string name, const std::vector<std::string>& sonames) : name_(std::move(name)) {
    std::vector<std::string> folders{""};
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      if (const char* home = std::getenv(variable); home != nullptr && *home != '\0') {
        folders.push_back(std::string(home) + "/lib64/");
      }
    }
    folders.push_back("/usr/local/cuda/lib64/");
    for (const std::string& folder : folders) {
      for (const std::string& soname : sonames) {
        tried_ += folder.empty() ? (tried_.empty() ? "" : ", ") + soname : "";
        handle_ = dlopen((folder + soname).c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle_ != nullptr) {
          return;
        }
      }
    }
  }

  explicit operator bool() const { return handle_ != nullptr; }

  // For a run that ends with nothing measured and exit code 0: the library is optional.
  void reportAbsence(Run& run) const {
    run.report.notice(name_ + ": not found (" + tried_ + "), nothing measured");
  }

  // to = the function of that name. Throws Failure{kExitFailed}: a library without it is not what it says.
  template <class Function>
  void load(Function*& to, const char* name) const {
    to = reinterpret_cast<Function*>(dlsym(handle_, name));
    if (to == nullptr) {
      throw Failure{kExitFailed, name_ + " has no function " + name};
    }
  }

 private:
  std::string name_;
  std::string tried_;
  void* handle_ = nullptr;
};

}  // namespace warpmeter::kernels
