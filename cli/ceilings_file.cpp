// SPDX-License-Identifier: Apache-2.0
#include "cli/ceilings_file.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/data_folder.h"

namespace warpmeter::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "warpmeter.ceilings";

std::optional<double> rateIn(const Json& json, const char* key) {
  const auto it = json.find(key);
  if (it == json.end() || !it->is_number()) return std::nullopt;
  const double value = it->get<double>();
  return std::isfinite(value) && value > 0 ? std::optional(value) : std::nullopt;
}

std::string textIn(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : "";
}

}  // namespace

Json toJson(const Calibration& c) {
  return Json{{"gpu", c.gpu},
              {"uuid", c.uuid},
              {"name", c.name},
              {"measured", c.measured},
              {"copyBytes", c.copyBytes},
              {"dramBytesPerSec", orNull(c.dramBytesPerSec)},
              {"fp32PerSec", orNull(c.fp32PerSec)},
              {"fp64PerSec", orNull(c.fp64PerSec)},
              {"tensorBf16PerSec", orNull(c.tensorBf16PerSec)}};
}

std::optional<Calibration> calibrationFrom(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  Calibration c;
  c.uuid = textIn(json, "uuid");
  c.name = textIn(json, "name");
  c.measured = textIn(json, "measured");
  if (const auto it = json.find("gpu"); it != json.end() && it->is_number_integer()) c.gpu = it->get<int>();
  if (const auto it = json.find("copyBytes"); it != json.end() && it->is_number_integer())
    c.copyBytes = it->get<std::int64_t>();
  c.dramBytesPerSec = rateIn(json, "dramBytesPerSec");
  c.fp32PerSec = rateIn(json, "fp32PerSec");
  c.fp64PerSec = rateIn(json, "fp64PerSec");
  c.tensorBf16PerSec = rateIn(json, "tensorBf16PerSec");
  return c.uuid.empty() || !c.dramBytesPerSec ? std::nullopt : std::optional(std::move(c));
}

fs::path ceilingsFile() {
  const auto folder = dataFolder();
  return folder.empty() ? folder : folder / "ceilings.json";
}

Result<std::vector<Calibration>> readCalibrations(const fs::path& file) {
  std::vector<Calibration> out;
  const auto gpus = gpusKeptIn(file, kSchema, "calibrate", "calibrate again");
  if (!gpus) return gpus.error();
  for (const auto& gpu : *gpus)
    if (auto c = calibrationFrom(gpu)) out.push_back(std::move(*c));
  return out;
}

Result<void> keepCalibrations(const fs::path& file, const std::vector<Calibration>& measured) {
  if (file.empty())
    return Error{ErrorKind::io, "nowhere to keep the result: neither HOME nor XDG_DATA_HOME is set"};
  auto all = readCalibrations(file);
  if (!all) return all.error();
  for (const auto& m : measured) {
    std::erase_if(*all, [&](const Calibration& c) { return c.uuid == m.uuid; });
    all->push_back(m);
  }
  Json json{{"schema", kSchema}, {"version", 1}, {"gpus", Json::array()}};
  for (const auto& c : *all) json["gpus"].push_back(toJson(c));
  return replaceFile(file, printed(json));
}

std::vector<analyzer::CalibratedGpu> calibratedGpus(const std::vector<Calibration>& calibrations) {
  std::vector<analyzer::CalibratedGpu> out;
  for (const auto& c : calibrations) {
    analyzer::CalibratedGpu gpu{c.uuid, {}};
    const auto add = [&](const char* kind, const std::optional<double>& value) {
      if (value) gpu.values.push_back({0, kind, *value, "calibrated"});
    };
    add("dram", c.dramBytesPerSec);
    add("fp32", c.fp32PerSec);
    add("fp64", c.fp64PerSec);
    add("tensor.bf16", c.tensorBf16PerSec);
    out.push_back(std::move(gpu));
  }
  return out;
}

}  // namespace warpmeter::cli
