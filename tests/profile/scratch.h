// SPDX-License-Identifier: Apache-2.0
// A folder of the test's own, removed at its end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace warpmeter::test {

class Scratch {
 public:
  Scratch() {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base && *base ? base : "/tmp") + "/warpmeter-test-XXXXXX";
    if (mkdtemp(name.data())) folder_ = name;
  }
  ~Scratch() {
    std::error_code error;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, error);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace warpmeter::test
