// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>

#include "src/cancelled.h"
#include "src/counters/attribute_gpu.h"
#include "src/counters/instrumentation.h"
#include "src/counters/ranged.h"
#include "src/counters/unknown_work.h"
#include "warpmeter/analyzer/counters.h"
#include "warpmeter/analyzer/occupancy.h"
#include "warpmeter/analyzer/statistics.h"

namespace warpmeter::analyzer {
namespace {

constexpr double kShortNs = 20'000;  // below, a launch measured alone beats samples

std::uint32_t copyGroup(const Copies& copies, std::size_t i) {
  switch (copies.kindOf(i)) {
    case CopyKind::hostToDevice:
    case CopyKind::hostToArray:
      return 0;
    case CopyKind::deviceToHost:
    case CopyKind::arrayToHost:
      return 1;
    case CopyKind::deviceToDevice:
      return 2;
    case CopyKind::memset:
      return 3;
    default:
      return 4;
  }
}
constexpr std::uint32_t kCopyGroups = 5;

struct Gpu {
  GpuWork work;
  std::vector<std::uint32_t> distinctOf;  // by kind
  std::vector<double> timeNs, launches;   // by kind, over the whole run
  std::vector<Added> added;               // by kind, of all its launches
};

Gpu collect(const ProfileView& view, std::uint32_t gpu) {
  Gpu out;
  std::vector<std::uint32_t> kindOf(view.distinctKernels().size(), kNone);
  std::vector<Operation>& ops = out.work.schedule.ops;
  for (const StreamLane& lane : view.streams()) {
    if (lane.gpu != gpu) continue;
    for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
      const LaunchConfig& config = view.configs()[lane.kernels.config[i]];
      const std::uint32_t distinct = config.distinct;
      std::uint32_t& kind = kindOf[distinct];
      if (kind == kNone) {
        kind = static_cast<std::uint32_t>(out.distinctOf.size());
        out.distinctOf.push_back(distinct);
        out.timeNs.push_back(0);
        out.launches.push_back(0);
        out.added.emplace_back();
      }
      out.timeNs[kind] += static_cast<double>(lane.kernels.durationNs(i));
      out.launches[kind] += 1;
      if (lane.process < view.processes().size()) {
        out.added[kind].add(
            addedInstructions(view.gpus()[gpu].info, view.processes()[lane.process].info, config));
      }
      ops.push_back({lane.kernels.startNs(i), lane.kernels.endNs(i), kind});
    }
  }
  const auto kernels = static_cast<std::uint32_t>(out.distinctOf.size());
  for (const StreamLane& lane : view.streams()) {
    if (lane.gpu != gpu) continue;
    for (std::size_t i = 0; i < lane.copies.size(); ++i) {
      ops.push_back({lane.copies.startNs(i), lane.copies.endNs(i), kernels + copyGroup(lane.copies, i)});
    }
  }
  out.work.schedule.kernels = kernels;
  out.work.schedule.kinds = kernels + kCopyGroups;
  out.work.schedule.finish();
  for (const SampleSeries& s : view.samples()) {
    if (s.gpu == gpu) out.work.series.emplace_back(s);
  }
  UnknownWork unknown = unknownWorkOf(view, gpu);
  out.work.unknown = std::move(unknown.when);
  out.work.unknownAnywhere = unknown.anywhere;
  const GpuInfo& info = view.gpus()[gpu].info;
  if (const auto limits = deviceLimits(info)) out.work.maxWarpsPerSm = limits->maxWarpsPerSm;
  if (!isNull(info.memoryBandwidth))
    out.work.memoryBytesPerNs = static_cast<double>(info.memoryBandwidth) * 1e-9;
  return out;
}

// Time with kernels.
std::int64_t busyNs(const Schedule& schedule) {
  std::int64_t out = 0, reached = INT64_MIN;
  for (const Operation& op : schedule.ops) {
    if (!schedule.isKernel(op)) continue;
    out += std::max<std::int64_t>(0, op.endNs - std::max(op.startNs, reached));
    reached = std::max(reached, op.endNs);
  }
  return out;
}

// WM_SESSION.counters of the sources: the first that names a reason.
std::pair<Reason, std::string> whyNone(const ProfileView& view) {
  for (const ViewSource& s : view.sources()) {
    if (const auto reason = reasonFromId(s.session.counters)) {
      return {*reason,
              s.session.countersText.empty() ? std::string(named(*reason).text) : s.session.countersText};
    }
  }
  return {Reason::notRecorded, std::string(named(Reason::notRecorded).text)};
}

using Parts = std::vector<std::pair<Metric, double>>;

class Summary {
 public:
  explicit Summary(const ProfileView& view)
      : view_(view), parts_(view.distinctKernels().size() * metricTables().size()) {}

  void add(const Gpu& gpu, const GpuMetrics& metrics) {
    for (std::uint32_t k = 0; k < gpu.distinctOf.size(); ++k) {
      for (std::size_t t = 0; t < metricTables().size(); ++t) {
        const bool amount = metricTables()[t].forms.front().isAmount();
        const auto member = metricTables()[t].metric;
        Metric metric = metrics.kernels[k].*member;
        if (member == &KernelCounters::instructions)
          metric = without(gpu.added[k].over(gpu.launches[k]), metric);
        partsOf(gpu.distinctOf[k], t).emplace_back(metric, amount ? gpu.launches[k] : gpu.timeNs[k]);
      }
      time_[gpu.distinctOf[k]].first += gpu.timeNs[k];
      time_[gpu.distinctOf[k]].second += gpu.launches[k];
    }
  }

  std::vector<KernelCounters> finish(const RangedMetrics& ranged, Reason none) {
    std::vector<KernelCounters> out(view_.distinctKernels().size());
    for (std::uint32_t d = 0; d < out.size(); ++d) {
      out[d].distinct = d;
      const auto [time, launches] = time_[d];
      const bool isShort = launches > 0 && time / launches < kShortNs;
      for (std::size_t t = 0; t < metricTables().size(); ++t) {
        const auto member = metricTables()[t].metric;
        const Parts& parts = partsOf(d, t);
        Metric metric = parts.empty() ? Metric::missing(none) : foldMetric(parts);
        if (!metric.value && *metric.reason == Reason::notRecorded) metric.reason = none;
        const Metric& exact = ranged.kernels[d].*member;
        if (exact.value && (isShort || !metric.value)) metric = exact;
        out[d].*member = metric;
      }
    }
    return out;
  }

 private:
  Parts& partsOf(std::uint32_t distinct, std::size_t table) {
    return parts_[distinct * metricTables().size() + table];
  }
  const ProfileView& view_;
  std::vector<Parts> parts_;
  std::map<std::uint32_t, std::pair<double, double>> time_;  // by distinct kernel: time, launches
};

}  // namespace

Metric foldMetric(const Parts& parts) {
  double all = 0, weight = 0, sum = 0, below = 0, above = 0, heaviest = -1;
  Metric out = Metric::missing(Reason::notRecorded);
  bool interval = true, fitted = false;
  std::int64_t samples = 0;
  for (const auto& [metric, w] : parts) {
    all += w;
    if (!metric.value) {
      if (w > heaviest) out.reason = metric.reason;
      heaviest = std::max(heaviest, w);
      continue;
    }
    weight += w;
    sum += w * *metric.value;
    samples += metric.samples;
    interval = interval && metric.low && metric.high;
    if (interval) {
      // Where the lower end was cut at 0, the upper one says how wide the interval is.
      const double up = *metric.high - *metric.value,
                   down = *metric.low > 0 ? *metric.value - *metric.low : up;
      above += std::pow(w * up, 2);
      below += std::pow(w * down, 2);
    }
  }
  if (weight <= 0 || weight < all / 2) return out;
  double first = -1;  // provenance: of the heaviest part
  for (const auto& [metric, w] : parts) {
    if (!metric.value) continue;
    fitted = fitted || metric.provenance == Provenance::sampledFit;
    if (w > first) out.provenance = metric.provenance;
    first = std::max(first, w);
  }
  if (fitted && out.provenance == Provenance::sampledExclusive) out.provenance = Provenance::sampledFit;
  out.value = sum / weight;
  if (interval) {
    out.low = std::max(0.0, *out.value - std::sqrt(below) / weight);
    out.high = *out.value + std::sqrt(above) / weight;
  }
  out.samples = samples;
  out.reason.reset();
  return out;
}

Result<CounterSummary> summarizeCounters(const ProfileView& view, std::stop_token stop) {
  CounterSummary out;
  CounterQuality& quality = out.quality;
  const RangedMetrics ranged = rangedMetricsOf(view);
  quality.rangedLaunches = ranged.launches;
  quality.any = !view.samples().empty() || ranged.launches > 0;
  auto [none, text] = whyNone(view);
  if (!quality.any) {
    quality.reason = none;
    quality.reasonText = text;
  } else {
    none = Reason::notRecorded;  // of single metrics: no set has their counters
  }

  for (const LossInfo& loss : view.losses()) {
    if (loss.kind != "samples" || isNull(loss.count)) continue;
    quality.holes += loss.count;
    if (!isNull(loss.fromNs) && !isNull(loss.toNs)) {
      quality.holesNs += std::max<std::int64_t>(0, loss.toNs - std::max(loss.fromNs, view.range().beginNs));
    }
  }

  Summary summary(view);
  std::vector<std::int64_t> lengths;
  std::int64_t idle = 0, foreign = 0;
  for (std::uint32_t g = 0; g < view.gpus().size(); ++g) {
    if (stop.stop_requested()) return cancelled();
    Gpu gpu = collect(view, g);
    if (gpu.work.schedule.ops.empty()) continue;
    quality.runNs += busyNs(gpu.work.schedule);
    if (gpu.work.series.empty()) continue;
    for (const SeriesView& s : gpu.work.series) {
      // One in a hundred is enough for a median.
      for (std::size_t i = 0; i < s.size(); i += 100) lengths.push_back(s.series->durationNs(i));
    }
    const GpuMetrics metrics = attributeGpu(gpu.work, stop);
    if (stop.stop_requested()) return cancelled();
    summary.add(gpu, metrics);
    quality.samples += metrics.sight.samples;
    quality.dropped += metrics.sight.dropped;
    quality.sampledNs += metrics.sight.sampledNs;
    quality.gpuShared = quality.gpuShared || metrics.shared;
    idle += metrics.sight.idle;
    foreign += metrics.sight.foreign;
    CounterQuality::Gpu entry{g, {}, 0, metrics.sight.foreignPct(), metrics.shared};
    if (metrics.clock) {
      entry.clockOffsetNs = metrics.clock->ns;
      entry.clockUncertaintyNs = metrics.clock->uncertaintyNs;
    }
    quality.gpus.push_back(entry);
  }
  quality.medianIntervalNs = medianOf(lengths);
  quality.foreignPct = idle > 0 ? 100 * static_cast<double>(foreign) / static_cast<double>(idle) : 0;
  out.kernels = summary.finish(ranged, none);
  quality.measured = static_cast<std::size_t>(std::ranges::count_if(
      out.kernels, [](const KernelCounters& k) { return k.occupancyPct.value.has_value(); }));
  return out;
}

}  // namespace warpmeter::analyzer
