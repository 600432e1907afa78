// SPDX-License-Identifier: Apache-2.0
// report --kernel NAME: everything about one function.
#include <fmt/format.h>

#include <algorithm>

#include "cli/occupancy_text.h"
#include "cli/report.h"
#include "cli/report_counters.h"
#include "cli/report_stalls.h"
#include "cli/report_text.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

using analyzer::formatBytes;
using analyzer::formatCount;
using analyzer::formatPercent;
using analyzer::formatTime;
using Align = TextTable::Align;

constexpr std::size_t kShapes = 8;

std::string timesLine(const analyzer::DurationStats& t) {
  return fmt::format("median {}, min {}, 95 % below {}, max {}, total {}", formatTime(t.medianNs),
                     formatTime(t.minNs), formatTime(t.p95Ns), formatTime(t.maxNs), formatTime(t.totalNs));
}

std::string firstLaunchLine(const ReportData& data, std::uint32_t function) {
  for (const auto& cold : data.coldStarts)
    for (const auto& first : cold.firstLaunches) {
      if (first.function != function) continue;
      std::string line = "first launch: ";
      line += first.hostNs ? fmt::format("host {}", formatTime(*first.hostNs)) : "host time not recorded";
      if (first.laterHostNs) line += fmt::format(" (later {})", formatTime(*first.laterHostNs));
      line += fmt::format(", GPU {}", formatTime(first.gpuNs));
      if (first.laterGpuNs) line += fmt::format(" (later {})", formatTime(*first.laterGpuNs));
      return line;
    }
  return "";
}

std::string streamsLine(const ReportData& data, std::uint32_t function) {
  std::size_t streams = 0;
  std::int64_t graphs = 0;
  for (const auto& lane : data.view.streams()) {
    bool here = false;
    for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
      if (data.view.configs()[lane.kernels.config[i]].function != function) continue;
      here = true;
      if (lane.kernels.graphNode[i] != 0) ++graphs;
    }
    streams += here;
  }
  auto line = fmt::format("on {}", counted(static_cast<std::int64_t>(streams), "stream"));
  if (graphs > 0) line += fmt::format(", {} from CUDA graphs", counted(graphs, "launch", "launches"));
  return line;
}

std::string number(std::int64_t value) { return isNull(value) ? "—" : formatBytes(value); }

std::string shapeTable(const ReportData& data, const analyzer::FunctionSummary& f, std::size_t shown,
                       const Style& style) {
  TextTable table({Align::right, Align::right, Align::right, Align::left, Align::right, Align::right,
                   Align::right, Align::right, Align::left, Align::right, Align::right});
  table.heading({"total", "calls", "median", "<grid x block>", "regs", "static", "dynamic", "occupancy",
                 "held by", "waves", "tail"});
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& d = f.distinct[i];
    const auto& c = data.view.configs()[data.view.distinctKernels()[d.distinct].config];
    const auto* o = d.occupancy ? &*d.occupancy : nullptr;
    table.row({d.time.count ? formatTime(d.time.totalNs) : "—", formatCount(d.time.count + d.untimed),
               d.time.count ? formatTime(d.time.medianNs) : "—", shapeOf(c), std::to_string(c.registers),
               number(c.staticShared), number(c.dynamicShared), o ? formatPercent(o->occupancyPct) : "—",
               o ? analyzer::limiterText(*o) : "—", o && o->waves ? fmt::format("{:.2f}", *o->waves) : "—",
               o && o->tailPct ? formatPercent(*o->tailPct) : "—"});
  }
  return table.render(style, 2);
}

std::string advice(const ReportData& data, const analyzer::DistinctSummary& d) {
  auto device = analyzer::deviceOfDistinct(data.view, d.distinct);
  if (!device || !d.occupancy) return "";
  // Memory at its ceiling does not get faster by more warps that wait for it.
  if (const auto* bound = boundOf(data, d.distinct); bound && bound->sharePct) {
    using enum analyzer::Bound;
    if (bound->bound == dram || bound->bound == l2 || bound->bound == l1)
      return fmt::format("block size: more occupancy will not help, it runs at {:.0f} % of {}", *bound->sharePct,
                         bound->shareOf);
  }
  const auto& config = data.view.configs()[data.view.distinctKernels()[d.distinct].config];
  return betterBlocksLine(*device, analyzer::resourcesOf(config), *d.occupancy);
}

}  // namespace

std::string kernelDetailText(const ReportData& data, std::size_t index, const ReportOptions& options,
                             const Style& style) {
  const auto& f = data.kernels.functions[index];
  const auto name = harmless(f.shortName.empty() ? "(no name)" : f.shortName);
  std::string out = style.heading(style.line(name)) + "\n";
  const auto add = [&](const std::string& line) {
    if (!line.empty()) out += style.line("  " + line) + "\n";
  };
  if (!f.demangledName.empty() && f.demangledName != f.shortName)
    out +=
        "  " + (options.fullNames ? harmless(f.demangledName) : style.line(harmless(f.demangledName))) + "\n";
  add(fmt::format("{} of kernel time, {} {}{}", formatPercent(f.sharePct),
                  counted(f.launches(), "launch", "launches"), streamsLine(data, f.function),
                  f.untimed > 0 ? fmt::format(", {} without times", formatCount(f.untimed)) : ""));
  if (f.time.count > 0) add(timesLine(f.time));
  add(firstLaunchLine(data, f.function));
  const auto shown = options.all ? f.distinct.size() : std::min(kShapes, f.distinct.size());
  out += shapeTable(data, f, shown, style);
  if (shown < f.distinct.size()) add(fmt::format("{} more shapes: --all", f.distinct.size() - shown));
  if (f.joinedGrids) add("more than 512 shapes: grids joined into powers of two");
  if (!f.distinct.empty()) {
    if (!f.distinct.front().occupancy) add("occupancy: —, " + harmless(f.distinct.front().occupancyReason));
    add(advice(data, f.distinct.front()));
    for (std::size_t i = 0; i < (options.all ? f.distinct.size() : 1); ++i)
      out += kernelCountersText(data, f.distinct[i], style);
    out += functionStallsText(data, f, style);
  }
  return out;
}

}  // namespace warpmeter::cli
