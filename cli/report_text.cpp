// SPDX-License-Identifier: Apache-2.0
#include "cli/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "cli/text.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

std::set<std::uint32_t> usedGpus(const analyzer::ProfileView& view) {
  std::set<std::uint32_t> used;
  for (const auto& lane : view.streams())
    if (lane.gpu != analyzer::kNone && (!lane.kernels.empty() || !lane.copies.empty())) used.insert(lane.gpu);
  return used;
}

std::string withoutVendor(const std::string& name) {
  for (std::string_view vendor : {"NVIDIA GeForce ", "NVIDIA "})
    if (name.starts_with(vendor)) return name.substr(vendor.size());
  return name;
}

std::string threeDigits(double value) {
  return fmt::format("{:.{}f}", value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

std::string detailsOf(const GpuInfo& gpu, const std::string& driver) {
  std::vector<std::string> parts;
  if (!isNull(gpu.computeMajor))
    parts.push_back(
        fmt::format("cc {}.{}", gpu.computeMajor, isNull(gpu.computeMinor) ? 0 : gpu.computeMinor));
  if (!isNull(gpu.smCount)) parts.push_back(fmt::format("{} SMs", gpu.smCount));
  if (!driver.empty()) parts.push_back("driver " + harmless(driver));
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

}  // namespace

std::string runTime(std::int64_t ns) {
  return std::llabs(ns) >= 1'000'000'000 ? fmt::format("{:.2f} s", static_cast<double>(ns) / 1e9)
                                         : analyzer::formatTime(ns);
}

TimeScale::TimeScale(std::int64_t largestNs) {
  const auto largest = static_cast<double>(std::llabs(largestNs));
  divisor_ = largest >= 1e9 ? 1e9 : largest >= 1e6 ? 1e6 : largest >= 1e3 ? 1e3 : 1;
  unit_ = largest >= 1e9 ? "s" : largest >= 1e6 ? "ms" : largest >= 1e3 ? "us" : "ns";
  decimals_ = divisor_ == 1 ? 0 : largest / divisor_ >= 100 ? 1 : 2;
}

std::string TimeScale::bare(std::int64_t ns) const {
  return fmt::format("{:.{}f}", static_cast<double>(ns) / divisor_, decimals_);
}

std::string TimeScale::operator()(std::int64_t ns) const { return bare(ns) + " " + unit_; }

std::string gpuNames(const analyzer::ProfileView& view) {
  const auto used = usedGpus(view);
  if (used.size() != 1) return used.empty() ? "GPU" : fmt::format("{} GPUs", used.size());
  const auto& info = view.gpus()[*used.begin()].info;
  return info.name.empty() ? fmt::format("GPU {}", info.id)
                           : fmt::format("GPU {} {}", info.id, withoutVendor(harmless(info.name)));
}

std::string gpuTitle(const analyzer::ProfileView& view) {
  std::map<std::string, int> titles;
  const auto& sources = view.sources();
  const std::string driver = sources.empty() ? "" : sources[0].session.driverVersion;
  std::size_t unnamed = 0;
  for (const auto index : usedGpus(view)) {
    const auto& gpu = view.gpus()[index];
    if (gpu.info.name.empty())
      ++unnamed;
    else
      ++titles[harmless(gpu.info.name) + detailsOf(gpu.info, driver)];
  }
  std::vector<std::string> parts;
  for (const auto& [title, count] : titles)
    parts.push_back(count > 1 ? fmt::format("{} x {}", count, title) : title);
  if (unnamed > 0)
    parts.push_back(counted(static_cast<std::int64_t>(unnamed), "GPU") + " (not described in the file)");
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string shapeOf(const analyzer::LaunchConfig& config) {
  const auto grid = analyzer::formatDims(config.grid), block = analyzer::formatDims(config.block);
  const bool flat = grid.find(',') == std::string::npos && block.find(',') == std::string::npos;
  const auto cluster = config.clusterBlocks() > 1 ? ", cluster " + analyzer::formatDims(config.cluster) : "";
  return fmt::format("<{}{}{}{}>", grid, flat ? "x" : " x ", block, cluster);
}

std::string operationsText(double perSec) {
  return fmt::format("{} TFLOP/s", threeDigits(perSec / 1e12));
}

std::string ceilingsText(const analyzer::Ceilings& c) {
  std::string operations;
  const auto add = [&](const char* name, double perSec) {
    if (perSec > 0) operations += fmt::format(", {} {}", name, threeDigits(perSec / 1e12));
  };
  add("FP32", c.fp32PerSec);
  add("FP64", c.fp64PerSec);
  add("BF16 tensor", c.tensorBf16PerSec);
  if (!operations.empty()) operations += " TFLOP/s";
  if (c.dramBytesPerSec > 0) return "DRAM " + analyzer::formatRate(c.dramBytesPerSec) + operations;
  return operations.empty() ? "" : operations.substr(2);
}

std::string shellQuoted(const std::string& word) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+=@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

double shareOf(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace warpmeter::cli
