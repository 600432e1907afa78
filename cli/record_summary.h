// SPDX-License-Identifier: Apache-2.0
// The lines that `record` prints when the application has ended.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/app_process.h"
#include "warpmeter/wire/handshake.h"

namespace warpmeter::cli {

struct RecordedRun {
  std::string title;  // "train.py"
  AppEnd end;
  std::optional<wire::Summary> summary;  // nullopt: the recorder died
  std::filesystem::path file;
  bool driverMissing = false;  // libcuda is not installed on this machine
};

bool isComplete(const RecordedRun& run);

// Without the prefix "warpmeter: ". Only what is known.
std::vector<std::string> summaryLines(const RecordedRun& run);

// "GPU 0 H200 64 % busy, …" and "most time: …" out of the file; empty when it holds no kernel or is too large
// to be looked through between two prompts.
std::vector<std::string> highlights(const std::filesystem::path& file);

}  // namespace warpmeter::cli
