// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/stalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "src/cancelled.h"
#include "src/counters/interval.h"

namespace warpmeter::analyzer {
namespace {

constexpr std::string_view kPrefix = "smsp__pcsamp_warps_issue_stalled_", kTwin = "_not_issued";

// A stall reason's name in two parts.
struct ParsedReason {
  std::string_view id;
  bool twin = false;  // the part of the reason's samples in which the scheduler issued nothing
};
ParsedReason parse(std::string_view name) {
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const bool twin = name.ends_with(kTwin);
  if (twin) name.remove_suffix(kTwin.size());
  return {name, twin};
}

// Samples and, among them, those without an issue.
struct Count {
  std::int64_t all = 0, noIssue = 0;
  // The twin counts samples that the reason counts too. A file in which it is larger did not keep the reason.
  std::int64_t samples() const { return std::max(all, noIssue); }
};

struct PlaceKey {
  NameId file = 0;
  std::int64_t at = 0;  // the line; without a file the offset
  auto operator<=>(const PlaceKey&) const = default;
};

using ByReason = std::map<std::string_view, Count>;
struct Collected {
  // By instruction first: a reason and its twin come in rows of their own. Of each process: another one may
  // have another build of the function.
  std::map<std::pair<std::uint32_t, std::int64_t>, std::pair<PlaceKey, ByReason>> instructions;
  std::int64_t samples() const {
    std::int64_t out = 0;
    for (const auto& [pc, i] : instructions)
      for (const auto& [id, count] : i.second) out += count.samples();
    return out;
  }
};

StallShare nameOf(std::string_view id) {
  StallShare out;
  out.id = id;
  const auto known = std::ranges::find(kStalls, id, &StallName::id);
  if (known != kStalls.end()) {
    out.term = known->term;
    out.words = known->words;
  } else {
    out.term = id.empty() ? "unknown" : id;
    std::ranges::replace(out.term, '_', ' ');
  }
  return out;
}

Metric share(std::int64_t part, const KernelStalls& of) {
  return of.reason ? Metric::missing(*of.reason) : shareOfSamples(part, of.samples);
}

KernelStalls summarize(const ProfileView& view, const Collected& collected, bool twins) {
  KernelStalls out;
  ByReason reasons;
  std::map<PlaceKey, ByReason> places;
  for (const auto& [pc, instruction] : collected.instructions) {
    const auto& [place, byReason] = instruction;
    for (const auto& [id, count] : byReason) {
      for (Count* sum : {&reasons[id], &places[place][id]}) {
        sum->all += count.samples();
        sum->noIssue += count.noIssue;
      }
      out.samples += count.samples();
    }
  }
  if (out.samples < kPcSamplesMin) out.reason = Reason::tooFewSamples;
  for (const auto& [id, count] : reasons) {
    StallShare row = nameOf(id);
    row.samples = count.all;
    row.noIssue = count.noIssue;
    row.sharePct = share(count.all, out);
    row.noIssuePct = twins ? share(count.noIssue, out) : Metric::missing(Reason::notRecorded);
    out.reasons.push_back(std::move(row));
  }
  std::ranges::stable_sort(out.reasons, std::greater{}, &StallShare::samples);
  for (const auto& [key, byReason] : places) {
    PcPlace place;
    if (key.file != 0) {
      place.file = view.name(key.file);
      place.line = key.at;
    } else {
      place.pcOffset = key.at;
    }
    std::string_view mostly;
    std::int64_t most = -1;
    for (const auto& [id, count] : byReason) {
      place.samples += count.all;
      if (count.all > most) mostly = id, most = count.all;
    }
    place.mostly = nameOf(mostly).term;
    place.sharePct = share(place.samples, out);
    out.places.push_back(std::move(place));
  }
  out.allPlaces = out.places.size();
  std::ranges::stable_sort(out.places, std::greater{}, &PcPlace::samples);
  if (out.places.size() > KernelStalls::kPlaces) out.places.resize(KernelStalls::kPlaces);
  return out;
}

Reason whyNone(const ProfileView& view) {
  for (const ViewSource& s : view.sources()) {
    if (s.reader->kind() == FileKind::nsys) return Reason::notRecorded;
    if (const auto reason = reasonFromId(s.session.counters)) return *reason;
  }
  return Reason::notRequested;
}

// More is a damaged file (a month of 10^8 a second is less), and would not add up within int64.
bool plausible(std::int64_t samples) { return samples >= 0 && samples <= 1'000'000'000'000'000; }

Result<void> addRuns(const ProfileView& view, StallSummary& out) {
  bool same = true;
  for (const ViewSource& s : view.sources()) {
    auto runs = s.reader->pcRuns();
    if (!runs) return runs.error();
    for (const PcRun& run : *runs) {
      if (!plausible(run.dropped) || !plausible(run.otherKernels)) continue;
      out.dropped += run.dropped;
      out.otherKernels += run.otherKernels;
      if (!out.periodCycles) out.periodCycles = run.periodCycles;
      same = same && *out.periodCycles == run.periodCycles;
    }
  }
  if (!same || (out.periodCycles && *out.periodCycles <= 0)) out.periodCycles.reset();
  return {};
}

}  // namespace

std::string PcPlace::text() const {
  if (isNull(line)) return fmt::format("+{:#x}", pcOffset);
  return fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), line);
}

const StallShare* KernelStalls::issuing() const {
  const auto it = std::ranges::find(reasons, kIssuing, &StallShare::id);
  return it == reasons.end() ? nullptr : &*it;
}

const StallShare* KernelStalls::most() const {
  const auto it = std::ranges::find_if(
      reasons, [](const StallShare& s) { return s.id != kIssuing && s.id != "not_selected"; });
  return it == reasons.end() ? nullptr : &*it;
}

// E. B. Wilson, Probable inference, the law of succession, and statistical inference, 1927.
Metric shareOfSamples(std::int64_t part, std::int64_t whole) {
  const auto n = static_cast<double>(whole);
  const double p = static_cast<double>(part) / n, zz = kNormal95 * kNormal95;
  const double middle = (p + zz / (2 * n)) / (1 + zz / n);
  const double half = kNormal95 / (1 + zz / n) * std::sqrt(p * (1 - p) / n + zz / (4 * n * n));
  // Exactly 0 and 1 are its ends there; rounding is not.
  return {100 * p,
          part == 0 ? 0 : 100 * std::max(0.0, middle - half),
          part == whole ? 100 : 100 * std::min(1.0, middle + half),
          whole,
          Provenance::pcSampled,
          std::nullopt};
}

Result<StallSummary> summarizeStalls(const ProfileView& view, std::stop_token stop) {
  StallSummary out;
  out.any = !view.pcSamples().empty();
  std::unordered_map<NameId, std::size_t> functionOf;
  for (std::size_t f = 0; f < view.functions().size(); ++f) functionOf.emplace(view.functions()[f].key, f);
  std::vector<Collected> collected(view.functions().size());
  std::map<NameId, Collected> others;
  bool twins = false;
  for (const ViewPc& row : view.pcSamples()) {
    if (stop.stop_requested()) return cancelled();
    const auto function = functionOf.find(row.function);
    Collected& to = function != functionOf.end() ? collected[function->second] : others[row.function];
    auto& [place, byReason] = to.instructions[{row.process, row.pcOffset}];
    place = row.file != 0 && !isNull(row.line) ? PlaceKey{row.file, row.line} : PlaceKey{0, row.pcOffset};
    const ParsedReason reason = parse(view.name(row.reason));
    twins = twins || reason.twin;
    Count& count = byReason[reason.id];
    (reason.twin ? count.noIssue : count.all) += row.samples;
  }
  for (const auto& [name, c] : others) out.elsewhere += c.samples();
  out.samples = out.elsewhere;
  if (!out.any) out.reason = whyNone(view);
  if (auto ok = addRuns(view, out); !ok) return ok.error();
  for (const Collected& c : collected) {
    out.kernels.push_back(summarize(view, c, twins));
    KernelStalls& kernel = out.kernels.back();
    if (!out.any) kernel.reason = out.reason;
    out.samples += kernel.samples;
    out.measured += kernel.reason ? 0 : 1;
  }
  return out;
}

}  // namespace warpmeter::analyzer
