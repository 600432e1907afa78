// SPDX-License-Identifier: Apache-2.0
#include "src/counters/attribute_gpu.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>

#include "src/counters/alone.h"
#include "src/counters/fit.h"
#include "src/counters/interval.h"
#include "src/counters/join_samples.h"
#include "src/parallel.h"

namespace warpmeter::analyzer {
namespace {

constexpr double kForeignMostPct = 20;
constexpr std::int64_t kFewestSamples = 12;
constexpr double kFewestLaunches = 3;
constexpr double kAloneShare = 0.5;  // of a kernel's sampled launches: then those that ran alone speak for it
// Of how often each place of a launch was sampled: an occupancy that falls from 100 to 24 % along the launch
// came out 2.8 points too low at 0.14.
constexpr double kMostImbalance = 0.03;
constexpr std::size_t kJoinFrom = 500'000;      // samples of a series; below, nothing is gained
constexpr std::size_t kTrialSamples = 200'000;  // for the fits that only show how much the result moves
// How far the model may be wrong, in units of how far two models differ; set by simulation
// (docs/accuracy.md).
constexpr double kModelFactor = 1.0;
// An interval of a fit takes time with the kernels of the run, all of them with its square: 3 000 kernels in
// 0.5 s took 14 s, 10 000 in 1.6 s more than two minutes. Those with the most time have one; behind them each
// is below 0.1 %.
constexpr std::size_t kMostFitted = 1'000;
// An interval wider than this says nothing: points of a percentage; part of an amount.
constexpr double kWidestPoints = 30, kWidestPart = 1.0;
// ... unless it is narrow beside the largest rate of any kernel of the run (bytes of a kernel that moves next
// to none).
constexpr double kWidestOfLargest = 0.02;
// ... or beside what the GPU's memory could move meanwhile: that a kernel moves next to none is a
// measurement.
constexpr double kWidestOfMemory = 0.02;
// Nor is it known better than this: traffic of a few kilobytes comes in rare gusts, which few samples meet.
constexpr double kFinestOfMemory = 1e-4;

// A form of a metric that the sets of this GPU can fill. A metric with several has the first that gives a
// value: the counters of the better one may not have been read while the kernel ran.
struct Plan {
  const MetricTable* table = nullptr;
  const MetricForm* form = nullptr;
  std::vector<Role> numerator, denominator;
  // Amounts of kernels that run at once add up; active cycles and warps of an SM do not.
  bool concurrent() const { return form->isAmount(); }
};

std::vector<Plan> plansFor(const GpuWork& work) {
  std::vector<Plan> out;
  for (const MetricTable& table : metricTables()) {
    const auto fits = [&](const MetricForm& form) {
      if (form.unit == MetricForm::Unit::perWarpSlotPct && work.maxWarpsPerSm <= 0) return false;
      return std::ranges::any_of(work.series, [&](const SeriesView& s) {
        return (s.roles & form.roles()) == form.roles() && s.size() > 0;
      });
    };
    for (const MetricForm& form : table.forms)
      if (fits(form)) out.push_back({&table, &form, listed(form.numerator), listed(form.denominator)});
  }
  return out;
}

// One fit with all plans solved: values by plan and kind.
class PlannedFit {
 public:
  PlannedFit(const GpuWork& work, const std::vector<Plan>& plans, const Layout& layout, const Sight& sight,
             std::stop_token stop)
      : plans_(plans),
        kernels_(work.schedule.kernels),
        fit_(work.schedule, layout, work.series, sight.kinds, work.threads, stop) {}

  void run(std::int64_t shiftNs, std::size_t stride) {
    fit_.accumulate(shiftNs, stride);
    systems_.clear();
    for (const Plan& plan : plans_) systems_.push_back(fit_.solve(plan.form->roles(), plan.concurrent()));
    fit_.score(stride);
  }
  double value(std::size_t plan, std::uint32_t kind) const {
    const auto* system = systems_[plan];
    if (!system) return 0;
    double n = 0, d = plans_[plan].denominator.empty() ? 1 : 0;
    for (const Role r : plans_[plan].numerator) n += fit_.total(*system, kind, r);
    for (const Role r : plans_[plan].denominator) d += fit_.total(*system, kind, r);
    return d > 0 ? n / d : 0;
  }
  std::vector<double> values(std::size_t plan) const {
    std::vector<double> out(kernels_);
    for (std::uint32_t k = 0; k < kernels_; ++k) out[k] = value(plan, k);
    return out;
  }
  Estimate estimate(std::size_t plan, std::uint32_t kind) {
    if (!systems_[plan]) return {};
    return fit_.ratio(*systems_[plan], kind, plans_[plan].numerator, plans_[plan].denominator);
  }
  double idlePerUs(std::size_t plan, Role role) const {
    return systems_[plan] ? fit_.idlePerUs(*systems_[plan], role) : 0;
  }

 private:
  const std::vector<Plan>& plans_;
  std::uint32_t kernels_;
  Fit fit_;
  std::vector<Fit::System*> systems_;
};

bool isDram(const Plan& plan) {
  return plan.form->isAmount() && std::ranges::all_of(plan.numerator, [](Role r) {
           return r == Role::dramRead || r == Role::dramWrite;
         });
}

// By plan and kind: variance from what the data cannot show: where the clocks stand, where launches are cut.
std::vector<std::vector<double>> systematicOf(const GpuWork& work, const std::vector<Plan>& plans,
                                              const Layout& layout, const Sight& sight,
                                              const ClockOffset& clock, std::stop_token stop) {
  std::size_t total = 0;
  for (const SeriesView& s : work.series) total += s.size();
  const std::size_t stride = std::max<std::size_t>(1, total / kTrialSamples);
  const Layout other = Layout::of(work.schedule, sight.kinds, true);
  PlannedFit usual(work, plans, layout, sight, stop), recut(work, plans, other, sight, stop);
  std::vector<std::vector<double>> base, early, late, moved;
  const auto collect = [&](PlannedFit& fit, std::int64_t shift) {
    fit.run(shift, stride);
    std::vector<std::vector<double>> out;
    for (std::size_t p = 0; p < plans.size(); ++p) out.push_back(fit.values(p));
    return out;
  };
  base = collect(usual, 0);
  moved = collect(recut, 0);
  early = collect(usual, -clock.uncertaintyNs);
  late = collect(usual, clock.uncertaintyNs);
  std::vector<std::vector<double>> out(plans.size(), std::vector<double>(work.schedule.kernels));
  for (std::size_t p = 0; p < plans.size(); ++p) {
    for (std::uint32_t k = 0; k < work.schedule.kernels; ++k) {
      const double model = kModelFactor * (moved[p][k] - base[p][k]), offset = (late[p][k] - early[p][k]) / 2;
      out[p][k] = model * model + offset * offset;
    }
  }
  return out;
}

struct AloneSeries {
  std::vector<AloneStretches> of;  // by series
  // Of the series that have all roles.
  std::vector<AloneSums> stretches(const GpuWork& work, RoleSet roles, std::uint32_t kind) const {
    std::vector<AloneSums> out;
    for (std::size_t s = 0; s < of.size(); ++s) {
      if ((work.series[s].roles & roles) == roles)
        out.insert(out.end(), of[s][kind].begin(), of[s][kind].end());
    }
    return out;
  }
};

// Replaces series by shorter ones where it is worth it. Keep the result as long as the series.
std::vector<std::unique_ptr<SampleSeries>> join(std::vector<SeriesView>& series, unsigned threads) {
  std::vector<std::unique_ptr<SampleSeries>> out(series.size());
  parallelFor(series.size(), threads, [&](std::size_t s) {
    if (series[s].size() < kJoinFrom) return;
    std::vector<SampleUse> use;
    auto shorter = joinSamples(series[s], use);
    if (!shorter) return;
    out[s] = std::make_unique<SampleSeries>(std::move(*shorter));
    const std::int64_t offsetNs = series[s].offsetNs;
    series[s] = SeriesView(*out[s]);
    series[s].use = std::move(use);
    series[s].offsetNs = offsetNs;
  });
  return out;
}

// By kind: whether a fit may speak for it.
std::vector<char> fittedKinds(const Schedule& schedule) {
  std::vector<char> out(schedule.kernels, 1);
  if (schedule.kernels <= kMostFitted) return out;
  std::vector<std::int64_t> timeNs(schedule.kernels, 0);
  for (const Operation& op : schedule.ops)
    if (schedule.isKernel(op)) timeNs[op.kind] += op.endNs - op.startNs;
  std::vector<std::int64_t> order = timeNs;
  std::ranges::nth_element(order, order.begin() + kMostFitted - 1, std::greater{});
  const std::int64_t least = order[kMostFitted - 1];
  std::size_t left = kMostFitted;
  // Those above it first: of equal ones as many as there is room for.
  for (std::uint32_t k = 0; k < schedule.kernels; ++k) left -= timeNs[k] > least;
  for (std::uint32_t k = 0; k < schedule.kernels; ++k)
    out[k] = timeNs[k] > least || (timeNs[k] == least && left > 0 && left-- > 0);
  return out;
}

Reason whyNone(const KindSight& seen, const Plan& plan) {
  if (seen.samples < kFewestSamples || seen.launches < kFewestLaunches) return Reason::tooFewSamples;
  if (!plan.concurrent() && seen.sequentialNs < 0.01 * seen.sampledNs) return Reason::neverAlone;
  return seen.aloneNs <= 0 ? Reason::neverAlone : Reason::tooFewSamples;
}

}  // namespace

std::vector<Role> listed(const std::array<Role, 2>& roles) {
  std::vector<Role> out;
  for (const Role r : roles) {
    if (r != Role::count) out.push_back(r);
  }
  return out;
}

double scaleOf(const MetricForm& form, double maxWarpsPerSm, double durationNs) {
  switch (form.unit) {
    case MetricForm::Unit::ratioPct:
      return 100 * form.factor;
    case MetricForm::Unit::perWarpSlotPct:
      return maxWarpsPerSm > 0 ? 100 * form.factor / maxWarpsPerSm : 0;
    case MetricForm::Unit::perLaunch:
      return form.factor;
    case MetricForm::Unit::perSecond:
      return durationNs > 0 ? form.factor * 1e9 / durationNs : 0;
  }
  return 0;
}

GpuMetrics attributeGpu(GpuWork& work, std::stop_token stop) {
  GpuMetrics out;
  const std::uint32_t kernels = work.schedule.kernels;
  out.kernels.resize(kernels);
  for (KernelCounters& k : out.kernels) {
    for (const MetricTable& t : metricTables()) k.*t.metric = Metric::missing(Reason::notRecorded);
  }
  const std::vector<Plan> plans = plansFor(work);
  if (plans.empty() || work.schedule.ops.empty()) return out;

  out.clock = estimateClockOffset(work.schedule, work.series, work.threads);
  // Unknown: what was measured elsewhere, with all of its spread.
  const ClockOffset clock = out.clock.value_or(ClockOffset{500, 300});
  for (SeriesView& s : work.series) s.offsetNs = clock.ns;
  out.sight = look(work.schedule, work.series, work.unknown, work.threads, stop);
  out.shared = !work.unknownAnywhere && out.sight.foreignPct() > kForeignMostPct;
  if (out.shared || stop.stop_requested()) {
    for (KernelCounters& k : out.kernels) {
      for (const Plan& p : plans) k.*p.table->metric = Metric::missing(Reason::gpuShared);
    }
    return out;
  }

  const auto joined = join(work.series, work.threads);
  const Layout layout = Layout::of(work.schedule, out.sight.kinds);
  const auto systematic = systematicOf(work, plans, layout, out.sight, clock, stop);
  PlannedFit fit(work, plans, layout, out.sight, stop);
  AloneSeries alone;
  alone.of.resize(work.series.size());
  parallelFor(work.series.size() + 1, work.threads, [&](std::size_t i) {
    if (i == 0) {
      fit.run(0, 1);
    } else {
      alone.of[i - 1] = stretchesOf(work.schedule, work.series[i - 1], stop);
    }
  });

  const std::vector<char> fitted = fittedKinds(work.schedule);
  for (std::size_t p = 0; p < plans.size(); ++p) {
    if (stop.stop_requested()) return out;
    const Plan& plan = plans[p];
    std::array<double, kRoles> idle{};
    for (const auto& roles : {plan.numerator, plan.denominator}) {
      for (const Role r : roles) idle[static_cast<std::size_t>(r)] = fit.idlePerUs(p, r);
    }
    double largestPerNs = 0;  // of any kernel
    for (std::uint32_t k = 0; k < kernels && plan.form->isAmount(); ++k) {
      const double ns = out.sight.kinds[k].durationNs;
      if (ns > 0) largestPerNs = std::max(largestPerNs, fit.value(p, k) / ns);
    }
    for (std::uint32_t k = 0; k < kernels; ++k) {
      const KindSight& seen = out.sight.kinds[k];
      Metric& metric = out.kernels[k].*plan.table->metric;
      if (metric.value) continue;
      metric = Metric::missing(whyNone(seen, plan));
      std::int64_t samples = 0;
      for (std::size_t s = 0; s < work.series.size(); ++s) {
        if ((work.series[s].roles & plan.form->roles()) == plan.form->roles())
          samples += out.sight.samplesOf[s][k];
      }
      if (samples < kFewestSamples || seen.launches <= 0) continue;

      const std::vector<AloneSums> stretches = alone.stretches(work, plan.form->roles(), k);
      double launches = 0;
      for (const AloneSums& s : stretches) launches += s.launches;
      Estimate estimate;
      double more = 0;
      Provenance provenance = Provenance::sampledExclusive;
      // A ratio of sums takes the places of a launch as often as they were sampled.
      const bool even = !seen.onlyPieces() && seen.imbalance() <= kMostImbalance;
      if (even && launches >= kAloneShare * seen.launches * static_cast<double>(samples) /
                                  static_cast<double>(seen.samples)) {
        estimate = ratioOf(stretches, plan.numerator, plan.denominator, idle);
      }
      if (estimate.degrees <= 0 && !fitted[k]) {
        metric = Metric::missing(Reason::tooFewSamples);
        continue;
      }
      if (estimate.degrees <= 0) {
        estimate = fit.estimate(p, k);
        more = systematic[p][k];
        provenance = Provenance::sampledFit;
      }
      if (estimate.degrees <= 0) continue;
      const double scale = scaleOf(*plan.form, work.maxWarpsPerSm, seen.durationNs);
      // What memory could move in a launch, scaled as the amount is.
      const double memory = isDram(plan) ? work.memoryBytesPerNs * seen.durationNs * scale : 0;
      const double value = estimate.value * scale;
      const double half = std::max(halfWidth(estimate, more) * scale, kFinestOfMemory * memory);
      const double largest = largestPerNs * seen.durationNs * scale;
      const bool wide = plan.form->isAmount()
                            ? half > kWidestPart / 2 * value && half > kWidestOfLargest * largest &&
                                  half > kWidestOfMemory * memory
                            : 2 * half > kWidestPoints;
      if (!std::isfinite(value) || !std::isfinite(half) || wide) continue;
      metric = {value, std::max(0.0, value - half), value + half, samples, provenance, std::nullopt};
    }
  }
  return out;
}

}  // namespace warpmeter::analyzer
