// SPDX-License-Identifier: Apache-2.0
// Streams, cold start, copies and NVTX ranges of the report.
#include <fmt/format.h>

#include <algorithm>

#include "cli/report.h"
#include "cli/report_text.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

using analyzer::ColdPhase;
using analyzer::formatBytes;
using analyzer::formatCount;
using analyzer::formatPercent;
using analyzer::formatRate;
using analyzer::formatTime;
using Align = TextTable::Align;

std::string wholePercent(double percent) {
  return percent > 0 && percent < 0.5       ? "<1 %"
         : percent < 100 && percent >= 99.5 ? ">99 %"
                                            : fmt::format("{:.0f} %", percent);
}

// "one operation at a time 98 % of busy time, two 2 %"
std::string depthText(const analyzer::Concurrency& c) {
  static constexpr const char* kWords[] = {"", "one operation at a time", "two", "three", "four"};
  std::string text;
  std::int64_t many = 0;
  for (std::size_t n = 1; n < c.depthNs.size(); ++n) {
    if (n >= std::size(kWords))
      many += c.depthNs[n];
    else if (c.depthNs[n] > 0)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", kWords[n],
                          wholePercent(shareOf(c.depthNs[n], c.busyNs)), text.empty() ? " of busy time" : "");
  }
  if (many > 0)
    text += fmt::format("{}five or more {}", text.empty() ? "" : ", ", wholePercent(shareOf(many, c.busyNs)));
  return text;
}

std::string streamName(const analyzer::ProfileView& view, const analyzer::StreamLane& lane) {
  auto name = fmt::format("stream {}", lane.streamId);
  if (view.gpus().size() > 1 && lane.gpu != analyzer::kNone)
    name = fmt::format("GPU {} {}", view.gpus()[lane.gpu].info.id, name);
  if (view.processes().size() > 1 && lane.process != analyzer::kNone)
    name = fmt::format("pid {} {}", view.processes()[lane.process].info.pid, name);
  return name;
}

std::string streamTable(const ReportData& data, const analyzer::Concurrency& c, const Style& style) {
  TextTable table({Align::left, Align::right, Align::right, Align::right, Align::left});
  table.heading({"stream", "operations", "busy", "of window", "beside others"});
  for (std::size_t i = 0; i < c.streams.size(); ++i) {
    std::string beside = "—";
    if (!c.matrixNs.empty()) {
      std::size_t best = i;
      for (std::size_t j = 0; j < c.streams.size(); ++j)
        if (j != i && (best == i || c.overlapNs(i, j) > c.overlapNs(i, best))) best = j;
      beside = best == i || c.overlapNs(i, best) == 0
                   ? "never"
                   : fmt::format("most with {}: {}",
                                 streamName(data.view, data.view.streams()[c.streams[best].stream]),
                                 formatTime(c.overlapNs(i, best)));
    }
    const auto& use = c.streams[i];
    table.row({streamName(data.view, data.view.streams()[use.stream]), formatCount(use.operations),
               formatTime(use.busyNs), formatPercent(shareOf(use.busyNs, c.windowNs())), beside});
  }
  return table.render(style, 2);
}

const analyzer::ColdBar* barOf(const analyzer::ColdStart& cold, ColdPhase phase) {
  for (const auto& bar : cold.bars)
    if (bar.phase == phase) return &bar;
  return nullptr;
}

std::string coldLine(const analyzer::ColdStart& cold) {
  const TimeScale scale(cold.totalNs());
  std::vector<std::string> parts;
  const auto add = [&](ColdPhase phase, const std::string& name) {
    const auto* bar = barOf(cold, phase);
    if (bar && bar->ns && *bar->ns >= cold.totalNs() / 1000 && *bar->ns > 0)
      parts.push_back(fmt::format("{} {}", name, scale.bare(*bar->ns)));
  };
  const auto count = [&](ColdPhase phase) { return barOf(cold, phase) ? barOf(cold, phase)->count : 0; };
  add(ColdPhase::process, "process");
  add(ColdPhase::cuInit, "cuInit");
  add(ColdPhase::context,
      count(ColdPhase::context) > 1 ? fmt::format("{} contexts", count(ColdPhase::context)) : "context");
  const auto modules = count(ColdPhase::moduleLoad);
  add(ColdPhase::moduleLoad, modules > 0 ? counted(modules, "module") : "modules");
  add(ColdPhase::jit, "PTX compile");
  add(ColdPhase::firstLaunch, "first launch");
  auto line = fmt::format("{}: {}", scale(cold.totalNs()), fmt::join(parts, " > "));
  const auto* host = barOf(cold, ColdPhase::host);
  if (host && host->ns && *host->ns > 0)
    line += fmt::format("{}host code {} {}", parts.empty() ? "" : "; ",
                        parts.empty() ? "alone" : "between them", scale.bare(*host->ns));
  return line;
}

std::string coldWho(const ReportData& data, const analyzer::ColdStart& cold) {
  const auto& info = data.view.processes()[cold.process].info;
  return data.coldStarts.size() > 1 ? fmt::format("pid {} ", info.pid) : "";
}

}  // namespace

std::string streamsText(const ReportData& data, const ReportOptions& options, const Style& style) {
  if (data.gpus.empty()) return "";
  std::string out;
  for (const auto& c : data.gpus) {
    std::string line = fmt::format("{} used; {}", c.streams.size(), depthText(c));
    if (c.copyNs > 0 && c.kernelNs > 0)
      line += c.bothNs == 0 ? std::string("; no copy ran behind a kernel")
                            : fmt::format("; {} of copy time behind kernels",
                                          wholePercent(shareOf(c.bothNs, c.copyNs)));
    const auto label = out.empty() ? style.heading("STREAMS") + "    " : std::string("           ");
    const auto gpu = data.gpus.size() > 1 && c.gpu != analyzer::kNone
                         ? fmt::format("GPU {}: ", data.view.gpus()[c.gpu].info.id)
                         : "";
    const auto width = style.width == 0 ? std::size_t{100000} : style.width - 11;
    out += label + wrapped(gpu + line, width, 11) + "\n";
    if (options.all) out += streamTable(data, c, style);
  }
  return out;
}

std::string coldStartText(const ReportData& data, const ReportOptions& options, const Style& style) {
  if (data.coldStarts.empty()) return "";
  std::vector<const analyzer::ColdStart*> order;
  for (const auto& cold : data.coldStarts) order.push_back(&cold);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->totalNs() > b->totalNs(); });
  const auto shown = options.all ? order.size() : std::min<std::size_t>(1, order.size());
  std::string out;
  for (std::size_t i = 0; i < shown; ++i) {
    auto text = coldWho(data, *order[i]) + coldLine(*order[i]);
    if (!order[i]->beginKnown) text += "; from the first thing recorded, the process start is not known";
    // Broken between phases rather than cut.
    const auto width = style.width == 0 ? std::size_t{100000} : style.width - 11;
    std::string lines;
    while (columnsOf(text) > width) {
      auto at = text.rfind(" > ", width);
      const auto semicolon = text.rfind("; ", width - 1);
      if (semicolon != std::string::npos && (at == std::string::npos || semicolon > at)) at = semicolon + 1;
      if (at == std::string::npos || at == 0) break;
      lines += text.substr(0, at) + "\n           ";
      text.erase(0, at + 1);
    }
    out += (i == 0 ? style.heading("COLD START") + " " : std::string(11, ' ')) + lines + text + "\n";
  }
  if (shown < order.size())
    out += fmt::format(
        "           {}, sooner: --all\n",
        counted(static_cast<std::int64_t>(order.size() - shown), "more process", "more processes"));
  return out;
}

std::string copiesText(const ReportData& data, const ReportOptions& options, const Style& style) {
  const auto& c = data.copies;
  if (c.copies == 0 && c.memsets == 0) return "";
  std::string line;
  if (c.copies > 0) {
    line = fmt::format("{}, {} in {}", formatCount(c.copies), formatBytes(c.bytes), runTime(c.timeNs));
    if (c.timeNs > 0)
      line += " = " + formatRate(static_cast<double>(c.bytes) * 1e9 / static_cast<double>(c.timeNs));
    if (c.pageableCopies > 0)
      line += fmt::format("; {} from or to pageable memory", formatCount(c.pageableCopies));
  }
  if (c.memsets > 0) line += fmt::format("{}{}", line.empty() ? "" : "; ", counted(c.memsets, "memset"));
  std::string out = style.line(style.heading("COPIES") + "     " + line) + "\n";
  if (!options.all) return out;
  TextTable table(
      {Align::left, Align::left, Align::right, Align::right, Align::right, Align::right, Align::right});
  table.heading({"kind", "memory", "count", "bytes", "total", "median", "rate"});
  for (const auto& g : c.groups) {
    const bool memset = g.kind == analyzer::CopyKind::memset;
    const auto rate = g.bytesPerSec();
    table.row({std::string(analyzer::textOf(g.kind)),
               memset ? std::string(analyzer::textOf(g.destination))
                      : fmt::format("{} to {}", analyzer::textOf(g.source), analyzer::textOf(g.destination)),
               formatCount(g.time.count), formatBytes(g.bytes), formatTime(g.time.totalNs),
               formatTime(g.time.medianNs), rate ? formatRate(*rate) : "—"});
  }
  return out + table.render(style, 2);
}

std::string nvtxText(const ReportData& data, const ReportOptions& options, const Style& style) {
  if (!data.nvtx) return "";
  const auto& rows = data.nvtx->rows;
  if (rows.empty()) return style.heading("NVTX") + "       no ranges in this recording\n";
  std::string out =
      style.heading("NVTX") + fmt::format("       {}; GPU: first start to last end of their kernels\n",
                                          counted(static_cast<std::int64_t>(rows.size()), "range name"));
  TextTable table(
      {Align::right, Align::right, Align::right, Align::right, Align::right, Align::right, Align::left});
  table.heading({"host", "ranges", "median", "GPU", "kernel time", "kernels", "range"});
  const auto shown = options.all ? rows.size() : std::min(options.top.value_or(20), rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& r = rows[i];
    const auto domain = harmless(data.view.name(r.domain));
    const bool ranges = r.time.count > 0;
    table.row({ranges ? formatTime(r.time.totalNs) : "—",
               ranges ? formatCount(r.time.count) : fmt::format("{} marks", formatCount(r.marks)),
               ranges ? formatTime(r.time.medianNs) : "—", r.kernels ? formatTime(r.projectedNs) : "—",
               r.kernels ? formatTime(r.kernelNs) : "—", formatCount(r.kernels),
               (domain.empty() ? "" : domain + ": ") + harmless(data.view.name(r.text))});
  }
  out += table.render(style);
  if (shown < rows.size()) out += fmt::format(" {} more: --all\n", rows.size() - shown);
  if (data.nvtx->kernelsOutside > 0)
    out += fmt::format(" {} in no range\n", counted(data.nvtx->kernelsOutside, "kernel"));
  if (data.nvtx->kernelsUnlinked > 0)
    out += fmt::format(" {} belong to no range: the call that launched them was not recorded\n",
                       counted(data.nvtx->kernelsUnlinked, "kernel"));
  return out;
}

std::string findingsText(const ReportData& data, const Style& style) {
  if (data.findings.empty()) return "";
  std::string out =
      style.heading("WHAT TO DO") + " ranked by time saved; savings overlap and are not added\n";
  std::vector<std::string> savings, confidences;
  std::size_t savingWidth = 0, confidenceWidth = 0;
  for (const auto& f : data.findings) {
    const TimeScale scale(f.recoverableHighNs);
    savings.push_back(f.recoverableHighNs <= 0                    ? "none"
                      : f.recoverableLowNs == f.recoverableHighNs ? scale(f.recoverableHighNs)
                      : f.recoverableLowNs <= 0
                          ? "up to " + scale(f.recoverableHighNs)
                          : fmt::format("{}-{}", scale.bare(f.recoverableLowNs), scale(f.recoverableHighNs)));
    confidences.emplace_back(analyzer::idOf(f.confidence));
    savingWidth = std::max(savingWidth, columnsOf(savings.back()));
    confidenceWidth = std::max(confidenceWidth, columnsOf(confidences.back()));
  }
  int rank = 0;
  for (std::size_t i = 0; i < data.findings.size(); ++i) {
    const auto& f = data.findings[i];
    const auto left =
        fmt::format(" {:>2}  {}  {}  ", f.recoverableHighNs > 0 ? std::to_string(++rank) : "-",
                    padRight(savings[i], savingWidth), padRight(confidences[i], confidenceWidth));
    const auto text = harmless(f.advice.empty() ? f.text : f.text + ": " + f.advice);
    const auto room =
        style.width == 0 ? text.size() + 1 : style.width - std::min(style.width - 20, left.size());
    out += left + wrapped(text, room, left.size()) + "\n";
  }
  return out;
}

}  // namespace warpmeter::cli
