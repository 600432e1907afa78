// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/run_summary.h"

#include <algorithm>
#include <map>
#include <set>

namespace warpmeter::analyzer {
namespace {

std::optional<std::int64_t> known(std::int64_t v) { return isNull(v) ? std::nullopt : std::optional{v}; }

// What recording took from the application's own threads, at least: callbacks, CUPTI's instrumentation and
// resource work, buffer requests (ours, or CUPTI's record of them, which encloses ours). What the recording's
// own threads and processes used is listed but not counted.
std::optional<std::int64_t> ownCostOf(const ProfileView& view) {
  struct Cost {
    std::int64_t callbacksNs = 0, requestNs = 0, recordedRequestNs = 0, cuptiNs = 0;
  };
  constexpr std::int64_t kInstrumentation = 4, kResource = 5;  // ENUM_CUPTI_OVERHEAD_TYPE
  std::map<std::int64_t, Cost> costs;                          // by globalPid
  for (const SelfCostInfo& c : view.selfCosts()) {
    if (isNull(c.ns)) continue;
    // Exact mode works on the launching threads too.
    if (c.what == "guest.callbacks" || c.what.starts_with("guest.exact_")) costs[c.globalPid.value].callbacksNs += c.ns;
    if (c.what == "guest.buffer_request") costs[c.globalPid.value].requestNs += c.ns;
  }
  if (costs.empty()) return std::nullopt;
  for (const ViewOverhead& o : view.overheads()) {
    if (o.process == kNone) continue;
    Cost& cost = costs[view.processes()[o.process].info.globalPid.value];
    const std::int64_t ns = std::max<std::int64_t>(o.endNs - o.startNs, 0);
    if (o.type == kInstrumentation || o.type == kResource) cost.cuptiNs += ns;
    if (view.name(o.name) == "CUPTI activity buffer request") cost.recordedRequestNs += ns;
  }
  std::int64_t total = 0;
  for (const auto& [pid, c] : costs)
    total += c.callbacksNs + c.cuptiNs + std::max(c.requestNs, c.recordedRequestNs);
  return total;
}

void qualityOf(const ProfileView& view, std::int64_t timed, Quality& out) {
  out.timed = timed;
  out.launches = timed + static_cast<std::int64_t>(view.untimed().size());
  for (const ViewSource& s : view.sources()) {
    out.unfinished = out.unfinished || s.unfinished;
    if (s.reader->kind() == FileKind::nsys) out.lossesRecorded = false;
  }
  bool lost = false;
  for (const LossInfo& l : view.losses()) {
    if (l.count == 0) continue;
    out.losses.push_back({l.kind, l.why, known(l.count), known(l.fromNs), known(l.toNs)});
    if (!lossMeansIncomplete(l.kind)) continue;
    lost = true;
    if (isNull(l.count)) {
      out.unknownLosses = true;
    } else {
      out.lostRecords += l.count;
    }
  }
  // A recorder that was killed took along what it held: how much, nobody knows.
  if (out.unfinished) out.unknownLosses = true;
  out.complete = !out.unfinished && !lost && out.timed == out.launches;
  out.ownCosts.assign(view.selfCosts().begin(), view.selfCosts().end());
  out.ownCostNs = ownCostOf(view);
  if (!view.sources().empty()) out.countersReason = view.sources().front().session.counters;
}

// Start of the first process to the end of the last one; where a file does not say so, what was recorded.
void wallOf(const ProfileView& view, TimeBuckets& out) {
  out.beginNs = view.range().beginNs;
  std::int64_t end = view.range().beginNs;
  bool allEnded = !view.processes().empty();
  for (const ViewProcess& p : view.processes()) {
    if (isNull(p.info.exitNs)) {
      allEnded = false;
    } else {
      end = std::max(end, p.info.exitNs);
    }
  }
  out.endNs = allEnded ? end : view.range().endNs;
}

std::optional<std::int64_t> firstStart(const ProfileView& view) {
  std::optional<std::int64_t> kernel, operation;
  const auto earlier = [](std::optional<std::int64_t>& to, const Spans& spans) {
    if (!spans.empty()) to = std::min(to.value_or(INT64_MAX), spans.startNs(0));
  };
  for (const StreamLane& lane : view.streams()) {
    earlier(kernel, lane.kernels);
    earlier(operation, lane.copies);
  }
  return kernel ? kernel : operation;
}

Result<void> bucketsOf(const ProfileView& view, const Limits& limits, std::stop_token stop,
                       TimeBuckets& out) {
  wallOf(view, out);
  const auto first = firstStart(view);
  out.anyGpuWork = first.has_value();
  if (!first) {
    out.startUpNs = out.wallNs();
    return {};
  }
  auto gpu = concurrencyOfAll(view, limits, stop, {first, std::nullopt});
  if (!gpu) return gpu.error();
  const Concurrency& c = **gpu;
  // Records of the GPU's clock may lie beyond the process's by a little.
  out.beginNs = std::min(out.beginNs, c.windowBeginNs);
  out.endNs = std::max(out.endNs, c.windowEndNs);
  out.startUpNs = c.windowBeginNs - out.beginNs;
  auto before = concurrencyOfAll(view, limits, stop, {std::nullopt, first});
  if (!before) return before.error();
  if (*before) out.startUpCopyNs = (*before)->copyNs;
  out.busyNs = c.busyNs;
  out.kernelNs = c.kernelNs;
  out.copyNs = c.copyNs;
  out.bothNs = c.bothNs;
  out.idleNs = c.gapNs;
  out.idle = c.idle;
  out.shutDownNs = out.endNs - c.windowEndNs;
  return {};
}

void countsOf(const ProfileView& view, RunSummary& out) {
  std::set<std::uint32_t> gpus, processes;
  for (const StreamLane& lane : view.streams()) {
    out.kernels += static_cast<std::int64_t>(lane.kernels.size());
    for (std::size_t i = 0; i < lane.copies.size(); ++i) {
      if (lane.copies.kindOf(i) == CopyKind::memset) {
        ++out.memsets;
      } else {
        ++out.copies;
        out.copyBytes += lane.copies.bytes[i];
      }
    }
    if (lane.kernels.empty() && lane.copies.empty()) continue;
    ++out.streamsUsed;
    gpus.insert(lane.gpu);
    processes.insert(lane.process);
  }
  for (const ThreadLane& lane : view.threads()) {
    out.apiCalls += static_cast<std::int64_t>(lane.api.size());
    for (std::size_t i = 0; i < lane.nvtx.size(); ++i)
      out.nvtxRanges += lane.nvtx.kindOf(i) != NvtxKind::mark;
  }
  out.untimed = static_cast<std::int64_t>(view.untimed().size());
  out.gpusUsed = gpus.size();
  out.processes = view.processes().size();
  out.processesWithGpuWork = processes.size();
}

}  // namespace

Result<RunSummary> summarizeRun(const ProfileView& view, const Limits& limits, std::stop_token stop) {
  RunSummary out;
  countsOf(view, out);
  qualityOf(view, out.kernels, out.quality);
  if (auto ok = bucketsOf(view, limits, stop, out.time); !ok) return ok.error();
  if (out.quality.ownCostNs && out.time.wallNs() > 0) {
    out.quality.ownCostPct =
        100.0 * static_cast<double>(*out.quality.ownCostNs) / static_cast<double>(out.time.wallNs());
  }
  return out;
}

}  // namespace warpmeter::analyzer
