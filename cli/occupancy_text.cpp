// SPDX-License-Identifier: Apache-2.0
#include "cli/occupancy_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

using analyzer::BlockSizeAdvice;
using analyzer::DeviceLimits;
using analyzer::formatBytes;
using analyzer::formatCount;
using analyzer::formatPercent;
using analyzer::KernelResources;
using analyzer::Occupancy;
using Align = TextTable::Align;

constexpr std::size_t kBlockSizes = 5;

struct WhatIf {
  std::string change;
  Occupancy occupancy;
};

std::optional<Occupancy> computed(const DeviceLimits& device, const KernelResources& kernel) {
  auto result = analyzer::occupancyOf(device, kernel);
  return result ? std::optional(std::move(*result)) : std::nullopt;
}

// The first step down of one resource that lets more warps run.
std::optional<WhatIf> fewerRegisters(const DeviceLimits& device, KernelResources kernel, int warpsNow) {
  while (--kernel.registersPerThread >= 16)
    if (auto o = computed(device, kernel); o && o->warpsPerSm > warpsNow)
      return WhatIf{fmt::format("registers {}", kernel.registersPerThread), *o};
  return std::nullopt;
}

std::optional<WhatIf> lessShared(const DeviceLimits& device, KernelResources kernel, int warpsNow) {
  const auto unit = std::max<std::int64_t>(device.sharedUnit, 1);
  for (auto bytes = (kernel.dynamicShared - 1) / unit * unit; kernel.dynamicShared > 0 && bytes >= 0;
       bytes -= unit) {
    auto changed = kernel;
    changed.dynamicShared = bytes;
    changed.executedShared.reset();  // the driver would choose another carve-out
    if (auto o = computed(device, changed); o && o->warpsPerSm > warpsNow)
      return WhatIf{fmt::format("dynamic shared {} B", bytes), *o};
  }
  return std::nullopt;
}

std::optional<WhatIf> fullCarveout(const DeviceLimits& device, KernelResources kernel, int warpsNow) {
  kernel.executedShared.reset();
  kernel.carveoutPct = 100;
  auto o = computed(device, kernel);
  return o && o->warpsPerSm > warpsNow ? std::optional(WhatIf{"carve-out 100 %", *o}) : std::nullopt;
}

std::vector<WhatIf> whatIfs(const DeviceLimits& device, const KernelResources& kernel, const Occupancy& now) {
  std::vector<WhatIf> out;
  for (auto w : {fewerRegisters(device, kernel, now.warpsPerSm), lessShared(device, kernel, now.warpsPerSm),
                 fullCarveout(device, kernel, now.warpsPerSm)})
    if (w) out.push_back(std::move(*w));
  auto changed = kernel;
  for (const int block : {64, 128, 256, 512, 1024}) {
    if (block == kernel.blockThreads || block > device.maxThreadsPerBlock) continue;
    changed.blockThreads = block;
    const auto blocks = analyzer::blocksOfSameThreads(kernel, block);
    if (!blocks) continue;
    changed.gridBlocks = *blocks;
    if (auto o = computed(device, changed)) out.push_back({fmt::format("block {}", block), *o});
  }
  return out;
}

std::vector<std::string> cellsOf(const std::string& name, const Occupancy& o) {
  return {name,
          std::to_string(o.blocksPerSm),
          fmt::format("{} of {}", o.warpsPerSm, o.maxWarpsPerSm),
          o.blocksPerSm > 0 ? formatPercent(o.occupancyPct) : "cannot run",
          analyzer::limiterText(o),
          o.waves ? fmt::format("{:.2f}", *o.waves) : "",
          o.tailPct ? formatPercent(*o.tailPct) : ""};
}

std::string limitCell(int blocks) {
  return blocks == analyzer::kUnlimited ? "any number" : std::to_string(blocks);
}

std::string allowsText(const Occupancy& o) {
  const auto& l = o.limits;
  auto text = fmt::format("warps {}, registers {}, shared memory {}, blocks {}", limitCell(l.warps),
                          limitCell(l.registers), limitCell(l.sharedMemory), limitCell(l.blocks));
  if (l.barriers != analyzer::kUnlimited) text += fmt::format(", barriers {}", l.barriers);
  if (l.cluster != analyzer::kUnlimited) text += fmt::format(", cluster {}", l.cluster);
  return text;
}

// Waves rounded up: how often the GPU is filled, the last time perhaps in part.
std::string wavesText(const DeviceLimits& device, const KernelResources& kernel, const Occupancy& o) {
  if (!o.waves) return "";
  auto text = fmt::format("WAVES      {} on {} SMs: {:.2f} waves", counted(kernel.gridBlocks, "block"),
                          device.smCount, *o.waves);
  if (o.busySms && *o.busySms < device.smCount)
    return text + fmt::format("; {} SMs get no block at all", device.smCount - *o.busySms);
  if (o.tailPct && *o.tailPct > 0)
    text += fmt::format("; the last one is {} empty", formatPercent(*o.tailPct));
  if (o.tailEfficiencyPct && *o.tailEfficiencyPct < 100)
    text += fmt::format("; {} of the room is used", formatPercent(*o.tailEfficiencyPct));
  return text;
}

Json limitJson(int blocks) { return blocks == analyzer::kUnlimited ? Json(nullptr) : Json(blocks); }

}  // namespace

std::string occupancyText(const DeviceLimits& device, const KernelResources& kernel, const Occupancy& o,
                          const Style& style) {
  std::string out;
  if (o.blocksPerSm == 0) {
    out = style.line(fmt::format("{}  cannot be launched: no block fits, held by {}", style.bad("OCCUPANCY"),
                                 analyzer::limiterText(o))) +
          "\n";
  } else {
    const auto limiter = analyzer::limiterText(o);
    out = style.line(fmt::format("{}  {}: {} of {} = {} of {} warps per SM, {}", style.heading("OCCUPANCY"),
                                 formatPercent(o.occupancyPct), counted(o.blocksPerSm, "block"),
                                 counted(o.warpsPerBlock, "warp"), o.warpsPerSm, o.maxWarpsPerSm,
                                 limiter == "-" ? "held by nothing" : "held by " + limiter)) +
          "\n";
  }
  out += style.line(fmt::format("           blocks per SM allowed by: {}", allowsText(o))) + "\n";
  out += style.line(fmt::format(
             "           a block takes {} registers and {} B of shared memory; the SM has {} B of it",
             formatCount(o.registersPerBlock), formatCount(o.sharedPerBlock),
             formatCount(o.carveoutBytes > 0 ? o.carveoutBytes : device.sharedPerSm))) +
         "\n";
  if (o.activeClusters)
    out += fmt::format("           {} on the GPU at a time{}\n", counted(*o.activeClusters, "cluster"),
                       o.clusterEstimated ? " (estimated)" : "");
  if (const auto waves = wavesText(device, kernel, o); !waves.empty()) out += style.line(waves) + "\n";

  const std::vector<Align> columns{Align::left, Align::right, Align::right, Align::right,
                                   Align::left, Align::right, Align::right};
  const std::vector<std::string> heading{
      "", "blocks/SM", "warps/SM", "occupancy", "held by", o.waves ? "waves" : "", o.tailPct ? "tail" : ""};
  if (auto best = analyzer::bestBlockSizes(device, kernel, kBlockSizes); best && !best->empty()) {
    TextTable table(columns);
    table.heading(heading);
    for (const auto& a : *best)
      if (&a == &best->front() || a.occupancy.warpsPerSm >= o.warpsPerSm)
        table.row(cellsOf(fmt::format("block {}", a.blockThreads), a.occupancy));
    out += "\n" + style.heading("BEST BLOCK SIZES") + " same shared memory per block" +
           (kernel.gridBlocks > 0 ? ", same number of threads" : "") + "\n" + table.render(style, 2);
  }
  if (const auto rows = whatIfs(device, kernel, o); !rows.empty()) {
    TextTable table(columns);
    table.heading(heading);
    table.row(cellsOf("as it is", o));
    for (const auto& w : rows) table.row(cellsOf(w.change, w.occupancy));
    out += "\n" + style.heading("WHAT IF") + "\n" + table.render(style, 2);
  }
  return out;
}

Json occupancyJson(const Occupancy& o) {
  Json limiters = Json::array();
  for (const auto l : o.limiters) limiters.push_back(analyzer::named(l).id);
  return Json{{"theoreticalOccupancyPct", o.occupancyPct},
              {"limiters", limiters},
              {"blocksPerSm", o.blocksPerSm},
              {"warpsPerBlock", o.warpsPerBlock},
              {"warpsPerSm", o.warpsPerSm},
              {"maxWarpsPerSm", o.maxWarpsPerSm},
              {"blocksAllowedBy", Json{{"warps", limitJson(o.limits.warps)},
                                       {"registers", limitJson(o.limits.registers)},
                                       {"sharedMemory", limitJson(o.limits.sharedMemory)},
                                       {"blocks", limitJson(o.limits.blocks)},
                                       {"barriers", limitJson(o.limits.barriers)},
                                       {"cluster", limitJson(o.limits.cluster)}}},
              {"registersPerBlock", o.registersPerBlock},
              {"sharedPerBlockBytes", o.sharedPerBlock},
              {"carveoutBytes", o.carveoutBytes},
              {"activeClusters", orNull(o.activeClusters)},
              {"clusterEstimated", o.clusterEstimated},
              {"waves", orNull(o.waves)},
              {"tailPct", orNull(o.tailPct)},
              {"tailEfficiencyPct", orNull(o.tailEfficiencyPct)},
              {"busySms", orNull(o.busySms)}};
}

Json occupancyAnswerJson(const DeviceLimits& device, const KernelResources& kernel, const Occupancy& o) {
  Json json{{"device", Json{{"computeCapability", fmt::format("{}.{}", device.major, device.minor)},
                            {"smCount", device.smCount > 0 ? Json(device.smCount) : Json(nullptr)},
                            {"limitsFrom", device.fromTable ? "table" : "recording"}}},
            {"launch",
             Json{{"blockThreads", kernel.blockThreads},
                  {"registersPerThread", kernel.registersPerThread},
                  {"staticSharedBytes", kernel.staticShared},
                  {"dynamicSharedBytes", kernel.dynamicShared},
                  {"gridBlocks", kernel.gridBlocks > 0 ? Json(kernel.gridBlocks) : Json(nullptr)},
                  {"clusterBlocks", kernel.clusterBlocks > 1 ? Json(kernel.clusterBlocks) : Json(nullptr)},
                  {"carveoutPct", orNull(kernel.carveoutPct)}}},
            {"occupancy", occupancyJson(o)},
            {"bestBlockSizes", Json::array()},
            {"whatIf", Json::array()}};
  if (auto best = analyzer::bestBlockSizes(device, kernel, kBlockSizes))
    for (const auto& a : *best)
      json["bestBlockSizes"].push_back(
          Json{{"blockThreads", a.blockThreads},
               {"gridBlocks", a.gridBlocks > 0 ? Json(a.gridBlocks) : Json(nullptr)},
               {"occupancy", occupancyJson(a.occupancy)}});
  for (const auto& w : whatIfs(device, kernel, o))
    json["whatIf"].push_back(Json{{"change", w.change}, {"occupancy", occupancyJson(w.occupancy)}});
  return json;
}

std::string betterBlocksLine(const DeviceLimits& device, const KernelResources& kernel,
                             const Occupancy& now) {
  auto best = analyzer::bestBlockSizes(device, kernel, 1);
  if (!best || best->empty() || best->front().occupancy.warpsPerSm <= now.warpsPerSm) return "";
  const auto& b = best->front();
  return fmt::format("block {} instead of {}: possible occupancy {} instead of {}", b.blockThreads,
                     kernel.blockThreads, formatPercent(b.occupancy.occupancyPct),
                     formatPercent(now.occupancyPct));
}

}  // namespace warpmeter::cli
