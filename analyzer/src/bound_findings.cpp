// SPDX-License-Identifier: Apache-2.0
// Findings from what bounds each kernel: bound.memory, bound.latency, tensor.idle, precision.fp64,
// occupancy.grid-too-small. Formulas: docs/metrics.md.
#include "warpmeter/analyzer/bound_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "warpmeter/analyzer/format.h"

namespace warpmeter::analyzer {
namespace {

// What the findings of one distinct kernel are made from.
struct KernelFacts {
  const ProfileView& view;
  const Limits& limits;
  const DistinctSummary& summary;
  const KernelCounters& counters;
  const KernelBound& bound;
  const std::optional<Ceilings>& ceilings;
  std::string name;
  double totalNs() const { return static_cast<double>(summary.time.totalNs); }
};

std::string percent(double value) { return fmt::format("{:.0f} %", value); }

const UnitShare* shareOf(const KernelBound& bound, Bound unit) {
  for (const UnitShare& s : bound.shares)
    if (s.unit == unit && s.pct.value) return &s;
  return nullptr;
}

Finding begin(const KernelFacts& k, FindingId id, Confidence confidence) {
  Finding f;
  f.id = id;
  f.confidence = confidence;
  f.subject = {SubjectKind::distinctKernel, k.summary.distinct, k.name};
  f.evidence = {{"kernelTime", k.totalNs(), Unit::ns},
                {"launches", static_cast<double>(k.summary.time.count), Unit::count}};
  return f;
}

void addEvidence(Finding& f, std::string name, const Metric& m, Unit unit) {
  if (m.value) f.evidence.push_back({std::move(name), *m.value, unit});
}

std::int64_t wholeNs(double ns) { return static_cast<std::int64_t>(std::max(0.0, ns)); }

Finding memory(const KernelFacts& k) {
  Finding f = begin(k, FindingId::boundMemory, k.bound.confidence);
  f.evidence.push_back({"ofCeiling", *k.bound.sharePct, Unit::percent});
  addEvidence(f, "achieved", k.counters.dramBytesPerSec, Unit::bytesPerSec);
  addEvidence(f, "achievedOccupancy", k.counters.occupancyPct, Unit::percent);
  const bool dram = k.bound.bound == Bound::dram;
  f.text = fmt::format("{} runs at {} of {}", k.name, percent(*k.bound.sharePct),
                       dram ? std::string("DRAM") : "the " + k.bound.shareOf);
  f.advice =
      dram ? "more occupancy will not help; move fewer bytes: fuse it with its neighbours, use smaller types"
           : "more occupancy will not help; coalesce its accesses, keep more in registers and shared memory";
  return f;
}

std::string_view mostUsedUnit(const KernelBound& bound) {
  for (const UnitShare& s : bound.shares)
    if (s.pct.value == bound.sharePct) return named(s.unit).text;
  return "";
}

// At most as fast as the unit used most allows before it bounds the kernel itself.
Finding latency(const KernelFacts& k) {
  // That it waits is measured; what it could do instead is not.
  Finding f = begin(k, FindingId::boundLatency,
                    k.bound.confidence == Confidence::sure ? Confidence::likely : Confidence::maybe);
  const double used = *k.bound.sharePct;
  f.recoverableHighNs = wholeNs(k.totalNs() * (1 - used / BoundLimits{}.boundPct));
  f.evidence.push_back({"mostUsedUnit", used, Unit::percent});
  addEvidence(f, "achievedOccupancy", k.counters.occupancyPct, Unit::percent);
  addEvidence(f, "issue", k.counters.issuePct, Unit::percent);
  f.text = fmt::format("{} waits: no unit above {} ({})", k.name, percent(used), mostUsedUnit(k.bound));
  f.advice = "give each thread more independent work: unroll, prefetch, copy asynchronously";
  if (!k.summary.occupancy) return f;
  const Occupancy& possible = *k.summary.occupancy;
  f.evidence.push_back({"possibleOccupancy", possible.occupancyPct, Unit::percent});
  const auto holds = [&](Limiter l) {
    return std::ranges::find(possible.limiters, l) != possible.limiters.end();
  };
  const bool low = possible.occupancyPct <= k.limits.lowOccupancyPct;
  if (low && (holds(Limiter::registers) || holds(Limiter::sharedMemory)))
    f.advice = fmt::format(
        "only {} occupancy is possible, held by {}: use less of it, or give each thread more "
        "independent work",
        percent(possible.occupancyPct), limiterText(possible));
  else if (holds(Limiter::grid))
    f.advice = "the grid does not fill the multiprocessors: more and smaller blocks";
  else if (k.counters.occupancyPct.value &&
           *k.counters.occupancyPct.value < k.limits.unevenOccupancyPct / 100 * possible.occupancyPct)
    f.advice =
        fmt::format("achieved occupancy {} of {} possible: blocks of unequal length or a short last wave",
                    percent(*k.counters.occupancyPct.value), percent(possible.occupancyPct));
  return f;
}

// A kernel at its FP64 rate would at best be as much faster as FP32 is.
Finding fp64(const KernelFacts& k) {
  Finding f = begin(k, FindingId::precisionFp64, Confidence::maybe);
  f.evidence.push_back({"fp64", *k.bound.sharePct, Unit::percent});
  std::string gain;
  if (k.ceilings && k.ceilings->fp64PerSec > 0 && k.ceilings->fp32PerSec > k.ceilings->fp64PerSec) {
    const double ratio = k.ceilings->fp64PerSec / k.ceilings->fp32PerSec;
    f.recoverableHighNs = wholeNs(k.totalNs() * *k.bound.sharePct / 100 * (1 - ratio));
    f.evidence.push_back({"fp32OverFp64", 1 / ratio, Unit::none});
    gain = fmt::format(" (FP32 is {:.1f} times as fast here)", 1 / ratio);
  }
  f.text = fmt::format("{} runs at {} of the FP64 pipe", k.name, percent(*k.bound.sharePct));
  f.advice = fmt::format("if single precision is enough for its result, use it{}", gain);
  return f;
}

bool soundsLikeMatrixProduct(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  constexpr std::array<std::string_view, 4> kWords{"gemm", "matmul", "conv", "attention"};
  return std::ranges::any_of(kWords, [&](std::string_view w) { return lower.find(w) != std::string::npos; });
}

// Matrix arithmetic on the FP32 pipe: tensor cores would take its operations at their rate, memory at most at
// DRAM's.
std::optional<Finding> tensorIdle(const KernelFacts& k) {
  const UnitShare *const tensor = shareOf(k.bound, Bound::tensor), *const fp32 =
                                                                       shareOf(k.bound, Bound::fp32);
  if (!tensor || !fp32 || !soundsLikeMatrixProduct(k.name)) return std::nullopt;
  if (tensor->pct.high.value_or(100) >= k.limits.tensorIdlePct || *fp32->pct.value < k.limits.tensorWorthPct)
    return std::nullopt;
  Finding f = begin(k, FindingId::tensorIdle, Confidence::maybe);
  addEvidence(f, "tensor", tensor->pct, Unit::percent);
  addEvidence(f, "fp32", fp32->pct, Unit::percent);
  if (k.ceilings && k.ceilings->tensorBf16PerSec > k.ceilings->fp32PerSec && k.ceilings->fp32PerSec > 0) {
    const double part = *fp32->pct.value / 100;
    f.recoverableHighNs =
        wholeNs(k.totalNs() * part * (1 - k.ceilings->fp32PerSec / k.ceilings->tensorBf16PerSec));
  }
  f.text =
      fmt::format("{} computes on the FP32 pipe ({}), tensor cores idle", k.name, percent(*fp32->pct.value));
  f.advice = "if TF32 or BF16 is enough for its result, let tensor cores do it (cuBLAS, CUTLASS, WMMA)";
  return f;
}

// With the threads of the launch in smaller blocks, more multiprocessors get one. What the busy ones were
// limited by shrinks in proportion; what they waited for does not.
std::optional<Finding> gridTooSmall(const KernelFacts& k) {
  if (!k.summary.occupancy || !k.summary.occupancy->busySms) return std::nullopt;
  auto device = deviceOfDistinct(k.view, k.summary.distinct);
  if (!device || device->smCount <= 0) return std::nullopt;
  const LaunchConfig& config = k.view.configs()[k.view.distinctKernels()[k.summary.distinct].config];
  const int busy = *k.summary.occupancy->busySms;
  if (busy >= device->smCount) return std::nullopt;
  int reached = busy;
  std::string advice = "give it more work at a time, or run it beside other kernels (streams)";
  if (auto better = bestBlockSizes(*device, resourcesOf(config), 1);
      better && !better->empty() && better->front().occupancy.busySms.value_or(0) > busy) {
    const BlockSizeAdvice& b = better->front();
    reached = std::min(*b.occupancy.busySms, device->smCount);
    advice = fmt::format("block {} -> {} with {} blocks", config.blockThreads(), b.blockThreads,
                         formatCount(b.gridBlocks));
  }
  Finding f = begin(k, FindingId::occupancyGridTooSmall, Confidence::maybe);
  f.evidence.push_back({"busySms", static_cast<double>(busy), Unit::count});
  f.evidence.push_back({"sms", static_cast<double>(device->smCount), Unit::count});
  addEvidence(f, "smActive", k.counters.smActivePct, Unit::percent);
  const double most = k.totalNs() * (1 - static_cast<double>(busy) / reached);
  double limited = 0;  // how far the busy multiprocessors were used, at most 1
  for (const Metric* m : {&k.counters.issuePct, &k.counters.fp32Pct, &k.counters.fp64Pct, &k.counters.intPct,
                          &k.counters.tensorPct})
    limited = std::max(limited, m->low.value_or(0) / 100);
  f.recoverableHighNs = wholeNs(most);
  if (limited * 100 >= BoundLimits{}.boundPct) {
    f.recoverableLowNs = wholeNs(most * std::min(limited, 1.0));
    f.confidence = Confidence::likely;
  }
  f.text = fmt::format("{} leaves {} of {} SMs empty", k.name, device->smCount - busy, device->smCount);
  f.advice = advice;
  return f;
}

void findOf(const KernelFacts& k, Findings& out) {
  switch (k.bound.bound) {
    case Bound::dram:
    case Bound::l2:
    case Bound::l1:
      out.push_back(memory(k));
      break;
    case Bound::latency:
      out.push_back(latency(k));
      break;
    case Bound::fp64:
      out.push_back(fp64(k));
      break;
    case Bound::launch:
      if (k.bound.sharePct)
        if (auto f = gridTooSmall(k)) out.push_back(std::move(*f));
      break;
    default:
      break;
  }
  if (auto f = tensorIdle(k)) out.push_back(std::move(*f));
}

}  // namespace

Findings boundFindings(const ProfileView& view, const KernelSummary& kernels, const CounterSummary& counters,
                       const BoundSummary& bounds, const Limits& limits) {
  Findings out;
  if (!counters.quality.any || counters.quality.gpuShared) return out;
  std::vector<std::size_t> at(view.distinctKernels().size(), counters.kernels.size());
  for (std::size_t i = 0; i < counters.kernels.size(); ++i) at[counters.kernels[i].distinct] = i;
  for (const FunctionSummary& f : kernels.functions)
    for (const DistinctSummary& d : f.distinct) {
      const std::size_t i = at[d.distinct];
      if (i >= bounds.kernels.size() || d.sharePct < limits.boundMinSharePct) continue;
      const std::uint32_t gpu = view.configs()[view.distinctKernels()[d.distinct].config].gpu;
      const std::optional<Ceilings> none;
      findOf({view, limits, d, counters.kernels[i], bounds.kernels[i],
              gpu < bounds.ceilings.size() ? bounds.ceilings[gpu] : none, f.shortName},
             out);
    }
  return out;
}

Result<Findings> findBounds(const ProfileView& view, const Limits& limits, std::stop_token stop) {
  auto kernels = summarizeKernels(view, stop);
  if (!kernels) return kernels.error();
  if (limits.counters)
    return boundFindings(view, *kernels, *limits.counters,
                         boundsOf(view, *kernels, *limits.counters, limits.calibrated), limits);
  auto counters = summarizeCounters(view, stop);
  if (!counters) return counters.error();
  return boundFindings(view, *kernels, *counters, boundsOf(view, *kernels, *counters, limits.calibrated),
                       limits);
}

}  // namespace warpmeter::analyzer
