// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/kernel_summary.h"

#include <algorithm>

#include "src/cancelled.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::analyzer {
namespace {

double shareOf(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

struct Collected {
  std::vector<std::vector<std::int64_t>> durations;  // by distinct kernel
  std::vector<std::int64_t> untimed;
};

DistinctSummary summarizeDistinct(const ProfileView& view, std::uint32_t d, Collected& collected,
                                  std::int64_t kernelTimeNs) {
  DistinctSummary out;
  out.distinct = d;
  out.time = statsOf(collected.durations[d]);
  out.untimed = collected.untimed[d];
  out.sharePct = shareOf(out.time.totalNs, kernelTimeNs);
  if (auto occupancy = occupancyOfDistinct(view, d)) {
    out.occupancy = std::move(*occupancy);
  } else {
    out.occupancyReason = occupancy.error().message;
  }
  return out;
}

}  // namespace

KernelResources resourcesOf(const LaunchConfig& c) {
  KernelResources r;
  r.blockThreads = static_cast<int>(c.blockThreads());
  r.registersPerThread = c.registers;
  r.staticShared = c.staticShared;
  r.dynamicShared = c.dynamicShared;
  r.gridBlocks = c.gridBlocks();
  r.clusterBlocks = static_cast<int>(c.clusterBlocks());
  if (!isNull(c.executedShared) && c.executedShared > 0) r.executedShared = c.executedShared;
  if (!isNull(c.carveoutPct) && c.carveoutPct >= 0 && c.carveoutPct <= 100) {
    r.carveoutPct = static_cast<int>(c.carveoutPct);
  }
  if (!isNull(c.maxActiveClusters) && c.maxActiveClusters > 0) r.maxActiveClusters = c.maxActiveClusters;
  return r;
}

Result<DeviceLimits> deviceOfDistinct(const ProfileView& view, std::uint32_t distinct) {
  const LaunchConfig& config = view.configs()[view.distinctKernels()[distinct].config];
  return deviceLimits(view.gpus()[config.gpu].info);
}

Result<Occupancy> occupancyOfDistinct(const ProfileView& view, std::uint32_t distinct) {
  auto device = deviceOfDistinct(view, distinct);
  if (!device) return device.error();
  return occupancyOf(*device, resourcesOf(view.configs()[view.distinctKernels()[distinct].config]));
}

Result<KernelSummary> summarizeKernels(const ProfileView& view, std::stop_token stop) {
  KernelSummary out;
  const std::size_t distinctCount = view.distinctKernels().size();
  Collected collected{std::vector<std::vector<std::int64_t>>(distinctCount),
                      std::vector<std::int64_t>(distinctCount)};
  const auto configs = view.configs();
  for (const StreamLane& lane : view.streams()) {
    if (stop.stop_requested()) return cancelled();
    for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
      const std::int64_t ns = lane.kernels.durationNs(i);
      collected.durations[configs[lane.kernels.config[i]].distinct].push_back(ns);
      out.kernelTimeNs += ns;
      ++out.timed;
    }
  }
  for (const UntimedLaunch& u : view.untimed()) {
    ++collected.untimed[configs[u.config].distinct];
    ++out.untimed;
  }
  out.distinctCount = distinctCount;

  std::vector<std::vector<std::uint32_t>> byFunction(view.functions().size());
  for (std::uint32_t d = 0; d < distinctCount; ++d)
    byFunction[view.distinctKernels()[d].function].push_back(d);
  for (std::uint32_t f = 0; f < byFunction.size(); ++f) {
    if (stop.stop_requested()) return cancelled();
    FunctionSummary row;
    row.function = f;
    row.demangledName = view.name(view.functions()[f].demangled);
    row.shortName = shortKernelName(row.demangledName);
    std::vector<std::int64_t> all;
    for (const std::uint32_t d : byFunction[f]) {
      all.insert(all.end(), collected.durations[d].begin(), collected.durations[d].end());
      row.untimed += collected.untimed[d];
      row.joinedGrids = row.joinedGrids || view.distinctKernels()[d].joinedGrids;
      row.distinct.push_back(summarizeDistinct(view, d, collected, out.kernelTimeNs));
    }
    row.time = statsOf(all);
    row.sharePct = shareOf(row.time.totalNs, out.kernelTimeNs);
    std::ranges::stable_sort(row.distinct, std::greater{},
                             [](const DistinctSummary& d) { return d.time.totalNs; });
    if (row.launches() > 0) out.functions.push_back(std::move(row));
  }
  std::ranges::stable_sort(out.functions, std::greater{},
                           [](const FunctionSummary& f) { return f.time.totalNs; });
  return out;
}

}  // namespace warpmeter::analyzer
