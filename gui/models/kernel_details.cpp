// SPDX-License-Identifier: Apache-2.0
#include "models/kernel_details.h"

#include <algorithm>

#include "warpmeter/analyzer/format.h"

namespace warpmeter::gui {
namespace {

using analyzer::formatCount;
using analyzer::formatTime;

std::string counted(int count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void addTimes(const analyzer::FunctionSummary& function, KernelDetails& out) {
  std::string launches = formatCount(function.time.count) + " timed";
  if (function.untimed > 0) launches += ", " + formatCount(function.untimed) + " without times";
  out.lines.emplace_back("launches", launches);
  if (function.time.count == 0) return;
  out.lines.emplace_back("total", formatTime(function.time.totalNs) + ", " +
                                      analyzer::formatPercent(function.sharePct) + " of the kernel time");
  out.lines.emplace_back("min / median",
                         formatTime(function.time.minNs) + " / " + formatTime(function.time.medianNs));
  out.lines.emplace_back("p95 / max",
                         formatTime(function.time.p95Ns) + " / " + formatTime(function.time.maxNs));
}

void addOccupancy(const analyzer::DistinctSummary& distinct, KernelDetails& out) {
  if (!distinct.occupancy) {
    out.lines.emplace_back("occupancy", "not known: " + distinct.occupancyReason);
    return;
  }
  const analyzer::Occupancy& o = *distinct.occupancy;
  const std::string limiter = analyzer::limiterText(o);
  out.lines.emplace_back("occupancy", analyzer::formatPercent(o.occupancyPct) + " possible" +
                                          (limiter == "-" ? "" : ", held by " + limiter));
  out.lines.emplace_back("an SM holds",
                         counted(o.blocksPerSm, "block") + " of " + counted(o.warpsPerBlock, "warp"));
  if (o.waves) {
    std::string waves = QString::number(*o.waves, 'g', 3).toStdString();
    if (o.tailPct && *o.tailPct > 0)
      waves += ", the last one " + analyzer::formatPercent(*o.tailPct) + " empty";
    out.lines.emplace_back("waves", waves);
  }
}

// What was measured of that size; nothing where the run has no counters.
void addCounters(const LoadedProfile& profile, std::uint32_t distinct, KernelDetails& out) {
  if (!profile.counters || !profile.counters->quality.any || !profile.bounds) return;
  if (distinct >= profile.counters->kernels.size() || distinct >= profile.bounds->kernels.size()) return;
  const analyzer::Metric& achieved = profile.counters->kernels[distinct].occupancyPct;
  out.lines.emplace_back(
      "achieved", achieved.value ? analyzer::formatPercent(*achieved.value)
                                 : "not measured: " + std::string(analyzer::named(*achieved.reason).text));
  const analyzer::KernelBound& bound = profile.bounds->kernels[distinct];
  if (bound.reason)
    out.lines.emplace_back("bound by", "not measured: " + std::string(analyzer::named(*bound.reason).text));
  else
    out.lines.emplace_back("bound by", std::string(analyzer::named(bound.bound).text) + " (" +
                                           std::string(idOf(bound.confidence)) + "): " + bound.why);
}

// Of the function, all its sizes together. Nothing where the run has no PC samples.
void addStalls(const LoadedProfile& profile, std::uint32_t function, KernelDetails& out) {
  constexpr std::size_t kReasons = 4, kPlaces = 3;
  if (!profile.stalls || !profile.stalls->any || function >= profile.stalls->kernels.size()) return;
  const analyzer::KernelStalls& stalls = profile.stalls->kernels[function];
  if (stalls.reason) {
    out.lines.emplace_back("warps wait for",
                           "not measured: " + std::string(analyzer::named(*stalls.reason).text) + " (" +
                               formatCount(stalls.samples) + ")");
    return;
  }
  for (std::size_t i = 0; i < std::min(kReasons, stalls.reasons.size()); ++i) {
    const analyzer::StallShare& s = stalls.reasons[i];
    const bool plain = s.id == analyzer::kIssuing || s.words.empty();
    out.lines.emplace_back(i == 0 ? "warps wait for" : "",
                           analyzer::formatPercent(*s.sharePct.value) + " " + (plain ? s.term : s.words));
  }
  for (std::size_t i = 0; i < std::min(kPlaces, stalls.places.size()); ++i) {
    const analyzer::PcPlace& p = stalls.places[i];
    out.lines.emplace_back(i == 0 ? "they wait at" : "",
                           analyzer::formatPercent(*p.sharePct.value) + " " + p.text() + ", " + p.mostly);
  }
  out.lines.emplace_back("PC samples", formatCount(stalls.samples) + " of all sizes together");
}

void addSize(const LoadedProfile& profile, const analyzer::FunctionSummary& function, KernelDetails& out) {
  const analyzer::DistinctSummary& most = function.distinct.front();
  const analyzer::DistinctKernel& kernel = profile.view->distinctKernels()[most.distinct];
  const analyzer::LaunchConfig& config = profile.view->configs()[kernel.config];
  std::string size = analyzer::formatDims(kernel.grid) + " x " + analyzer::formatDims(config.block);
  if (config.clusterBlocks() > 0) size += ", cluster " + analyzer::formatDims(config.cluster);
  if (function.distinct.size() > 1)
    size += " (most time of " + std::to_string(function.distinct.size()) + " sizes)";
  out.lines.emplace_back("grid x block", size);
  out.lines.emplace_back("a thread", std::to_string(config.registers) + " registers");
  out.lines.emplace_back("a block",
                         std::to_string(config.staticShared + config.dynamicShared) + " B shared memory");
  addOccupancy(most, out);
  addCounters(profile, most.distinct, out);
}

}  // namespace

KernelDetails kernelDetails(const LoadedProfile& profile, std::uint32_t function) {
  KernelDetails out;
  if (!profile.kernels || profile.kernels->functions.empty()) return out;
  const auto& functions = profile.kernels->functions;
  auto found = functions.begin();
  if (function != analyzer::kNone) {
    found = std::find_if(functions.begin(), functions.end(),
                         [&](const auto& f) { return f.function == function; });
    if (found == functions.end()) return out;
  }
  out.name = found->demangledName.empty() ? found->shortName : found->demangledName;
  addTimes(*found, out);
  if (!found->distinct.empty()) addSize(profile, *found, out);
  addStalls(profile, found->function, out);
  return out;
}

}  // namespace warpmeter::gui
