// SPDX-License-Identifier: Apache-2.0
#include "cli/report_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "cli/comparison.h"
#include "cli/report_stalls.h"
#include "cli/report_text.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

using analyzer::Bound;
using analyzer::Confidence;
using analyzer::formatCount;
using analyzer::KernelCounters;
using analyzer::Metric;
using analyzer::Reason;
using analyzer::Unit;
using Align = TextTable::Align;

// "2 us": an interval that was asked for, without digits that nobody chose.
std::string intervalText(std::int64_t ns) {
  return ns >= 1000 && ns % 1000 == 0 && ns < 1'000'000 ? fmt::format("{} us", ns / 1000)
                                                        : analyzer::formatTime(ns);
}

std::string howMeasured(const analyzer::CounterQuality& q) {
  std::string text;
  if (q.samples > 0)
    text = q.sampledNs * 10 < q.runNs * 9
               ? fmt::format("sampled in {} bursts", intervalText(q.medianIntervalNs))
               : fmt::format("sampled every {}", intervalText(q.medianIntervalNs));
  if (q.rangedLaunches > 0)
    text += fmt::format("{}{} measured alone", text.empty() ? "" : ", ",
                        counted(q.rangedLaunches, "launch", "launches"));
  return text;
}

// GPUs with the same ceilings share a line.
std::vector<std::string> ceilingLines(const ReportData& data) {
  std::set<std::uint32_t> used;
  for (const auto& k : data.counters.kernels)
    used.insert(data.view.configs()[data.view.distinctKernels()[k.distinct].config].gpu);
  std::map<std::string, std::string> lines;  // text -> where it comes from
  std::vector<std::string> out;
  for (const auto gpu : used) {
    if (gpu >= data.bounds.ceilings.size() || !data.bounds.ceilings[gpu]) continue;
    const auto& c = *data.bounds.ceilings[gpu];
    if (lines.emplace(ceilingsText(c), c.from).second) out.push_back(ceilingsText(c) + "\n" + c.from);
  }
  return out;
}

std::string wholePercent(double percent) { return fmt::format("{:.0f} %", percent); }

std::string halfWidth(const Metric& m) {
  if (!m.value || !m.low || !m.high) return "";
  const double half = std::max(*m.high - *m.value, *m.value - *m.low);
  return half > 0 ? fmt::format(" ±{:.1f}", std::max(0.1, half)) : "";
}

// Half of the table's percentages have digits behind the point; the sign stands in the heading.
std::string bare(const std::string& percent) {
  return percent.ends_with(" %") ? percent.substr(0, percent.size() - 2) : percent;
}

struct CounterRow {
  const char* name;
  Metric KernelCounters::*metric;
  Unit unit;
};
constexpr std::array kRows{
    CounterRow{"occupancy achieved", &KernelCounters::occupancyPct, Unit::percent},
    CounterRow{"SMs active", &KernelCounters::smActivePct, Unit::percent},
    CounterRow{"DRAM rate", &KernelCounters::dramBytesPerSec, Unit::bytesPerSec},
    CounterRow{"DRAM read per launch", &KernelCounters::dramReadBytes, Unit::bytes},
    CounterRow{"DRAM written per launch", &KernelCounters::dramWriteBytes, Unit::bytes},
    CounterRow{"warp instructions per launch", &KernelCounters::instructions, Unit::count},
    CounterRow{"issue slots", &KernelCounters::issuePct, Unit::percent},
    CounterRow{"tensor pipe", &KernelCounters::tensorPct, Unit::percent},
    CounterRow{"FP32 pipe", &KernelCounters::fp32Pct, Unit::percent},
    CounterRow{"FP64 pipe", &KernelCounters::fp64Pct, Unit::percent},
    CounterRow{"integer pipe", &KernelCounters::intPct, Unit::percent},
    CounterRow{"L2 cache", &KernelCounters::l2Pct, Unit::percent},
    CounterRow{"L2 hits", &KernelCounters::l2HitPct, Unit::percent},
    CounterRow{"L1 cache", &KernelCounters::l1Pct, Unit::percent},
    CounterRow{"L1 hits", &KernelCounters::l1HitPct, Unit::percent},
    CounterRow{"PCIe", &KernelCounters::pcieBytesPerSec, Unit::bytesPerSec},
    CounterRow{"NVLink", &KernelCounters::nvlinkBytesPerSec, Unit::bytesPerSec},
};

std::string range(const Metric& m, Unit unit) {
  return m.low && m.high && *m.low < *m.high ? fmt::format("{} to {}", analyzer::formatValue(*m.low, unit),
                                                           analyzer::formatValue(*m.high, unit))
                                             : "";
}

std::string metricTable(const KernelCounters& counters, const Style& style) {
  TextTable table({Align::left, Align::right, Align::left, Align::right, Align::left});
  table.heading({"counter", "value", "95 % interval", "samples", "how"});
  std::string unmeasured;
  for (const auto& row : kRows) {
    const Metric& m = counters.*row.metric;
    if (!m.value && (!m.reason || *m.reason == Reason::notRecorded)) {
      unmeasured += (unmeasured.empty() ? "" : ", ") + std::string(row.name);
      continue;
    }
    table.row({row.name, m.value ? analyzer::formatValue(*m.value, row.unit) : "—", range(m, row.unit),
               m.value ? formatCount(m.samples) : "",
               std::string(m.value ? analyzer::named(m.provenance).text : analyzer::named(*m.reason).text)});
  }
  std::string out = table.empty() ? "" : table.render(style, 2);
  if (!unmeasured.empty())
    out +=
        "  " + wrapped("not recorded: " + unmeasured, style.width == 0 ? 100000 : style.width - 2, 4) + "\n";
  return out;
}

std::string rooflineLine(const analyzer::KernelBound& bound) {
  if (!bound.flopPerSec) return "";
  const auto at =
      bound.flopPerByte ? fmt::format(" at {:.3g} operations a byte of DRAM", *bound.flopPerByte) : "";
  return fmt::format("roofline: at most {}{} (from the activity of the pipes)",
                     operationsText(*bound.flopPerSec), at);
}

}  // namespace

const KernelCounters* countersOf(const ReportData& data, std::uint32_t distinct) {
  // In the order of the distinct kernels, all of them or none.
  const auto& all = data.counters.kernels;
  return distinct < all.size() && all[distinct].distinct == distinct ? &all[distinct] : nullptr;
}

const analyzer::KernelBound* boundOf(const ReportData& data, std::uint32_t distinct) {
  return countersOf(data, distinct) && distinct < data.bounds.kernels.size() ? &data.bounds.kernels[distinct]
                                                                             : nullptr;
}

std::string boundLine(const analyzer::KernelBound& bound) {
  if (bound.bound == Bound::notMeasured)
    return fmt::format("bound by: not measured, {}",
                       analyzer::named(bound.reason.value_or(Reason::notRecorded)).text);
  return fmt::format("bound by {} ({}): {}", analyzer::named(bound.bound).text, idOf(bound.confidence),
                     bound.why);
}

std::string countersHeaderText(const ReportData& data, const Style& style) {
  const auto& q = data.counters.quality;
  const std::size_t width = style.width == 0 ? 100000 : style.width - 11;
  const auto line = [&](const std::string& text) { return "Counters   " + wrapped(text, width, 11) + "\n"; };
  if (!q.any && data.stalls.any)
    return line(pcHeaderText(data) + "; achieved occupancy and bound need a run with --counters sample");
  if (!q.any) {
    if (!q.reason || *q.reason == Reason::notRequested || *q.reason == Reason::notRecorded) return "";
    return line(style.warn("none") + ": " +
                harmless(q.reasonText.empty() ? std::string(analyzer::named(*q.reason).text) : q.reasonText));
  }
  if (q.gpuShared)
    return line(fmt::format(
        "{}; {}: other processes used the GPU in {} of the samples, so occupancy and bound are not "
        "measured; record on a GPU of your own",
        howMeasured(q), style.warn("GPU shared"), wholePercent(q.foreignPct)));
  std::string text =
      fmt::format("{}, {} of {} measured", howMeasured(q), formatCount(static_cast<std::int64_t>(q.measured)),
                  counted(static_cast<std::int64_t>(data.kernels.distinctCount), "kernel"));
  if (q.foreignPct >= 0.5)
    text += fmt::format("; {} of the samples dropped: other work on the GPU", wholePercent(q.foreignPct));
  if (q.holes > 0) {
    text +=
        fmt::format("; {} without samples that should have some", counted(q.holes, "stretch", "stretches"));
    if (q.holesNs > 0) text += fmt::format(" ({} at most)", analyzer::formatTime(q.holesNs));
  }
  const auto ceilings = ceilingLines(data);
  if (ceilings.empty()) return line(text);
  const auto from = ceilings.front().substr(ceilings.front().find('\n') + 1);
  std::string out = line(fmt::format("{}; ceilings {}:", text, from));
  for (const auto& c : ceilings) {
    const auto at = c.find('\n');
    const auto other = c.substr(at + 1);
    out +=
        style.line(fmt::format("           {}{}", c.substr(0, at), other == from ? "" : " (" + other + ")")) +
        "\n";
  }
  return out;
}

std::string occupancyCell(const Metric& achieved, const std::string& possible) {
  return fmt::format("{}{} / {}", achieved.value ? fmt::format("{:.1f}", *achieved.value) : "—",
                     halfWidth(achieved), bare(possible));
}

std::string occupancyCell(const ReportData& data, const analyzer::FunctionSummary& function,
                          const std::string& possible) {
  std::vector<std::pair<Metric, double>> parts;
  for (const auto& d : function.distinct)
    if (const auto* counters = countersOf(data, d.distinct))
      parts.emplace_back(counters->occupancyPct, static_cast<double>(d.time.totalNs));
  return occupancyCell(parts.empty() ? Metric::missing(Reason::notRecorded) : analyzer::foldMetric(parts),
                       possible);
}

std::string boundCell(const ReportData& data, const analyzer::DistinctSummary& distinct) {
  const auto* bound = boundOf(data, distinct.distinct);
  if (!bound || bound->bound == Bound::notMeasured) return "—";
  std::string name(analyzer::named(bound->bound).text);
  if (bound->bound == Bound::l1 || bound->bound == Bound::l2) name.resize(2);
  std::string share;
  if (bound->bound == Bound::launch && bound->sharePct && distinct.occupancy && distinct.occupancy->busySms)
    share = fmt::format("{}/{}", *distinct.occupancy->busySms, bound->shareOf);  // "64/132 SMs"
  else if (bound->bound != Bound::launch && bound->bound != Bound::latency && bound->sharePct)
    share = wholePercent(*bound->sharePct);
  if (bound->confidence == Confidence::maybe) share += share.empty() ? "?" : " ?";
  return share.empty() ? name : fmt::format("{} {}", padRight(name, 7), share);
}

std::string countersReasonText(const ReportData& data, const Style& style) {
  const auto& q = data.counters.quality;
  const std::size_t width = style.width == 0 ? 100000 : style.width - 1;
  const auto line = [&](const std::string& text) { return " " + wrapped(text, width, 3) + "\n"; };
  if (!q.any && data.stalls.any) return "";  // said in the header
  if (!q.any) {
    const auto reason = data.fromNsys() ? Reason::notRecorded
                                        : analyzer::reasonFromId(data.run.quality.countersReason)
                                              .value_or(q.reason.value_or(Reason::notRequested));
    if (reason == Reason::notRecorded)
      return line("achieved occupancy and bound: —, the file holds no counters");
    return line(fmt::format("achieved occupancy and bound: —, {} ({})", analyzer::named(reason).text,
                            analyzer::named(reason).id));
  }
  std::map<Reason, std::int64_t> reasons;
  bool uncertain = false;
  for (std::size_t i = 0; i < data.counters.kernels.size() && i < data.bounds.kernels.size(); ++i) {
    const auto& bound = data.bounds.kernels[i];
    const auto reason =
        bound.bound == Bound::notMeasured ? bound.reason : data.counters.kernels[i].occupancyPct.reason;
    if (reason) ++reasons[*reason];
    uncertain = uncertain || (bound.bound != Bound::notMeasured && bound.confidence == Confidence::maybe);
  }
  std::string out;
  for (const auto& [reason, count] : reasons)
    out += line(fmt::format("—: {} ({}, {}){}", analyzer::named(reason).text, analyzer::named(reason).id,
                            counted(count, "kernel"),
                            reason == Reason::tooFewSamples || reason == Reason::neverAlone
                                ? "; a longer run or --counters exact would measure it"
                                : ""));
  if (uncertain)
    out += line("?: uncertain, an interval reaches the threshold or not every unit was measured");
  return out;
}

std::string kernelCountersText(const ReportData& data, const analyzer::DistinctSummary& distinct,
                               const Style& style) {
  const auto* counters = countersOf(data, distinct.distinct);
  const auto* bound = boundOf(data, distinct.distinct);
  if (!data.counters.quality.any || !counters || !bound) return "";
  const auto& config = data.view.configs()[data.view.distinctKernels()[distinct.distinct].config];
  std::string out = style.line("  " + style.heading("counters of " + shapeOf(config))) + "\n" +
                    metricTable(*counters, style);
  const std::size_t width = style.width == 0 ? 100000 : style.width - 2;
  const auto add = [&](const std::string& text) {
    if (!text.empty()) out += "  " + wrapped(text, width, 4) + "\n";
  };
  add(boundLine(*bound));
  if (const auto* comparison = comparisonOf(data, distinct.distinct)) add(referenceLine(*comparison));
  add(rooflineLine(*bound));
  if (config.gpu < data.bounds.ceilings.size() && data.bounds.ceilings[config.gpu]) {
    const auto& c = *data.bounds.ceilings[config.gpu];
    add(fmt::format("ceilings: {} ({})", ceilingsText(c), c.from));
  }
  return out;
}

}  // namespace warpmeter::cli
