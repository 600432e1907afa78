// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/cold_start.h"

#include <algorithm>
#include <array>
#include <map>

#include "src/cancelled.h"
#include "src/cold_intervals.h"
#include "src/intervals.h"
#include "warpmeter/analyzer/statistics.h"

namespace warpmeter::analyzer {
namespace {

struct KernelRef {
  const Kernels* lane = nullptr;
  std::size_t index = 0;
  std::int64_t startNs() const { return lane->startNs(index); }
};

// Timed kernels of a process by function, each by start.
std::map<std::uint32_t, std::vector<KernelRef>> kernelsOf(const ProfileView& view, std::uint32_t process) {
  std::map<std::uint32_t, std::vector<KernelRef>> out;
  for (const StreamLane& lane : view.streams()) {
    if (lane.process != process) continue;
    for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
      out[view.configs()[lane.kernels.config[i]].function].push_back({&lane.kernels, i});
    }
  }
  for (auto& [function, kernels] : out) std::ranges::stable_sort(kernels, {}, &KernelRef::startNs);
  return out;
}

// Duration of the call that launched a kernel. A node of a graph has none of its own.
std::optional<std::int64_t> hostTime(const ProfileView& view, std::uint32_t process, const KernelRef& k) {
  if (k.lane->graphNode[k.index] != 0) return std::nullopt;
  const auto ref = view.apiCall(process, k.lane->correlation[k.index]);
  if (!ref) return std::nullopt;
  return view.threads()[ref.lane].api.durationNs(ref.index);
}

FirstLaunch firstLaunchOf(const ProfileView& view, std::uint32_t process, std::uint32_t function,
                          const std::vector<KernelRef>& kernels, const Limits& limits) {
  const KernelRef& first = kernels.front();
  FirstLaunch out;
  out.function = function;
  out.rowid = first.lane->rowid[first.index];
  out.atNs = first.startNs();
  out.hostNs = hostTime(view, process, first);
  out.gpuNs = first.lane->durationNs(first.index);
  out.laterLaunches = kernels.size() - 1;
  std::vector<std::int64_t> host, gpu;
  for (std::size_t i = 1; i < kernels.size(); ++i) {
    gpu.push_back(kernels[i].lane->durationNs(kernels[i].index));
    if (const auto ns = hostTime(view, process, kernels[i])) host.push_back(*ns);
  }
  if (gpu.size() >= limits.firstLaunchMinLater) out.laterGpuNs = medianOf(gpu);
  if (host.size() >= limits.firstLaunchMinLater) out.laterHostNs = medianOf(host);
  return out;
}

// Gives every moment of [begin, end) to the first phase that has it, the rest to `host`.
void paint(ColdStart& out, const ColdIntervals& found) {
  IntervalSet rest = unite({{out.beginNs, out.firstKernelNs}});
  for (const ColdPhase phase : {ColdPhase::jit, ColdPhase::moduleLoad, ColdPhase::context, ColdPhase::cuInit,
                                ColdPhase::process, ColdPhase::firstLaunch, ColdPhase::host}) {
    const ColdIntervals::Phase& source = found.of(phase);
    const IntervalSet mine = phase == ColdPhase::host ? rest : intersect(rest, unite(source.intervals));
    for (const Interval& i : mine) out.pieces.push_back({phase, i.begin, i.end});
    rest = subtract(rest, mine);
    ColdBar& bar = out.bars[static_cast<std::size_t>(phase)];
    bar.phase = phase;
    bar.count = source.count;
    if (source.recorded || phase == ColdPhase::host) bar.ns = lengthOf(mine);
  }
  std::ranges::sort(out.pieces, {}, &ColdPiece::startNs);
}

ColdStart analyze(const ProfileView& view, const Limits& limits, std::uint32_t process,
                  const std::map<std::uint32_t, std::vector<KernelRef>>& kernels) {
  ColdStart out;
  out.process = process;
  KernelRef first = kernels.begin()->second.front();
  for (const auto& [function, list] : kernels) {
    if (list.front().startNs() < first.startNs()) first = list.front();
    out.firstLaunches.push_back(firstLaunchOf(view, process, function, list, limits));
  }
  std::ranges::stable_sort(out.firstLaunches, {}, &FirstLaunch::atNs);
  out.firstKernelNs = first.startNs();
  const ColdIntervals found =
      ColdIntervals::of(view, process, out.firstKernelNs, first.lane->correlation[first.index]);
  out.beginNs = std::min(found.beginNs, out.firstKernelNs);
  out.beginKnown = found.beginKnown;
  out.beginUncertaintyNs = found.beginUncertaintyNs;
  out.bars.resize(static_cast<std::size_t>(ColdPhase::host) + 1);
  paint(out, found);
  return out;
}

}  // namespace

std::string_view idOf(ColdPhase phase) {
  constexpr std::array<std::string_view, 7> kIds{"process", "cu_init",      "context", "module_load",
                                                 "jit",     "first_launch", "host"};
  return kIds[static_cast<std::size_t>(phase)];
}

std::string_view textOf(ColdPhase phase) {
  constexpr std::array<std::string_view, 7> kTexts{"process",     "cuInit",       "context",  "modules",
                                                   "PTX compile", "first launch", "host code"};
  return kTexts[static_cast<std::size_t>(phase)];
}

Result<std::vector<ColdStart>> coldStartsOf(const ProfileView& view, const Limits& limits,
                                            std::stop_token stop) {
  std::vector<ColdStart> out;
  for (std::uint32_t p = 0; p < view.processes().size(); ++p) {
    if (stop.stop_requested()) return cancelled();
    const auto kernels = kernelsOf(view, p);
    if (!kernels.empty()) out.push_back(analyze(view, limits, p, kernels));
  }
  return out;
}

}  // namespace warpmeter::analyzer
