// SPDX-License-Identifier: Apache-2.0
// Recordings made on a real GPU (tests/data/recordings/*.wm.sqlite.gz), unpacked for a test.
#pragma once

#include <filesystem>
#include <string>

#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::tests {

std::filesystem::path recordingsFolder();

// Unpacks NAME.wm.sqlite.gz (a path below that folder) into a file that lives as long as the object.
class UnpackedRecording {
 public:
  explicit UnpackedRecording(const std::string& name);
  ~UnpackedRecording();
  UnpackedRecording(const UnpackedRecording&) = delete;
  UnpackedRecording& operator=(const UnpackedRecording&) = delete;

  const std::filesystem::path& path() const { return path_; }
  analyzer::ProfileView view() const;  // throws std::runtime_error with the reader's message

 private:
  std::filesystem::path path_;
};

}  // namespace warpmeter::tests
