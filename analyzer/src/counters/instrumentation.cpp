// SPDX-License-Identifier: Apache-2.0
#include "src/counters/instrumentation.h"

#include <algorithm>

namespace warpmeter::analyzer {
namespace {

// Per warp, on an H200 with driver 580.159 and CUPTI 13.0.1: ranges around single launches count 33.00 for
// saxpy, which has 25.00 without tracing (docs/accuracy.md).
constexpr double kPerWarp = 8;
constexpr std::int64_t kMajor = 9, kMinor = 0;
constexpr std::int64_t kCupti = 1300;  // cuptiGetVersion() / 100

}  // namespace

Added addedInstructions(const GpuInfo& gpu, const ProcessInfo& process, const LaunchConfig& config) {
  if (isNull(process.cuptiVersion)) return {};  // no kernel record of it was made by tracing
  const double warps =
      static_cast<double>(config.gridBlocks()) * static_cast<double>((config.blockThreads() + 31) / 32);
  const bool measured =
      gpu.computeMajor == kMajor && gpu.computeMinor == kMinor && process.cuptiVersion / 100 == kCupti;
  return measured ? Added{kPerWarp * warps, 0} : Added{0, kPerWarp * warps};
}

Metric without(const Added& added, const Metric& instructions) {
  Metric out = instructions;
  if (!out.value) return out;
  // A kernel that executed no more than that was not instrumented.
  const bool plausible = *out.value > added.known;
  const double off = plausible ? added.known : 0, below = added.possible + (plausible ? 0 : added.known);
  *out.value -= off;
  if (out.low) *out.low = std::max(0.0, *out.low - off - below);
  if (out.high) *out.high -= off;
  return out;
}

}  // namespace warpmeter::analyzer
