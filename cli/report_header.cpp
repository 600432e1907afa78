// SPDX-License-Identifier: Apache-2.0
// The first lines of the report, quality of the data before any number, and where the time went.
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

const analyzer::ViewProcess* mainProcess(const ReportData& data) {
  const auto processes = data.view.processes();
  if (processes.empty()) return nullptr;
  // The one that started the others; files that know no starts list it first.
  return &*std::min_element(processes.begin(), processes.end(), [](const auto& a, const auto& b) {
    const auto start = [](const ProcessInfo& p) {
      return isNull(p.startNs) ? std::numeric_limits<std::int64_t>::max() : p.startNs;
    };
    return start(a.info) < start(b.info);
  });
}

std::string exitText(const std::string& how) {
  if (how.starts_with("exited(") && how.ends_with(")")) return "exit " + how.substr(7, how.size() - 8);
  if (how.starts_with("killed(") && how.ends_with(")"))
    return "killed by signal " + how.substr(7, how.size() - 8);
  if (how == "still running") return "still running";
  return how == "unknown" ? "end unknown" : harmless(how);
}

std::string titleLine(const ReportData& data, const Style& style) {
  std::string name = data.file.filename(), details;
  std::vector<std::string> parts;
  const auto* process = mainProcess(data);
  if (process) {
    const auto& info = process->info;
    if (!info.name.empty()) name = info.name;
    if (info.pid > 0) parts.push_back(fmt::format("pid {}", info.pid));
    if (!info.exitHow.empty())
      parts.push_back(exitText(info.exitHow));
    else if (!data.fromNsys())
      parts.push_back("end not recorded");
  }
  if (data.fromNsys()) parts.push_back(fmt::format("nsys export {}", data.reader().schemaVersion()));
  if (const auto count = data.view.processes().size(); count > 1)
    parts.push_back(
        data.run.processesWithGpuWork == count
            ? fmt::format("{} processes", count)
            : fmt::format("{} processes ({} with GPU work)", count, data.run.processesWithGpuWork));
  const auto gpu = gpuTitle(data.view);
  parts.push_back(runTime(data.run.time.wallNs()) + (gpu.empty() ? "" : " on " + gpu));
  // Too long for one line: the GPU gets its own.
  const auto one = fmt::format("{}   {}", harmless(name), fmt::join(parts, ", "));
  if (style.width == 0 || columnsOf(one) <= style.width) return style.heading(one) + "\n";
  parts.back() = runTime(data.run.time.wallNs());
  return style.heading(style.line(fmt::format("{}   {}", harmless(name), fmt::join(parts, ", ")))) + "\n" +
         style.line("GPU        " + gpu) + "\n";
}

// Its sentence counts itself.
bool isSentence(const analyzer::LossLine& loss) { return loss.kind == "left_running"; }

std::string lossText(const analyzer::LossLine& loss) {
  std::string text = loss.count ? fmt::format("{} x ", formatCount(*loss.count)) : "an unknown number of ";
  text += harmless(loss.kind);
  if (!loss.why.empty()) text += ": " + harmless(loss.why);
  if (loss.fromNs && loss.toNs)
    text += fmt::format(" (from {} to {})", runTime(*loss.fromNs), runTime(*loss.toNs));
  return text;
}

std::string qualityText(const ReportData& data, const Style& style) {
  const auto& q = data.run.quality;
  const auto timed = q.launches == 0 ? std::string("no launches")
                                     : fmt::format("{} of {} timed", formatCount(q.timed),
                                                   counted(q.launches, "launch", "launches"));
  std::string line;
  if (data.fromNsys()) {
    line = fmt::format("{}; an nsys export does not say what was lost", timed);
    return style.line("Quality    " + line) + "\n";
  }
  const auto lost = q.unknownLosses && q.lostRecords == 0 ? std::string("an unknown number of records lost")
                    : q.unknownLosses ? fmt::format("at least {} lost", counted(q.lostRecords, "record"))
                                      : fmt::format("{} lost", counted(q.lostRecords, "record"));
  std::string cost;
  if (q.ownCostNs && q.ownCostPct && *q.ownCostPct >= 0.05)
    cost = fmt::format("; own cost at least {} ({})", analyzer::formatTime(*q.ownCostNs), formatPercent(*q.ownCostPct));
  else if (q.ownCostNs)
    cost = fmt::format("; own cost at least {}", analyzer::formatTime(*q.ownCostNs));
  const auto verdict = q.complete ? style.good("complete") : style.warn("INCOMPLETE");
  std::string out = style.line(fmt::format("Quality    {}: {}, {}{}", verdict, timed, lost, cost)) + "\n";
  if (q.unfinished)
    out += style.line("           the recorder did not finish the file: it is still running or was killed") +
           "\n";
  constexpr std::size_t kShown = 4;
  std::size_t others = 0;
  for (const auto& loss : q.losses) {
    if (loss.kind == "samples" && data.counters.quality.holes > 0) continue;  // on the counters' line
    if (!isSentence(loss) && others++ >= kShown) continue;
    const auto text = isSentence(loss) ? harmless(loss.why) : lossText(loss);
    out += "           " + (style.width == 0 ? text : wrapped(text, style.width - 11, 11)) + "\n";
  }
  if (others > kShown) out += fmt::format("           and {} more: --json\n", others - kShown);
  return out;
}

// Processes that could not be recorded are part of the quality.
std::string statusText(const ReportData& data, const Style& style) {
  std::string out;
  for (const auto& process : data.view.processes()) {
    const auto& status = process.info.status;
    if (!status.starts_with("blocked") && !status.starts_with("refused") && !status.starts_with("disabled"))
      continue;
    out += style.line(fmt::format("           {}: process {} ({}) {}", style.warn("not recorded"),
                                  process.info.pid, harmless(process.info.name), harmless(status))) +
           "\n";
  }
  return out;
}

std::string idlePart(const analyzer::ProfileView& view, const analyzer::IdlePart& part,
                     const std::string& time) {
  using enum analyzer::IdleCause;
  const auto call = harmless(analyzer::apiBaseName(view.name(part.api)));
  switch (part.cause) {
    case launching:
      return "host launching " + time;
    case sync:
      return fmt::format("in {} {}", call.empty() ? "a synchronizing call" : call, time);
    case api:
      return fmt::format("in {} {}", call.empty() ? "CUDA calls" : call, time);
    case host:
      return "host outside CUDA " + time;
    case queued:
      return "queued on the GPU " + time;
    case unknown:
      return "cause not recorded " + time;
  }
  return time;
}

}  // namespace

std::string headerText(const ReportData& data, const Style& style) {
  return titleLine(data, style) + qualityText(data, style) + statusText(data, style) +
         countersHeaderText(data, style);
}

std::string timeText(const ReportData& data, const Style& style) {
  const auto& t = data.run.time;
  if (!t.anyGpuWork)
    return style.heading("TIME") +
           fmt::format("       {}: no GPU work in this recording\n", runTime(t.wallNs()));
  const TimeScale scale(t.wallNs());
  // What would show as 0.00 keeps its digits in a smaller unit.
  const auto part = [&](std::int64_t ns) {
    return ns >= t.wallNs() / 100 ? scale(ns) : analyzer::formatTime(ns);
  };
  std::string busy = "kernels " + part(t.kernelNs);
  if (t.copyNs > 0) busy += ", copies " + part(t.copyNs);
  if (t.bothNs > 0) busy += fmt::format(", {} of it both at once", part(t.bothNs));
  std::string idle;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, t.idle.size()); ++i)
    if (shareOf(t.idle[i].ns, t.idleNs) >= 1)
      idle += (idle.empty() ? "" : ", ") + idlePart(data.view, t.idle[i], part(t.idle[i].ns));

  // A small value beside large ones: in its own unit rather than as 0.00.
  const auto cell = [&](std::int64_t ns) {
    return ns > 0 && scale(ns) == scale(0) ? analyzer::formatTime(ns) : scale(ns);
  };
  std::string startUp = "until the first kernel" + std::string(data.coldStarts.empty() ? "" : ", see COLD START");
  if (shareOf(t.startUpCopyNs, t.startUpNs) > 1) startUp += "; copies " + part(t.startUpCopyNs);

  struct Row {
    const char* name;
    std::int64_t ns;
    std::string what;
  };
  const Row rows[] = {
      {"start-up", t.startUpNs, startUp},
      {"GPU busy", t.busyNs, busy},
      {"GPU idle", t.idleNs, idle},
      {"shut-down", t.shutDownNs, ""}};
  std::size_t widest = 0, bars = 0;
  const auto bar = [&](std::int64_t ns) {
    return std::string(static_cast<std::size_t>(std::lround(shareOf(ns, t.wallNs()) * 0.3)), '#');
  };
  for (const auto& row : rows) {
    widest = std::max(widest, cell(row.ns).size());
    bars = std::max(bars, bar(row.ns).size());
  }
  std::string out = fmt::format("{}                  of {}\n", style.heading("TIME"), runTime(t.wallNs()));
  for (const auto& row : rows) {
    const auto left = fmt::format("  {:<9}  {}  {:>7}  {}  ", row.name, padLeft(cell(row.ns), widest),
                                  formatPercent(shareOf(row.ns, t.wallNs())), padRight(bar(row.ns), bars));
    auto line =
        left + (style.width == 0 ? row.what : wrapped(row.what, style.width - left.size(), left.size()));
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace warpmeter::cli
