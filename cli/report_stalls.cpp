// SPDX-License-Identifier: Apache-2.0
#include "cli/report_stalls.h"

#include <fmt/format.h>

#include <algorithm>

#include "warpmeter/analyzer/format.h"

namespace warpmeter::cli {
namespace {

using analyzer::formatCount;
using analyzer::formatPercent;
using analyzer::KernelStalls;
using analyzer::Metric;
using analyzer::Reason;
using analyzer::StallShare;
using Align = TextTable::Align;

constexpr std::size_t kFunctions = 5, kReasons = 3, kPlaces = 3, kPlacesOfOne = 10;
constexpr double kWorthPct = 2;  // smaller shares only in the details

std::string value(const Metric& m) { return m.value ? formatPercent(*m.value) : "—"; }
std::string interval(const Metric& m) {
  return m.value ? fmt::format("{} to {}", formatPercent(*m.low), formatPercent(*m.high)) : "";
}

std::string nameOf(const analyzer::FunctionSummary& f) {
  return f.shortName.empty() ? "(no name)" : harmless(f.shortName);
}

std::string tooFew(const KernelStalls& k) {
  return fmt::format("{} of the {} that shares need (too_few_samples)", counted(k.samples, "PC sample"),
                     analyzer::kPcSamplesMin);
}

std::string placesLine(const KernelStalls& k) {
  std::string out;
  for (std::size_t i = 0; i < std::min(kPlaces, k.places.size()); ++i) {
    const auto& p = k.places[i];
    if (!p.sharePct.value || *p.sharePct.value < kWorthPct) break;
    out += fmt::format("{}{} {}", out.empty() ? "at " : ", ", harmless(p.text()), value(p.sharePct));
  }
  return out;
}

std::string oneFunction(const KernelStalls& k, const std::string& name, const Style& style) {
  if (k.reason) return style.line(fmt::format(" {}: —, {}", name, tooFew(k))) + "\n";
  const auto places = placesLine(k);
  std::string out = style.line(fmt::format(" {}: {}{}", name, counted(k.samples, "sample"),
                                           places.empty() ? "" : "; most " + places)) +
                    "\n";
  TextTable table({Align::right, Align::right, Align::left});
  std::size_t shown = 0;
  for (const StallShare& s : k.reasons) {
    const bool issuing = s.id == analyzer::kIssuing;
    if (!issuing && (shown >= kReasons || *s.sharePct.value < kWorthPct)) continue;
    if (!issuing) ++shown;
    const double half = std::max(*s.sharePct.high - *s.sharePct.value, *s.sharePct.value - *s.sharePct.low);
    table.row({value(s.sharePct), fmt::format("±{:.1f}", std::max(0.1, half)),
               issuing || s.words.empty() ? harmless(s.term) : fmt::format("{}: {}", s.term, s.words)});
  }
  return out + table.render(style, 3);
}

Json placeJson(const analyzer::PcPlace& p) {
  return Json{{"file", p.file.empty() ? Json(nullptr) : Json(p.file)},
              {"line", intOrNull(p.line)},
              {"pcOffset", intOrNull(p.pcOffset)},
              {"samples", p.samples},
              {"sharePct", toJson(p.sharePct)},
              {"mostly", p.mostly}};
}

}  // namespace

std::string pcHeaderText(const ReportData& data) {
  const auto& s = data.stalls;
  if (!s.any) return "";
  std::string how;
  if (s.periodCycles)
    how = fmt::format(", one of each scheduler every {} cycles", formatCount(*s.periodCycles));
  // Of all that the hardware took of the application's kernels.
  if (const double all = static_cast<double>(s.samples + s.dropped); s.dropped > 0)
    how += fmt::format(", {} dropped by the hardware",
                       formatPercent(100 * static_cast<double>(s.dropped) / all));
  return fmt::format("{}{}; {} of {} with shares", counted(s.samples, "PC sample"), how,
                     formatCount(static_cast<std::int64_t>(s.measured)),
                     counted(static_cast<std::int64_t>(data.kernels.functions.size()), "function"));
}

std::string stallsText(const ReportData& data, const ReportOptions& options, const Style& style) {
  if (!data.stalls.any) return "";
  std::string out = style.heading("WHY WARPS WAIT") +
                    "  share of a function's PC samples, all its shapes and processes together\n";
  const auto& functions = data.kernels.functions;
  const auto shown =
      options.all ? functions.size() : std::min(options.top.value_or(kFunctions), functions.size());
  for (std::size_t i = 0; i < shown; ++i)
    out += oneFunction(data.stalls.kernels[functions[i].function], nameOf(functions[i]), style);
  if (shown < functions.size()) out += fmt::format(" {} more: --all\n", functions.size() - shown);
  if (data.stalls.elsewhere > 0)
    out += fmt::format(" {} in functions that no launch names (called ones, for instance)\n",
                       counted(data.stalls.elsewhere, "sample"));
  return out;
}

std::string functionStallsText(const ReportData& data, const analyzer::FunctionSummary& function,
                               const Style& style) {
  const KernelStalls& k = data.stalls.kernels[function.function];
  if (!data.stalls.any) {
    const auto reason = data.stalls.reason.value_or(Reason::notRequested);
    return style.line(fmt::format("  why its warps wait: —, {}{}", analyzer::named(reason).text,
                                  reason == Reason::notRequested ? "; record with --counters pc" : "")) +
           "\n";
  }
  if (k.reason) return style.line("  why its warps wait: —, " + tooFew(k)) + "\n";
  std::string out = "  " + style.heading("why its warps wait") +
                    fmt::format(", of {}{}\n", counted(k.samples, "PC sample"),
                                function.distinct.size() > 1 ? " of all its shapes together" : "");
  TextTable reasons({Align::right, Align::left, Align::right, Align::left});
  reasons.heading({"share", "95 % interval", "idle", "a warp waits for"});
  bool twins = false;
  for (const StallShare& s : k.reasons) {
    twins = twins || s.noIssuePct.value;
    reasons.row({value(s.sharePct), interval(s.sharePct), value(s.noIssuePct),
                 s.words.empty() ? harmless(s.term) : fmt::format("{} ({})", s.words, s.term)});
  }
  out += reasons.render(style, 2);
  if (twins)
    out +=
        style.line("  idle: of all samples, in a cycle in which the warp's scheduler issued nothing") + "\n";
  TextTable places({Align::right, Align::left, Align::left, Align::left});
  places.heading({"share", "95 % interval", "where", "mostly"});
  const auto shown = std::min(kPlacesOfOne, k.places.size());
  bool lines = false;
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& p = k.places[i];
    lines = lines || !p.file.empty();
    places.row({value(p.sharePct), interval(p.sharePct), harmless(p.text()), harmless(p.mostly)});
  }
  out += places.render(style, 2);
  if (shown < k.allPlaces) out += fmt::format("  {} more places: --json\n", k.allPlaces - shown);
  if (!lines) out += style.line("  no source lines: compile with -lineinfo to see them") + "\n";
  return out;
}

Json pcSamplesJson(const ReportData& data) {
  const auto& s = data.stalls;
  return Json{{"any", s.any},
              {"reason", s.reason ? Json(analyzer::named(*s.reason).id) : Json(nullptr)},
              {"samples", s.samples},
              {"elsewhere", s.elsewhere},
              {"dropped", s.dropped},
              {"otherKernels", s.otherKernels},
              {"periodCycles", orNull(s.periodCycles)},
              {"measuredFunctions", s.measured}};
}

Json stallsJson(const ReportData& data, const analyzer::FunctionSummary& function) {
  if (!data.stalls.any) return nullptr;
  const KernelStalls& k = data.stalls.kernels[function.function];
  Json reasons = Json::array(), places = Json::array();
  for (const StallShare& s : k.reasons)
    reasons.push_back(
        Json{{"id", s.id},
             {"term", s.term},
             {"waitsFor", s.words.empty() ? Json(nullptr) : Json(s.words)},
             {"samples", s.samples},
             {"noIssueSamples", s.noIssuePct.reason == Reason::notRecorded ? Json(nullptr) : Json(s.noIssue)},
             {"sharePct", toJson(s.sharePct)},
             {"noIssuePct", toJson(s.noIssuePct)}});
  for (const auto& p : k.places) places.push_back(placeJson(p));
  return Json{{"samples", k.samples},
              {"reason", k.reason ? Json(analyzer::named(*k.reason).id) : Json(nullptr)},
              {"reasons", std::move(reasons)},
              {"places", std::move(places)},
              {"allPlaces", k.allPlaces}};
}

}  // namespace warpmeter::cli
