// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/bound.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "warpmeter/analyzer/format.h"

namespace warpmeter::analyzer {
namespace {

// Reasons that belong to the run and not to the kernel: nothing was measured of any.
bool isOfRun(Reason reason) { return reason != Reason::tooFewSamples && reason != Reason::neverAlone; }

Metric scaled(Metric m, double factor) {
  for (auto* v : {&m.value, &m.low, &m.high})
    if (*v) **v *= factor;
  return m;
}

// Shares of a multiprocessor's units are of the cycles in which it was active; of the whole GPU they are that
// much less. Both intervals count.
Metric ofWholeGpu(Metric m, const Metric& active) {
  if (!m.value || !active.value) return m;
  const auto times = [](const std::optional<double>& a, const std::optional<double>& b) {
    return a && b ? std::optional(*a * std::min(*b, 100.0) / 100) : std::nullopt;
  };
  m.low = times(m.low, active.low);
  m.high = times(m.high, active.high);
  m.value = times(m.value, active.value);
  m.samples = std::min(m.samples, active.samples);
  return m;
}

std::vector<UnitShare> sharesOf(const KernelCounters& c, const LaunchShape& shape,
                                const std::optional<Ceilings>& ceilings) {
  Metric active = c.smActivePct;
  if (!active.value && shape.busySms > 0 && shape.smCount > 0)
    active = Metric::of(100.0 * shape.busySms / shape.smCount);
  Metric dram = Metric::missing(c.dramBytesPerSec.reason.value_or(Reason::notRecorded));
  std::string dramOf = "DRAM";
  if (ceilings && ceilings->dramBytesPerSec > 0) {
    if (c.dramBytesPerSec.value) dram = scaled(c.dramBytesPerSec, 100 / ceilings->dramBytesPerSec);
    dramOf = "DRAM " + formatRate(ceilings->dramBytesPerSec);
  } else {
    dram.reason = Reason::notRecorded;  // the file does not describe the GPU
  }
  return {{Bound::dram, dram, dramOf},
          {Bound::l2, c.l2Pct, "L2 cache"},
          {Bound::l1, c.l1Pct, "L1 cache"},
          {Bound::fp32, ofWholeGpu(c.fp32Pct, active), "FP32 pipe"},
          {Bound::fp64, ofWholeGpu(c.fp64Pct, active), "FP64 pipe"},
          {Bound::integer, ofWholeGpu(c.intPct, active), "integer pipe"},
          {Bound::tensor, ofWholeGpu(c.tensorPct, active), "tensor pipe"},
          {Bound::issue, ofWholeGpu(c.issuePct, active), "issue slots"}};
}

double valueOf(const UnitShare* share) { return share ? *share->pct.value : 0; }

bool isArithmetic(Bound unit) {
  return unit == Bound::fp32 || unit == Bound::fp64 || unit == Bound::integer || unit == Bound::tensor;
}

// The unit used most and the next one. Every instruction takes an issue slot, so those are the limit only
// where they are clearly busier than any unit.
struct Ranking {
  const UnitShare *first = nullptr, *second = nullptr;
};
Ranking rankingOf(const std::vector<UnitShare>& shares, const BoundLimits& limits) {
  Ranking r;
  const UnitShare* issue = nullptr;
  for (const UnitShare& s : shares) {
    if (!s.pct.value) continue;
    if (s.unit == Bound::issue) {
      issue = &s;
    } else if (!r.first || *s.pct.value > valueOf(r.first)) {
      r.second = r.first;
      r.first = &s;
    } else if (!r.second || *s.pct.value > valueOf(r.second)) {
      r.second = &s;
    }
  }
  const double best = valueOf(r.first);
  if (issue && (!r.first || *issue->pct.value >= best + limits.clearPct ||
                (best < limits.boundPct && *issue->pct.value >= limits.boundPct)))
    r = {issue, r.first};
  // Operands come from the L1 and shared memory: a tensor core at its limit keeps them as busy as itself.
  if (r.first && r.second && r.first->unit == Bound::l1 && isArithmetic(r.second->unit) &&
      valueOf(r.second) >= limits.boundPct && valueOf(r.second) >= valueOf(r.first) - limits.fedPct)
    std::swap(r.first, r.second);
  if (r.first && r.second && r.first->unit == Bound::tensor && r.second->unit == Bound::fp32 &&
      valueOf(r.second) >= valueOf(r.first) - limits.equalPct)
    std::swap(r.first, r.second);
  return r;
}

Confidence lower(Confidence c) { return c == Confidence::sure ? Confidence::likely : Confidence::maybe; }

Confidence confidenceOf(const Ranking& r, const std::optional<Ceilings>& ceilings,
                        const BoundLimits& limits) {
  const Metric& m = r.first->pct;
  const double low = m.low.value_or(*m.value);
  if (low < limits.boundPct) return Confidence::maybe;
  auto out = low >= limits.surePct ? Confidence::sure : Confidence::likely;
  if (!m.low) out = lower(out);  // one launch: nobody knows how much the next one differs
  if (r.second && valueOf(r.second) > *m.value - limits.clearPct) out = lower(out);
  const bool computed = !ceilings || ceilings->source == CeilingSource::theoretical;
  if (out == Confidence::sure && r.first->unit == Bound::dram && computed) out = Confidence::likely;
  return out;
}

std::string_view nameOf(const UnitShare& share) { return named(share.unit).text; }

std::string percent(double value) { return fmt::format("{:.0f} %", value); }

void setRoofline(KernelBound& out, const KernelCounters& c, const std::vector<UnitShare>& shares,
                 const std::optional<Ceilings>& ceilings) {
  if (!ceilings) return;
  double flops = 0;
  bool any = false;
  const auto add = [&](Bound unit, double ceiling) {
    for (const UnitShare& s : shares)
      if (s.unit == unit && s.pct.value && ceiling > 0) flops += *s.pct.value / 100 * ceiling, any = true;
  };
  add(Bound::fp32, ceilings->fp32PerSec);
  add(Bound::fp64, ceilings->fp64PerSec);
  add(Bound::tensor, ceilings->tensorBf16PerSec);
  if (!any) return;
  out.flopPerSec = flops;
  if (c.dramBytesPerSec.value && *c.dramBytesPerSec.value > 0)
    out.flopPerByte = flops / *c.dramBytesPerSec.value;
}

bool gridTooSmall(const LaunchShape& shape, const BoundLimits& limits) {
  return shape.smCount > 0 && shape.busySms > 0 && shape.busySms * 100.0 < limits.filledPct * shape.smCount;
}
bool gridTiny(const LaunchShape& shape, const BoundLimits& limits) {
  return shape.smCount > 0 && shape.busySms > 0 && shape.busySms * 100.0 < limits.tinyPct * shape.smCount;
}
bool tooShort(const LaunchShape& shape, const BoundLimits& limits) {
  return shape.medianNs > 0 && shape.medianNs < limits.shortNs;
}

std::string mostUsed(const Ranking& r) {
  return r.first ? fmt::format("{} {}", nameOf(*r.first), percent(valueOf(r.first))) : "";
}

std::string unmeasuredOf(const KernelBound& out) {
  std::string names;
  for (const UnitShare& s : out.shares)
    if (!s.pct.value) names += (names.empty() ? "" : ", ") + std::string(nameOf(s));
  return names;
}

// A unit that few instructions can keep busy, with counters that were not read while this kernel ran: why
// not. Those that the chip has not, or that a recording does not ask for, are merely named.
std::optional<Reason> unread(const KernelBound& out) {
  for (const UnitShare& s : out.shares) {
    const bool hidden =
        s.unit == Bound::l2 || s.unit == Bound::l1 || s.unit == Bound::tensor || s.unit == Bound::fp64;
    if (hidden && s.pct.reason && !isOfRun(*s.pct.reason)) return s.pct.reason;
  }
  return std::nullopt;
}

void boundByUnit(KernelBound& out, const Ranking& r, const std::optional<Ceilings>& ceilings,
                 const BoundLimits& limits) {
  out.bound = r.first->unit;
  out.sharePct = *r.first->pct.value;
  out.shareOf = r.first->of;
  out.confidence = confidenceOf(r, ceilings, limits);
  out.why = fmt::format("{} of {}", percent(*out.sharePct), out.shareOf);
  if (r.second) out.why += fmt::format(", next {} {}", nameOf(*r.second), percent(valueOf(r.second)));
  // Every instruction takes an issue slot: a full pipe looks the same as long as nobody measured the pipes.
  // And what was not read while the kernel ran may be busier than what was, or be what the L1 feeds.
  if (const std::string missing = unmeasuredOf(out);
      !missing.empty() && (out.bound == Bound::issue ||
                           (unread(out) && (out.bound == Bound::l1 || *out.sharePct < limits.surePct)))) {
    out.confidence = Confidence::maybe;
    out.why += "; not measured: " + missing;
  }
}

void boundByLaunch(KernelBound& out, const Ranking& r, const LaunchShape& shape, const BoundLimits& limits) {
  out.bound = Bound::launch;
  out.confidence =
      r.first && r.first->pct.high.value_or(100) < limits.boundPct ? Confidence::sure : Confidence::likely;
  if (gridTooSmall(shape, limits)) {
    out.sharePct = 100.0 * shape.busySms / shape.smCount;
    out.shareOf = fmt::format("{} SMs", shape.smCount);
    out.why = fmt::format("{} of {} SMs get a block", shape.busySms, shape.smCount);
  } else {
    out.why =
        fmt::format("{} long, a launch costs about {}", formatTime(static_cast<std::int64_t>(shape.medianNs)),
                    formatTime(static_cast<std::int64_t>(limits.shortNs)));
  }
  if (r.first) out.why += "; most used: " + mostUsed(r);
}

// Nothing is near its ceiling; that can be said only of what was measured.
void boundByLatency(KernelBound& out, const Ranking& r, const KernelCounters& c, const BoundLimits& limits) {
  out.bound = Bound::latency;
  out.sharePct = *r.first->pct.value;
  out.shareOf = r.first->of;
  const std::string unmeasured = unmeasuredOf(out);
  const bool crosses = r.first->pct.high.value_or(100) >= limits.boundPct;
  out.confidence = crosses || !unmeasured.empty()         ? Confidence::maybe
                   : *out.sharePct >= limits.boundPct / 2 ? Confidence::likely
                                                          : Confidence::sure;
  out.why = "nothing above " + mostUsed(r);
  if (c.occupancyPct.value) out.why += fmt::format("; occupancy {}", percent(*c.occupancyPct.value));
  if (c.smActivePct.value && *c.smActivePct.value < limits.filledPct)
    out.why += fmt::format("; SMs active {}", percent(*c.smActivePct.value));
  if (!unmeasured.empty()) out.why += "; not measured: " + unmeasured;
}

}  // namespace

KernelBound boundOf(const KernelCounters& counters, const LaunchShape& shape,
                    const std::optional<Ceilings>& ceilings, const BoundLimits& limits) {
  KernelBound out;
  out.shares = sharesOf(counters, shape, ceilings);
  const auto has = [&](Bound unit) {
    return std::ranges::any_of(out.shares, [&](const UnitShare& s) { return s.unit == unit && s.pct.value; });
  };
  const Ranking ranking = rankingOf(out.shares, limits);
  const Reason missing = counters.occupancyPct.reason.value_or(
      counters.dramBytesPerSec.reason.value_or(counters.issuePct.reason.value_or(Reason::notRecorded)));
  const bool measured = ranking.first || counters.occupancyPct.value || counters.smActivePct.value;
  setRoofline(out, counters, out.shares, ceilings);
  if (!measured && isOfRun(missing)) {
    out.reason = missing;
  } else if (ranking.first && valueOf(ranking.first) >= limits.boundPct) {
    boundByUnit(out, ranking, ceilings, limits);
  } else if (tooShort(shape, limits) || gridTiny(shape, limits) ||
             (measured && gridTooSmall(shape, limits))) {
    boundByLaunch(out, ranking, shape, limits);
  } else if (ranking.first && has(Bound::dram) && has(Bound::issue) && !unread(out)) {
    boundByLatency(out, ranking, counters, limits);
  } else {
    // Without memory and issue slots nobody can say that nothing is busy.
    out.reason = missing;
    // Of a kernel that no sample met, counters that nobody asked for are not what is missing.
    for (const UnitShare& s : out.shares)
      if (measured && (s.unit == Bound::dram || s.unit == Bound::issue) && s.pct.reason) {
        out.reason = s.pct.reason;
        break;
      }
    if (const auto why = unread(out); why && ranking.first && has(Bound::dram) && has(Bound::issue))
      out.reason = why;
  }
  return out;
}

KernelBound boundOf(const ProfileView& view, const KernelCounters& counters, double medianNs,
                    const std::optional<Ceilings>& ceilings) {
  LaunchShape shape;
  shape.medianNs = medianNs;
  if (auto device = deviceOfDistinct(view, counters.distinct)) shape.smCount = device->smCount;
  if (auto occupancy = occupancyOfDistinct(view, counters.distinct))
    shape.busySms = occupancy->busySms.value_or(0);
  return boundOf(counters, shape, ceilings);
}

BoundSummary boundsOf(const ProfileView& view, const KernelSummary& kernels, const CounterSummary& counters,
                      std::span<const CalibratedGpu> known) {
  BoundSummary out;
  for (std::uint32_t gpu = 0; gpu < view.gpus().size(); ++gpu)
    out.ceilings.push_back(ceilingsOf(view, gpu, known));
  std::vector<double> medians(view.distinctKernels().size());
  for (const FunctionSummary& f : kernels.functions)
    for (const DistinctSummary& d : f.distinct) medians[d.distinct] = static_cast<double>(d.time.medianNs);
  for (const KernelCounters& k : counters.kernels) {
    const std::uint32_t gpu = view.configs()[view.distinctKernels()[k.distinct].config].gpu;
    out.kernels.push_back(
        boundOf(view, k, medians[k.distinct], gpu < out.ceilings.size() ? out.ceilings[gpu] : std::nullopt));
  }
  return out;
}

}  // namespace warpmeter::analyzer
