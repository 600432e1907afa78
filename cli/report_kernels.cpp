// SPDX-License-Identifier: Apache-2.0
// The kernel table: a function a row, its distinct kernels folded under it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/report.h"
#include "cli/report_counters.h"
#include "cli/report_text.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

using analyzer::formatCount;
using analyzer::formatPercent;
using analyzer::formatTime;
using Align = TextTable::Align;

constexpr std::size_t kTop = 10, kAlways = 5;
constexpr double kSmallPct = 2;

std::string nameOf(const analyzer::FunctionSummary& f) {
  return f.shortName.empty() ? "(no name)" : harmless(f.shortName);
}

// Instances of one template share their short name: what their full names differ in tells them apart.
std::string difference(const std::vector<analyzer::FunctionSummary>& functions,
                       const analyzer::FunctionSummary& f) {
  std::size_t common = std::string::npos;
  for (const auto& other : functions) {
    if (&other == &f || other.shortName != f.shortName || other.demangledName == f.demangledName) continue;
    const auto [a, b] = std::mismatch(f.demangledName.begin(), f.demangledName.end(),
                                      other.demangledName.begin(), other.demangledName.end());
    common = std::min(common, static_cast<std::size_t>(a - f.demangledName.begin()));
  }
  if (common == std::string::npos) return "";
  const auto word = f.demangledName.find_last_of("<>(),: ", common == 0 ? 0 : common - 1);
  const auto begin = word == std::string::npos ? 0 : word + 1;
  return begin >= f.demangledName.size() ? ""
                                         : " …" + harmless(std::string_view(f.demangledName).substr(begin));
}

// "62.5 %", or "25.0-100 %" when the function's distinct kernels differ; "—" when none is known.
std::string occupancyText(const analyzer::FunctionSummary& f) {
  double low = 101, high = -1;
  for (const auto& d : f.distinct)
    if (d.occupancy)
      low = std::min(low, d.occupancy->occupancyPct), high = std::max(high, d.occupancy->occupancyPct);
  if (high < 0) return "—";
  const auto text = formatPercent(high);
  const auto lowest = formatPercent(low);
  return lowest == text ? text : fmt::format("{}-{}", lowest.substr(0, lowest.find(' ')), text);
}

std::string heldBy(const analyzer::DistinctSummary& d) {
  if (!d.occupancy) return "—";
  const auto text = analyzer::limiterText(*d.occupancy);
  return text == "grid" && d.occupancy->busySms ? fmt::format("grid: {} SMs", *d.occupancy->busySms) : text;
}

// The shape of the dominant kernel and how many more there are, in words and short.
std::vector<std::string> shapes(const ReportData& data, const analyzer::FunctionSummary& f) {
  if (f.distinct.empty()) return {""};
  const auto& dominant = data.view.distinctKernels()[f.distinct.front().distinct];
  const std::string shape = " " + shapeOf(data.view.configs()[dominant.config]);
  const auto more = static_cast<std::int64_t>(f.distinct.size()) - 1;
  if (more == 0) return {shape};
  return {fmt::format("{} and {}", shape, counted(more, "more shape")), fmt::format("{} +{}", shape, more)};
}

std::size_t rowsShown(const ReportData& data, const ReportOptions& options) {
  const auto& functions = data.kernels.functions;
  if (options.all) return functions.size();
  if (options.top) return std::min(*options.top, functions.size());
  std::size_t n = 0;
  while (n < std::min(kTop, functions.size()) && (n < kAlways || functions[n].sharePct >= kSmallPct)) ++n;
  // A fold of one row would be as long as the row.
  return functions.size() - n == 1 ? functions.size() : n;
}

// The smallest round number that no share of the rest exceeds.
std::string boundAbove(double sharePct) {
  if (sharePct >= 1) return fmt::format("{:.0f}", std::floor(sharePct) + 1);
  return sharePct < 0.1 ? "0.1" : fmt::format("{:.1f}", std::floor(sharePct * 10 + 1) / 10);
}

void addFold(TextTable& table, const ReportData& data, std::size_t shown) {
  const auto& functions = data.kernels.functions;
  if (shown >= functions.size()) return;
  double share = 0, most = 0;
  std::int64_t total = 0, calls = 0;
  for (auto i = shown; i < functions.size(); ++i) {
    share += functions[i].sharePct;
    most = std::max(most, functions[i].sharePct);
    total += functions[i].time.totalNs;
    calls += functions[i].launches();
  }
  std::vector<std::string> cells{formatPercent(share), formatTime(total), formatCount(calls), "", "", ""};
  if (data.counters.quality.any) cells.emplace_back();
  cells.emplace_back();
  table.row(std::move(cells),
            {fmt::format("{} more, each below {} %: --all", functions.size() - shown, boundAbove(most)),
             fmt::format("{} more: --all", functions.size() - shown)});
}

// Why the table has "—", once.
std::string reasonsText(const ReportData& data, const Style& style) {
  const analyzer::DistinctSummary* unknown = nullptr;
  for (const auto& f : data.kernels.functions)
    for (const auto& d : f.distinct)
      if (!d.occupancy && !unknown) unknown = &d;
  auto out = countersReasonText(data, style);
  if (unknown)
    out += fmt::format(" possible occupancy —: {}\n", unknown->occupancyReason.empty()
                                                          ? "the file does not describe the GPU"
                                                          : harmless(unknown->occupancyReason));
  return out;
}

// The cells between the times and the name.
std::vector<std::string> boundCells(const ReportData& data, const analyzer::DistinctSummary* dominant,
                                    const std::string& occupancy) {
  if (!data.counters.quality.any) return {occupancy, dominant ? heldBy(*dominant) : "—"};
  std::string held = "—";
  if (dominant && dominant->occupancy) {
    // One word: the column beside it is wider. A small grid says the most.
    const auto& limiters = dominant->occupancy->limiters;
    held = analyzer::limiterText(*dominant->occupancy);
    if (std::find(limiters.begin(), limiters.end(), analyzer::Limiter::grid) != limiters.end())
      held = analyzer::named(analyzer::Limiter::grid).text;
    else if (limiters.size() > 1 && held != "-")
      held = fmt::format("{} +{}", analyzer::named(limiters.front()).text, limiters.size() - 1);
  }
  return {occupancy, held, dominant ? boundCell(data, *dominant) : "—"};
}

std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b,
                                std::string last) {
  a.insert(a.end(), b.begin(), b.end());
  a.push_back(std::move(last));
  return a;
}

void addDistinct(TextTable& table, const ReportData& data, const analyzer::FunctionSummary& f) {
  for (const auto& d : f.distinct) {
    const auto& config = data.view.configs()[data.view.distinctKernels()[d.distinct].config];
    std::string occupancy = d.occupancy ? formatPercent(d.occupancy->occupancyPct) : "—";
    if (const auto* counters = countersOf(data, d.distinct); counters && data.counters.quality.any)
      occupancy = occupancyCell(counters->occupancyPct, occupancy);
    table.row(joined({formatPercent(d.sharePct), formatTime(d.time.totalNs),
                      formatCount(d.time.count + d.untimed), formatTime(d.time.medianNs)},
                     boundCells(data, &d, occupancy), ""),
              {fmt::format("  {} {} registers", shapeOf(config), config.registers)});
  }
}

}  // namespace

std::string kernelsText(const ReportData& data, const ReportOptions& options, const Style& style) {
  const auto& k = data.kernels;
  if (k.functions.empty()) return "";
  const bool counters = data.counters.quality.any;
  std::string out =
      style.heading("KERNELS") +
      fmt::format("    {} distinct of {}; share of {} kernel time; occupancy: {}\n",
                  formatCount(static_cast<std::int64_t>(k.distinctCount)),
                  counted(static_cast<std::int64_t>(k.functions.size()), "function"), runTime(k.kernelTimeNs),
                  counters ? "achieved / possible, %" : "what is possible");
  std::vector<Align> columns{
      Align::right, Align::right, Align::right, Align::right, counters ? Align::left : Align::right,
      Align::left,  Align::left};
  if (counters) columns.push_back(Align::left);
  TextTable table(columns);
  table.heading(joined({"share", "total", "calls", "median", "occupancy", "held by"},
                       counters ? std::vector<std::string>{"bound by"} : std::vector<std::string>{},
                       "kernel <grid x block>"));
  const auto shown = rowsShown(data, options);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& f = k.functions[i];
    const bool timed = f.time.count > 0;
    const auto possible = occupancyText(f);
    table.row(joined({timed ? formatPercent(f.sharePct) : "—", timed ? formatTime(f.time.totalNs) : "—",
                      formatCount(f.launches()), timed ? formatTime(f.time.medianNs) : "—"},
                     boundCells(data, f.distinct.empty() ? nullptr : &f.distinct.front(),
                                counters ? occupancyCell(data, f, possible) : possible),
                     nameOf(f) + (options.fullNames ? "" : difference(k.functions, f))),
              shapes(data, f));
    if (options.fullNames && !f.demangledName.empty() && f.demangledName != f.shortName)
      table.line("        " + harmless(f.demangledName));
    if (options.all && f.distinct.size() > 1) addDistinct(table, data, f);
  }
  addFold(table, data, shown);
  out += table.render(style);
  if (k.untimed > 0)
    out += fmt::format(" {} without times count as calls only\n", counted(k.untimed, "launch", "launches"));
  return out + reasonsText(data, style);
}

}  // namespace warpmeter::cli
