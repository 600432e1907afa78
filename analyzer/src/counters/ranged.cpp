// SPDX-License-Identifier: Apache-2.0
#include "src/counters/ranged.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "src/counters/attribute_gpu.h"
#include "src/counters/instrumentation.h"
#include "src/counters/interval.h"
#include "warpmeter/analyzer/occupancy.h"

namespace warpmeter::analyzer {
namespace {

struct Launch {
  std::uint32_t distinct = kNone;
  std::int64_t startNs = 0;
  double durationNs = 0, maxWarps = 0;
  Added added;
};
using LaunchKey = std::pair<std::uint32_t, std::int64_t>;  // process, correlation

// CUPTI waits with kernels of its own behind a measured launch, with that launch's correlation id (13.0.1).
bool isHelper(const ProfileView& view, const LaunchConfig& config) {
  return config.gridBlocks() == 1 && config.blockThreads() == 1 &&
         view.name(view.functions()[config.function].shortName) == "WaitNs";
}

// Only launches that have values: kernels are millions, ranged launches hundreds.
std::map<LaunchKey, Launch> launchesOf(const ProfileView& view, const std::set<LaunchKey>& wanted) {
  std::map<LaunchKey, Launch> out;
  for (const StreamLane& lane : view.streams()) {
    for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
      const LaunchKey key{lane.process, lane.kernels.correlation[i]};
      if (!wanted.contains(key)) continue;
      const LaunchConfig& config = view.configs()[lane.kernels.config[i]];
      if (isHelper(view, config)) continue;
      // No graph is ever measured, so of several kernels with the id the first one is the launch: what
      // follows belongs to the measuring.
      const auto before = out.find(key);
      if (before != out.end() && before->second.startNs <= lane.kernels.startNs(i)) continue;
      const GpuInfo& gpu = view.gpus()[lane.gpu].info;
      const auto limits = deviceLimits(gpu);
      Launch& launch = out[key];
      launch.distinct = config.distinct;
      launch.startNs = lane.kernels.startNs(i);
      launch.durationNs = static_cast<double>(lane.kernels.durationNs(i));
      launch.maxWarps = limits ? static_cast<double>(limits->maxWarpsPerSm) : 0.0;
      if (lane.process < view.processes().size()) {
        launch.added = addedInstructions(gpu, view.processes()[lane.process].info, config);
      }
    }
  }
  return out;
}

struct Values {
  Launch launch;
  std::array<double, kRoles> value;
  Values() { value.fill(std::numeric_limits<double>::quiet_NaN()); }
};

// Ratio of sums over the launches that have all roles; the interval from their spread.
Metric metricOf(const std::vector<const Values*>& launches, const MetricForm& form) {
  const std::vector<Role> top = listed(form.numerator), bottom = listed(form.denominator);
  const auto sum = [](const Values& v, const std::vector<Role>& roles) {
    double out = 0;
    for (const Role r : roles) out += v.value[static_cast<std::size_t>(r)];
    return out;
  };
  const bool rate = form.unit == MetricForm::Unit::perSecond;
  std::vector<std::pair<double, double>> pairs;
  double n = 0, d = 0, warps = 0;
  Added added;
  for (const Values* v : launches) {
    const double a = sum(*v, top), b = bottom.empty() ? (rate ? v->launch.durationNs : 1.0) : sum(*v, bottom);
    if (std::isnan(a) || std::isnan(b)) continue;
    pairs.emplace_back(a, b);
    n += a;
    d += b;
    warps = v->launch.maxWarps;
    added.add(v->launch.added);
  }
  if (pairs.empty()) return Metric::missing(Reason::notRecorded);
  if (d <= 0 || (form.unit == MetricForm::Unit::perWarpSlotPct && warps <= 0)) {
    return Metric::missing(Reason::notRecorded);
  }
  const double scale = scaleOf(form, warps, 1.0);
  Metric out{n / d * scale, {}, {}, static_cast<std::int64_t>(pairs.size()), Provenance::ranged, {}};
  const auto count = static_cast<double>(pairs.size());
  const auto asTheKernelHasThem = [&](const Metric& m) {
    const bool instructions = form.isAmount() && !rate && form.numerator[0] == Role::instExecuted;
    return instructions ? without(added.over(count), m) : m;
  };
  if (pairs.size() < 2) return asTheKernelHasThem(out);
  Estimate estimate;
  estimate.degrees = count - 1;
  for (const auto& [a, b] : pairs) estimate.sampling += std::pow((a - n / d * b) / d, 2);
  estimate.sampling *= count / (count - 1);
  const double half = halfWidth(estimate, 0) * scale;
  out.low = std::max(0.0, *out.value - half);
  out.high = *out.value + half;
  return asTheKernelHasThem(out);
}

}  // namespace

RangedMetrics rangedMetricsOf(const ProfileView& view) {
  RangedMetrics out;
  const std::size_t distinct = view.distinctKernels().size();
  out.kernels.resize(distinct);
  out.has.assign(distinct, 0);
  for (KernelCounters& k : out.kernels) {
    for (const MetricTable& t : metricTables()) k.*t.metric = Metric::missing(Reason::notRecorded);
  }
  if (view.ranged().empty()) return out;

  std::set<LaunchKey> wanted;
  for (const ViewRanged& v : view.ranged()) wanted.insert({v.process, v.correlation});
  const auto launches = launchesOf(view, wanted);
  // A launch may carry several configurations; each metric is made of one.
  std::map<std::pair<LaunchKey, std::int64_t>, Values> values;
  for (const ViewRanged& v : view.ranged()) {
    const auto launch = launches.find({v.process, v.correlation});
    if (launch == launches.end()) continue;
    const LaunchConfig& config = view.configs()[view.distinctKernels()[launch->second.distinct].config];
    const auto counter = counterOf(view.name(v.metric), view.gpus()[config.gpu].info.chipName);
    if (!counter) continue;
    Values& to = values[{{v.process, v.correlation}, v.configuration}];
    to.launch = launch->second;
    to.value[static_cast<std::size_t>(counter->role)] = v.value * counter->scale;
  }
  std::vector<std::vector<const Values*>> byKernel(distinct);
  std::set<LaunchKey> counted;
  for (const auto& [key, v] : values) {
    byKernel[v.launch.distinct].push_back(&v);
    counted.insert(key.first);
  }
  out.launches = static_cast<std::int64_t>(counted.size());
  for (std::size_t d = 0; d < distinct; ++d) {
    if (byKernel[d].empty()) continue;
    out.has[d] = 1;
    for (const MetricTable& t : metricTables()) {
      for (const MetricForm& form : t.forms) {
        Metric& metric = out.kernels[d].*t.metric;
        if (!metric.value) metric = metricOf(byKernel[d], form);
      }
    }
  }
  return out;
}

}  // namespace warpmeter::analyzer
