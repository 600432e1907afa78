// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "src/cancelled.h"
#include "src/intervals.h"
#include "warpmeter/analyzer/format.h"

namespace warpmeter::analyzer {
namespace {

bool touchesHost(CopyKind kind) {
  return kind == CopyKind::hostToDevice || kind == CopyKind::deviceToHost || kind == CopyKind::hostToArray ||
         kind == CopyKind::arrayToHost;
}

// The memory on the host's side of a copy between host and GPU.
MemoryKind hostSide(CopyKind kind, MemoryKind source, MemoryKind destination) {
  const bool fromHost = kind == CopyKind::hostToDevice || kind == CopyKind::hostToArray;
  return fromHost ? source : destination;
}

struct GpuIntervals {
  std::vector<Interval> kernels, copies, pageable;
};

// What a copy can gain when its host memory is pinned.
struct PinnedRates {
  double low = 0, high = 0;  // bytes/s
  bool measured = false;
};

PinnedRates pinnedRates(const CopySummary& summary, const Limits& limits) {
  std::int64_t bytes = 0, ns = 0;
  for (const CopyGroup& g : summary.groups) {
    if (!touchesHost(g.kind) || hostSide(g.kind, g.source, g.destination) != MemoryKind::pinned) continue;
    bytes += g.bytes;
    ns += g.time.totalNs;
  }
  if (bytes < limits.pinnedReferenceBytes || ns <= 0)
    return {limits.pinnedLowBytesPerSec, limits.pinnedHighBytesPerSec, false};
  const double rate = static_cast<double>(bytes) / static_cast<double>(ns) * 1e9;
  return {rate, rate, true};
}

}  // namespace

std::optional<double> CopyGroup::bytesPerSec() const {
  if (time.totalNs <= 0) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(time.totalNs) * 1e9;
}

std::string_view textOf(CopyKind kind) {
  constexpr std::array<std::string_view, 14> kTexts{"Unknown",
                                                    "Host-to-Device",
                                                    "Device-to-Host",
                                                    "Host-to-Array",
                                                    "Array-to-Host",
                                                    "Array-to-Array",
                                                    "Array-to-Device",
                                                    "Device-to-Array",
                                                    "Device-to-Device",
                                                    "Host-to-Host",
                                                    "Peer-to-Peer",
                                                    "Unified Host-to-Device",
                                                    "Unified Device-to-Host",
                                                    "Unified Device-to-Device"};
  if (kind == CopyKind::memset) return "Memset";
  const auto i = static_cast<std::size_t>(kind);
  return i < kTexts.size() ? kTexts[i] : kTexts[0];
}

std::string_view textOf(MemoryKind kind) {
  constexpr std::array<std::string_view, 8> kTexts{"pageable", "pinned",        "device",         "array",
                                                   "managed",  "device static", "managed static", "unknown"};
  const auto i = static_cast<std::size_t>(kind);
  return i < kTexts.size() ? kTexts[i] : kTexts.back();
}

Result<CopySummary> summarizeCopies(const ProfileView& view, std::stop_token stop) {
  CopySummary out;
  std::map<std::tuple<CopyKind, MemoryKind, MemoryKind>, std::pair<std::vector<std::int64_t>, std::int64_t>>
      groups;
  std::map<std::uint32_t, GpuIntervals> gpus;
  for (const StreamLane& lane : view.streams()) {
    if (stop.stop_requested()) return cancelled();
    GpuIntervals& gpu = gpus[lane.gpu];
    for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
      gpu.kernels.push_back({lane.kernels.startNs(i), lane.kernels.endNs(i)});
    }
    const Copies& c = lane.copies;
    for (std::size_t i = 0; i < c.size(); ++i) {
      auto& [durations, bytes] = groups[{c.kindOf(i), c.sourceOf(i), c.destinationOf(i)}];
      durations.push_back(c.durationNs(i));
      bytes += c.bytes[i];
      if (c.kindOf(i) == CopyKind::memset) continue;
      const Interval when{c.startNs(i), c.endNs(i)};
      gpu.copies.push_back(when);
      const bool pageable = touchesHost(c.kindOf(i)) &&
                            hostSide(c.kindOf(i), c.sourceOf(i), c.destinationOf(i)) == MemoryKind::pageable;
      if (pageable) gpu.pageable.push_back(when);
    }
  }
  for (auto& [key, value] : groups) {
    CopyGroup group{std::get<0>(key),     std::get<1>(key), std::get<2>(key), false,
                    statsOf(value.first), value.second};
    group.pageable = touchesHost(group.kind) &&
                     hostSide(group.kind, group.source, group.destination) == MemoryKind::pageable;
    if (group.kind == CopyKind::memset) {
      out.memsets += group.time.count;
    } else {
      out.copies += group.time.count;
      out.bytes += group.bytes;
      out.timeNs += group.time.totalNs;
    }
    if (group.pageable) {
      out.pageableCopies += group.time.count;
      out.pageableBytes += group.bytes;
      out.pageableNs += group.time.totalNs;
    }
    out.groups.push_back(std::move(group));
  }
  for (auto& [index, gpu] : gpus) {
    if (stop.stop_requested()) return cancelled();
    const IntervalSet kernels = unite(std::move(gpu.kernels));
    const IntervalSet copies = unite(std::move(gpu.copies));
    out.unionNs += lengthOf(copies);
    out.hiddenNs += lengthOf(intersect(copies, kernels));
    out.pageableExposedNs += lengthOf(subtract(unite(std::move(gpu.pageable)), kernels));
  }
  std::ranges::stable_sort(out.groups, [](const CopyGroup& a, const CopyGroup& b) {
    const bool aSet = a.kind == CopyKind::memset, bSet = b.kind == CopyKind::memset;
    return aSet != bSet ? bSet : a.time.totalNs > b.time.totalNs;
  });
  return out;
}

Result<Findings> findPageableCopies(const ProfileView& view, const Limits& limits, std::stop_token stop) {
  auto summary = summarizeCopies(view, stop);
  if (!summary) return summary.error();
  const std::int64_t wallNs = view.range().lengthNs();
  if (summary->pageableBytes < limits.pageableMinBytes || summary->pageableNs <= 0 || wallNs <= 0)
    return Findings{};
  const double sharePct =
      100.0 * static_cast<double>(summary->pageableExposedNs) / static_cast<double>(wallNs);
  if (sharePct < limits.pageableMinSharePct) return Findings{};

  // Pinned, the same bytes take bytes / rate. At the low rate only the exposed part of that is counted as
  // won; at the high rate, and copied beside kernels, at most the whole exposed time goes.
  const double bytes = static_cast<double>(summary->pageableBytes);
  const double exposedNs = static_cast<double>(summary->pageableExposedNs);
  const double exposedShare = std::min(1.0, exposedNs / static_cast<double>(summary->pageableNs));
  const PinnedRates rates = pinnedRates(*summary, limits);
  const auto saved = [&](double rate) {
    return static_cast<std::int64_t>(std::max(0.0, exposedNs - exposedShare * bytes / rate * 1e9));
  };
  Finding f;
  f.id = FindingId::copyPageable;
  f.confidence = rates.measured ? Confidence::sure : Confidence::likely;  // else the link is not known
  f.subject = {SubjectKind::run, 0, "copies between pageable memory and the GPU"};
  f.recoverableLowNs = saved(rates.low);
  f.recoverableHighNs =
      rates.measured ? std::max(f.recoverableLowNs, summary->pageableExposedNs) : saved(rates.high);
  const double achieved = bytes / static_cast<double>(summary->pageableNs) * 1e9;
  f.evidence = {{"copies", static_cast<double>(summary->pageableCopies), Unit::count},
                {"copied", bytes, Unit::bytes},
                {"copyTime", static_cast<double>(summary->pageableNs), Unit::ns},
                {"exposed", exposedNs, Unit::ns},
                {"achieved", achieved, Unit::bytesPerSec},
                {rates.measured ? "pinnedMeasured" : "pinnedAssumedLow", rates.low, Unit::bytesPerSec}};
  if (!rates.measured) f.evidence.push_back({"pinnedAssumedHigh", rates.high, Unit::bytesPerSec});
  f.text = fmt::format("{} copies from or to pageable memory at {}", formatCount(summary->pageableCopies),
                       formatRate(achieved));
  f.advice =
      "pin the buffers (cudaHostAlloc, cudaHostRegister; PyTorch: pin_memory=True), copy on a second stream";
  return Findings{std::move(f)};
}

}  // namespace warpmeter::analyzer
