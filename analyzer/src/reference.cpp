// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "warpmeter/analyzer/format.h"

namespace warpmeter::analyzer {
namespace {

constexpr double kMostPct = 90;  // of the traffic: from here on a kernel reads, or writes
constexpr std::array<std::string_view, 3> kAccess{"read", "write", "mixed"};

std::string_view withoutVendor(std::string_view name) {
  constexpr std::string_view kVendor = "NVIDIA ";
  return name.starts_with(kVendor) ? name.substr(kVendor.size()) : name;
}

struct Ceiling {
  double perSec = 0;
  std::string_view name;
};

// Ceilings knows BF16 with FP32 accumulation, which FP16 shares on every chip; other types of the tensor pipe
// have rates of their own.
Ceiling ceilingOf(const ReferenceResult& r, const Ceilings& c) {
  if (r.bound == Bound::tensor) {
    if (r.precision == "bf16" || r.precision == "fp16") return {c.tensorBf16PerSec, "BF16 tensor"};
    return {};
  }
  if (r.precision == "fp32") return {c.fp32PerSec, "FP32"};
  if (r.precision == "fp64") return {c.fp64PerSec, "FP64"};
  return {};
}

std::string operations(double perSec) {
  const double tera = perSec / 1e12;
  return fmt::format("{:.{}f} TFLOP/s", tera, tera >= 99.95 ? 0 : tera >= 9.995 ? 1 : 2);
}

bool isPipe(Bound bound) {
  return bound == Bound::fp32 || bound == Bound::fp64 || bound == Bound::tensor || bound == Bound::integer;
}

std::optional<Access> accessOf(const KernelCounters& c) {
  if (!c.dramReadBytes.value || !c.dramWriteBytes.value) return std::nullopt;
  const double read = *c.dramReadBytes.value, write = *c.dramWriteBytes.value;
  if (!(read + write > 0)) return std::nullopt;
  const double readPct = 100 * read / (read + write);
  return readPct >= kMostPct ? Access::read : readPct <= 100 - kMostPct ? Access::write : Access::mixed;
}

std::string classText(const KernelComparison& k) {
  std::string text(named(k.bound).text);
  if (k.access) text += fmt::format(", {}", idOf(*k.access));
  return text;
}

// Memory bounds: what it does to DRAM. Pipes: what it computes with, as far as that is known.
bool sameClass(const KernelComparison& k, const ReferenceResult& r) {
  if (r.bound != k.bound) return false;
  if (k.bound == Bound::dram) return r.access == k.access;
  return k.precision.empty() || r.precision == k.precision;
}

void findReference(KernelComparison& k, const ReferenceSet& set, const std::optional<Ceilings>& ceilings) {
  for (const ReferenceResult& r : set.results) {
    if (!sameClass(k, r)) continue;
    auto share = shareOf(r, ceilings);
    if (!share || (k.reference && share->pct <= k.referenceShare.pct)) continue;
    k.reference = r;
    k.referenceShare = std::move(*share);
  }
  if (!k.reference) {
    k.why = fmt::format("no reference: none of the results {} is of that class ({})", set.from, classText(k));
    return;
  }
  if (k.sharePct && k.referenceShare.pct > 0) k.reachedPct = 100 * *k.sharePct / k.referenceShare.pct;
  if (k.bound == Bound::tensor)
    k.why = "of any type: the counters do not tell what a tensor pipe computes with";
}

// Why this bound cannot be compared whatever was measured; "" when it can.
std::string_view incomparable(const KernelComparison& k) {
  switch (k.bound) {
    case Bound::dram:
      return k.access
                 ? ""
                 : "no reference: DRAM reads and writes were not both measured, so its class is not known; "
                   "--counters exact measures both";
    case Bound::latency:
    case Bound::launch:
      return "no reference: nothing is near its ceiling";
    case Bound::l2:
    case Bound::l1:
    case Bound::integer:
    case Bound::issue:
      return "no reference: the bundled programs measure no share of it";
    default:
      return "";
  }
}

}  // namespace

std::string_view idOf(Access access) { return kAccess[static_cast<std::size_t>(access)]; }

std::optional<Access> accessFromId(std::string_view id) {
  const auto found = std::ranges::find(kAccess, id);
  if (found == kAccess.end()) return std::nullopt;
  return static_cast<Access>(found - kAccess.begin());
}

std::optional<ReferenceShare> shareOf(const ReferenceResult& r, const std::optional<Ceilings>& ceilings) {
  const bool bytes = r.bound == Bound::dram || (!isPipe(r.bound) && r.bytesPerSec);
  const auto& rate = bytes ? r.bytesPerSec : r.flopPerSec;
  if (!rate || !(*rate > 0)) return std::nullopt;
  if (ceilings) {
    const Ceiling c = bytes ? Ceiling{ceilings->dramBytesPerSec, "DRAM"} : ceilingOf(r, *ceilings);
    if (c.perSec > 0)
      return ReferenceShare{100 * *rate / c.perSec,
                            fmt::format("{} {}", c.name, bytes ? formatRate(c.perSec) : operations(c.perSec)),
                            ceilings->source};
  }
  if (!r.ownCeiling || !(*r.ownCeiling > 0)) return std::nullopt;
  std::string type = r.precision;
  std::ranges::transform(type, type.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return ReferenceShare{100 * *rate / *r.ownCeiling,
                        bytes          ? "DRAM " + formatRate(*r.ownCeiling)
                        : type.empty() ? operations(*r.ownCeiling)
                                       : fmt::format("{} {}", type, operations(*r.ownCeiling)),
                        CeilingSource::theoretical};
}

const ReferenceSet* referencesOf(const GpuInfo& gpu, std::span<const ReferenceSet> known) {
  const ReferenceSet* shipped = nullptr;
  for (const ReferenceSet& set : known) {
    if (set.uuid.empty()) {
      if (withoutVendor(set.gpuName) == withoutVendor(gpu.name)) shipped = &set;
    } else if (set.uuid == gpu.uuid) {
      return &set;
    }
  }
  return shipped;
}

ComparisonSummary compareWithReferences(const ProfileView& view, const KernelSummary& kernels,
                                        const CounterSummary& counters, const BoundSummary& bounds,
                                        std::span<const ReferenceSet> known, std::size_t top) {
  ComparisonSummary out;
  std::vector<std::size_t> at(view.distinctKernels().size(), bounds.kernels.size());
  for (std::size_t i = 0; i < counters.kernels.size() && i < bounds.kernels.size(); ++i)
    at[counters.kernels[i].distinct] = i;
  for (std::uint32_t f = 0; f < kernels.functions.size() && out.kernels.size() < top; ++f) {
    if (kernels.functions[f].distinct.empty()) continue;
    const std::uint32_t distinct = kernels.functions[f].distinct.front().distinct;
    const std::size_t i = at[distinct];
    if (i >= bounds.kernels.size() || bounds.kernels[i].bound == Bound::notMeasured) {
      ++out.withoutBound;
      continue;
    }
    const KernelBound& bound = bounds.kernels[i];
    KernelComparison k;
    k.function = f;
    k.distinct = distinct;
    k.bound = bound.bound;
    k.confidence = bound.confidence;
    k.sharePct = bound.sharePct;
    k.shareOf = bound.shareOf;
    if (k.bound == Bound::dram) k.access = accessOf(counters.kernels[i]);
    if (k.bound == Bound::fp32 || k.bound == Bound::fp64) k.precision = named(k.bound).id;
    const std::uint32_t gpu = view.configs()[view.distinctKernels()[distinct].config].gpu;
    const GpuInfo info = gpu < view.gpus().size() ? view.gpus()[gpu].info : GpuInfo{};
    if (const auto no = incomparable(k); !no.empty()) {
      k.why = no;
    } else if (const ReferenceSet* set = referencesOf(info, known)) {
      findReference(k, *set, gpu < bounds.ceilings.size() ? bounds.ceilings[gpu] : std::nullopt);
      if (std::ranges::find(out.from, set->from) == out.from.end()) out.from.push_back(set->from);
    } else {
      k.noResults = true;
      k.why = fmt::format("no reference: no results of {}; `warpmeter kernels run` on it measures them",
                          info.name.empty() ? "this GPU" : info.name);
    }
    out.kernels.push_back(std::move(k));
  }
  return out;
}

}  // namespace warpmeter::analyzer
