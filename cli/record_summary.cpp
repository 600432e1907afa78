// SPDX-License-Identifier: Apache-2.0
#include "cli/record_summary.h"

#include <fmt/format.h>

#include "cli/report_text.h"
#include "cli/text.h"
#include "warpmeter/analyzer/format.h"
#include "warpmeter/analyzer/kernel_summary.h"
#include "warpmeter/analyzer/names.h"
#include "warpmeter/analyzer/run_summary.h"

namespace warpmeter::cli {
namespace {

using analyzer::formatBytes;
using analyzer::formatCount;

// Above this, looking through the file would keep people from their prompt.
constexpr std::uintmax_t kHighlightBytes = 256u << 20;

std::string costText(std::int64_t ns, std::int64_t wholeNs) {
  const double percent = shareOf(ns, wholeNs);
  return percent < 0.05 ? analyzer::formatTime(ns)
                        : fmt::format("{} ({})", analyzer::formatTime(ns), analyzer::formatPercent(percent));
}

template <std::size_t N>
std::string textOf(const char (&field)[N]) {
  return harmless(std::string_view(field, strnlen(field, N)));
}

std::string lossText(const wire::Summary& s) {
  if (s.complete) return "nothing lost";
  std::string text;
  if (s.recordsLost > 0)
    text = fmt::format("{} lost", counted(s.recordsLost, "record"));
  else if (s.recordsLost < 0)
    text = "an unknown number of records lost";
  else if (s.untimedKernels > 0)
    text = fmt::format("{} without times", counted(s.untimedKernels, "launch", "launches"));
  else
    text = "incomplete";
  const auto why = textOf(s.firstLoss);
  return why.empty() ? text : fmt::format("{} ({})", text, why);
}

std::string countsLine(const wire::Summary& s) {
  std::vector<std::string> parts;
  if (const auto n = s.kernels + s.untimedKernels; n > 0) parts.push_back(counted(n, "launch", "launches"));
  if (s.copies > 0)
    parts.push_back(fmt::format("{} ({})", counted(s.copies, "copy", "copies"), formatBytes(s.copyBytes)));
  if (s.memsets > 0) parts.push_back(counted(s.memsets, "memset"));
  if (s.apiCalls > 0) parts.push_back(counted(s.apiCalls, "API call"));
  if (s.nvtxRanges > 0) parts.push_back(counted(s.nvtxRanges, "NVTX range"));
  return parts.empty() ? lossText(s) : fmt::format("{}; {}", fmt::join(parts, ", "), lossText(s));
}

std::string nothingLine(const RecordedRun& run) {
  const auto& s = *run.summary;
  if (run.driverMissing) return "no GPU work recorded: no CUDA driver found (libcuda.so.1); next: warpmeter doctor";
  if (const auto blocked = textOf(s.blocked); !blocked.empty()) return "no GPU work recorded: " + blocked;
  if (const auto why = textOf(s.firstLoss); !s.complete && !why.empty())
    return "no GPU work recorded: " + why;
  if (s.processesRecorded == 0) return "no GPU work recorded: no process of this run loaded the CUDA driver";
  return "no GPU work recorded: the CUDA driver was loaded but nothing was launched";
}

// What a person can do about it, by reason id.
std::string_view remedyFor(std::string_view reason) {
  if (reason == "no_permission") return "run as root, or see warpmeter doctor for the driver's option";
  if (reason == "counters_busy") return "end the tool that holds them (DCGM, ncu, nsys), or record with --counters none";
  return "";
}

// "" when there is nothing to tell: counters that were not asked for, or an older recorder.
std::string countersText(const wire::Summary& s) {
  const std::string id = textOf(s.counters), said = textOf(s.countersText);
  if (id.empty() || id == "not_requested") return "";
  if (id == "sampled") {
    const auto text = fmt::format("counters sampled, {}", counted(s.samples, "sample"));
    return said.empty() ? text : fmt::format("{} ({})", text, said);
  }
  if (id == "ranged") return said.starts_with("exact mode: ") ? said : "counters of single launches; " + said;
  if (id == "sampled,ranged") return fmt::format("counters sampled, {} ({})", counted(s.samples, "sample"), said);
  if (id == "pc") return said.starts_with("PC sampling: ") ? said : "PC sampling; " + said;
  // The sampler's own line comes with what to do about it; what CUPTI said inside the process does not.
  if (const auto remedy = remedyFor(id); said.starts_with("PC sampling: ") && !remedy.empty())
    return fmt::format("no counters: {}; {}", said, remedy);
  if (!said.empty()) return "no counters: " + said;
  const auto reason = analyzer::reasonFromId(id);
  const auto remedy = remedyFor(id);
  return fmt::format("no counters: {}{}{}", reason ? analyzer::named(*reason).text : id, remedy.empty() ? "" : "; ", remedy);
}

bool anyWork(const wire::Summary& s) { return s.kernels + s.untimedKernels + s.copies + s.memsets > 0; }

}  // namespace

bool isComplete(const RecordedRun& run) { return run.summary && run.summary->complete != 0; }

std::vector<std::string> summaryLines(const RecordedRun& run) {
  std::vector<std::string> lines;
  auto first = fmt::format("{} {} after {}", harmless(run.title), run.end.how(), runTime(run.end.durationNs));
  if (!run.summary) {
    lines.push_back(first);
    lines.push_back(fmt::format("the recorder died during the run; what it had committed is in {}",
                                harmless(run.file.string())));
    return lines;
  }
  const auto& s = *run.summary;
  if (s.selfCostNs >= 0 && anyWork(s) && run.end.durationNs > 0)
    first += "; recording cost at least " + costText(s.selfCostNs, run.end.durationNs);
  lines.push_back(first);
  if (!anyWork(s)) lines.push_back(nothingLine(run));
  if (anyWork(s) || s.apiCalls + s.nvtxRanges > 0) lines.push_back(countsLine(s));
  if (anyWork(s))
    if (const auto blocked = textOf(s.blocked); !blocked.empty()) lines.push_back(blocked);
  if (const auto left = textOf(s.leftRunning); !left.empty()) lines.push_back(left);
  const auto found = highlights(run.file);
  const auto counters = anyWork(s) ? countersText(s) : "";
  const bool sampled = counters.starts_with("counters sampled");
  for (std::size_t i = 0; i < found.size(); ++i) {
    lines.push_back(i == 0 && sampled ? fmt::format("{}; {}", found[i], counters) : found[i]);
  }
  if (!counters.empty() && (!sampled || found.empty())) lines.push_back(counters);
  const auto file = harmless(run.file.string());
  lines.push_back(fmt::format("file {} ({}, {}{})   next: warpmeter report {}", file,
                              formatBytes(s.fileBytes), s.complete ? "complete" : "incomplete",
                              s.journalDeleted ? "" : "; keep its -wal file beside it",
                              shellQuoted(file.starts_with("./") ? file.substr(2) : file)));
  return lines;
}

std::vector<std::string> highlights(const std::filesystem::path& file) {
  std::error_code error;
  if (const auto size = std::filesystem::file_size(file, error); error || size > kHighlightBytes) return {};
  auto reader = ProfileReader::open(file);
  if (!reader) return {};
  analyzer::LoadOptions options;
  options.tables = analyzer::Tables::kernels | analyzer::Tables::copies;
  auto view =
      analyzer::ProfileView::load({std::make_shared<const ProfileReader>(std::move(*reader))}, options);
  if (!view || view->kernelCount() == 0) return {};
  auto run = analyzer::summarizeRun(*view);
  auto kernels = analyzer::summarizeKernels(*view);
  if (!run || !kernels || kernels->functions.empty()) return {};

  std::vector<std::string> lines;
  const auto& time = run->time;
  if (time.wallNs() > 0)
    lines.push_back(fmt::format("{} {} busy, first kernel after {}", gpuNames(*view),
                                analyzer::formatPercent(100.0 * static_cast<double>(time.busyNs) /
                                                        static_cast<double>(time.wallNs())),
                                runTime(time.startUpNs)));
  const auto& top = kernels->functions.front();
  auto most = fmt::format("most time: {} {} of kernel time", harmless(top.shortName),
                          analyzer::formatPercent(top.sharePct));
  if (!top.distinct.empty() && top.distinct.front().occupancy) {
    const auto& occupancy = *top.distinct.front().occupancy;
    most += fmt::format(" (occupancy at most {}", analyzer::formatPercent(occupancy.occupancyPct));
    if (const auto limiter = analyzer::limiterText(occupancy); limiter != "-") most += ", held by " + limiter;
    most += ")";
  }
  lines.push_back(most);
  return lines;
}

}  // namespace warpmeter::cli
