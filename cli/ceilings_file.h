// SPDX-License-Identifier: Apache-2.0
// What `warpmeter calibrate` measured, kept for each GPU in the user's data folder:
// $XDG_DATA_HOME/warpmeter/ceilings.json, else ~/.local/share/warpmeter/ceilings.json.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/json.h"
#include "warpmeter/analyzer/bound.h"
#include "warpmeter/profile/result.h"

namespace warpmeter::cli {

// The answer of warpmeter-calibrate for one GPU. Rates: bytes/s, operations/s; nullopt = it could not be
// measured.
struct Calibration {
  int gpu = 0;  // CUDA ordinal when it was measured
  std::string uuid, name;
  std::string measured;  // when, UTC: "2026-12-01T11:52:03Z"
  std::int64_t copyBytes = 0;
  std::optional<double> dramBytesPerSec, fp32PerSec, fp64PerSec, tensorBf16PerSec;
};

Json toJson(const Calibration& calibration);
// nullopt: not an answer of warpmeter-calibrate.
std::optional<Calibration> calibrationFrom(const Json& json);

// Empty path: neither XDG_DATA_HOME nor HOME is set.
std::filesystem::path ceilingsFile();

// By UUID; no file means none. Errors: foreign when the file cannot be understood (a newer version, damage),
// io.
Result<std::vector<Calibration>> readCalibrations(const std::filesystem::path& file);

// Adds or replaces the GPU's entry; the folder is made. The file is replaced as a whole or not at all.
// Errors: io, noPermission; foreign as above (nothing is overwritten).
Result<void> keepCalibrations(const std::filesystem::path& file, const std::vector<Calibration>& measured);

// For the analyzer.
std::vector<analyzer::CalibratedGpu> calibratedGpus(const std::vector<Calibration>& calibrations);

}  // namespace warpmeter::cli
