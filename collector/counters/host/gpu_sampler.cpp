// SPDX-License-Identifier: Apache-2.0
#include "gpu_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace warpmeter::sampler {
namespace {

constexpr std::int64_t kRetryNs = 200'000'000;
constexpr int kOpenTries = 10;  // two seconds: a range session that just ended gives the counters back slowly
constexpr int kMaxFailuresInRow = 3;  // then the GPU is given up
constexpr int kEmptyBursts = 2;       // of one set: then it is given up
constexpr int kCoreEmptyBursts = 3;   // in a row: then the session is opened again

// The first column is sm__cycles_active.
bool sawWork(const SampleBlock& block) {
  for (std::size_t i = 0; i < block.values.size(); i += block.columns) {
    if (block.values[i] > 0) return true;
  }
  return false;
}

}  // namespace

GpuSampler::GpuSampler(std::uint32_t gpu, PmDevice& device, MetricHost& host, MessageSink& sink,
                       SamplerClock& clock, GpuSamplerOptions options,
                       std::function<Unavailable(const PmStatus&)> explain)
    : gpu_(gpu),
      device_(device),
      host_(host),
      sink_(sink),
      clock_(clock),
      options_(options),
      explain_(std::move(explain)),
      budget_(options.cores, clock.nowNs()),
      encoder_(gpu, sink) {}

void GpuSampler::run() {
  spentNs_ = clock_.ourShareOfCpuNs();
  MetricGroup core = buildCore(host_);
  if (core.sets.empty()) {
    sendUnavailable(sink_, gpu_, kUnsupportedChip,
                    "this chip cannot count active warps and instructions in one pass");
    return;
  }
  addGroup(std::move(core));
  intervalNs_ = intervalFor(clock_.medianKernelNs(), groups_[0].metrics);
  while (clock_.order() != Order::end) {
    if (clock_.order() == Order::pause) {
      pausedUntilTold();
    } else if (!step()) {
      break;
    }
  }
  if (open_) device_.close();
  encoder_.tellLosses();
  stats_.samples = encoder_.sent();
  if (options_.verbose) tellStats();
}

// One burst with what has to come before it, and the pause after it.
bool GpuSampler::step() {
  if (configured_ && turns_.over(clock_.nowNs())) chooseGroup();
  PmStatus status;
  if (!configured_) {
    // A session takes one configuration only.
    const std::int64_t from = clock_.nowNs();
    budget_.spend(newlySpentNs());
    if (open_) device_.close();
    open_ = false;
    if (!openPatiently()) return false;
    if (!open_) return true;  // told something else meanwhile
    status = configure(from);
  }
  const bool ran = status.ok() && clock_.order() == Order::sample;
  if (ran) status = burst();
  if (!status.ok()) return recover(status);
  if (ran) failuresInRow_ = 0;
  const std::int64_t spent = newlySpentNs();
  budget_.spend(spent);
  turns_.spent(spent);
  waitForBudget();
  return true;
}

void GpuSampler::addGroup(MetricGroup metrics) {
  Group group{std::move(metrics), BufferNeed(0), {}, {}};
  group.buffer = BufferNeed(group.metrics.asked().size());
  for (const MetricSet& set : group.metrics.sets) {
    group.sets.push_back({sets_++, SampleCost(set.columns.size())});
  }
  groups_.push_back(std::move(group));
}

// At the first change: asking for them takes CPU time, and the program may be over before.
void GpuSampler::loadAllGroups() {
  if (allGroups_) return;
  allGroups_ = true;
  std::vector<MetricGroup> all = buildGroups(host_, options_.links);
  for (std::size_t i = 1; i < all.size(); ++i) addGroup(std::move(all[i]));
  budget_.borrow(newlySpentNs());
}

void GpuSampler::chooseGroup() {
  loadAllGroups();
  const bool fine = isFine(clock_.medianKernelNs());
  std::vector<int> weights;
  for (const Group& group : groups_) {
    weights.push_back(fine ? group.metrics.fineWeight : group.metrics.coarseWeight);
  }
  const std::size_t next = turns_.next(weights);
  const std::int64_t interval = intervalFor(clock_.medianKernelNs(), groups_[next].metrics);
  if (next == group_ && interval == intervalNs_) return turns_.renewed(clock_.nowNs());
  group_ = next;
  intervalNs_ = interval;
  configured_ = false;
}

bool GpuSampler::openPatiently() {
  PmStatus status;
  for (int i = 0; i < kOpenTries; ++i) {
    status = device_.open();
    if (status.ok()) {
      open_ = true;
      return true;
    }
    if (!isBusy(status)) break;
    clock_.waitUntil(clock_.nowNs() + kRetryNs, Order::sample);
    if (clock_.order() != Order::sample) return true;
  }
  const Unavailable why = explain_(status);
  sendUnavailable(sink_, gpu_, why.reason, why.text);
  return false;
}

void GpuSampler::pausedUntilTold() {
  if (open_) device_.close();
  open_ = configured_ = false;
  sendPaused(sink_, gpu_);
  while (clock_.order() == Order::pause) clock_.waitUntil(clock_.nowNs() + 1'000'000'000, Order::pause);
}

PmStatus GpuSampler::configure(std::int64_t fromNs) {
  const Group& group = groups_[group_];
  if (const PmStatus s = device_.configure(group.metrics, intervalNs_, group.buffer.bytes()); !s.ok())
    return s;
  ++stats_.changes;
  configured_ = true;
  const std::int64_t cost = newlySpentNs();
  budget_.borrow(cost);
  const auto sets =
      std::ranges::count_if(group.metrics.sets, [](const MetricSet& s) { return s.weight > 0; });
  turns_.changed(clock_.nowNs(), clock_.nowNs() - fromNs, cost, static_cast<std::size_t>(sets));
  return {};
}

void GpuSampler::hole(std::int64_t fromNs, std::int64_t toNs, const char* why) {
  if (toNs > fromNs) sendHole(sink_, gpu_, fromNs, toNs, why);
}

PmStatus GpuSampler::burst() {
  Group& group = groups_[group_];
  std::vector<int> weights;
  for (const MetricSet& set : group.metrics.sets) weights.push_back(set.weight);
  const std::size_t index = group.rotation.next(weights);
  const MetricSet& metrics = group.metrics.sets[index];
  Set& set = group.sets[index];
  if (set.bursts == 0) sendSet(sink_, gpu_, set.number, metrics);
  ++set.bursts;
  const BurstPlan plan = planBurst(intervalNs_, set.cost, overhang_, group.buffer.samples());

  const std::int64_t fromNs = clock_.realtimeNs();
  encoder_.beginBurst(set.number, metrics.columns.size(), intervalNs_);
  const auto failed = [&](const PmStatus& s) {
    encoder_.endBurst();
    hole(std::max(fromNs, encoder_.lastEndNs()), clock_.realtimeNs(),
         fmt::format("{} failed with {}", s.call, s.code).c_str());
    return s;
  };
  if (const PmStatus s = device_.prepare(metrics, plan.samples); !s.ok()) return failed(s);
  const std::int64_t cpu = clock_.threadCpuNs();
  if (const PmStatus s = device_.start(); !s.ok()) return failed(s);
  const std::int64_t started = clock_.nowNs();
  clock_.waitUntil(started + plan.lengthNs, Order::sample);
  const std::int64_t lengthNs = clock_.nowNs() - started;
  const std::int64_t toNs = clock_.realtimeNs();
  if (const PmStatus s = device_.stop(); !s.ok()) return failed(s);
  const std::int64_t fixedNs = clock_.threadCpuNs() - cpu;

  block_.clear(metrics.columns.size());
  const DecodeResult decoded = device_.decode(block_);
  encoder_.add(block_);
  const std::size_t samples = block_.samples();
  if (sawWork(block_)) turns_.sawWork();
  ++stats_.bursts;
  set.samples += samples;
  set.cost.measured(samples, clock_.threadCpuNs() - cpu - fixedNs, fixedNs);
  if (decoded.overflow) {
    ++stats_.overflows;
    encoder_.endBurst();
    hole(std::max(fromNs, encoder_.lastEndNs()), toNs, "the hardware buffer overflowed");
    group.buffer.overflowed();
    configured_ = false;  // an overflowed session answers nothing more
    return {};
  }
  if (!decoded.status.ok()) return failed(decoded.status);
  encoder_.endBurst();
  if (decoded.full) {
    ++stats_.full;
    overhang_.wasMore();
    hole(std::max(fromNs, encoder_.lastEndNs()), toNs, "more samples than there was room for");
  } else if (samples == 0) {
    hole(fromNs, toNs, "no samples came");
    gaveNothing(index);
  } else {
    set.empty = 0;
    overhang_.measured(static_cast<std::int64_t>(samples) * intervalNs_, lengthNs);
  }
  return {};
}

// On an H200 without a link counters of NVLink gave nothing, and after them no other set of their
// configuration did, until the session was opened again. So that is done, and a set that gives nothing twice
// is not asked any more.
void GpuSampler::gaveNothing(std::size_t index) {
  Group& group = groups_[group_];
  const int empty = ++group.sets[index].empty;
  if (group_ == 0) {  // without the core there is no sampling
    if (empty % kCoreEmptyBursts == 0) configured_ = false;
    return;
  }
  configured_ = false;
  if (empty < kEmptyBursts) return;
  group.metrics.sets[index].weight = 0;
  if (options_.verbose)
    fmt::print(stderr, "sampler: gpu {} set {} gives no samples and is left out\n", gpu_,
               group.sets[index].number);
  const bool any = std::ranges::any_of(group.metrics.sets, [](const MetricSet& s) { return s.weight > 0; });
  if (any) return;
  group.metrics.fineWeight = group.metrics.coarseWeight = 0;
  chooseGroup();
}

// A session that failed once is opened again; one that keeps failing is given up.
bool GpuSampler::recover(const PmStatus& status) {
  ++stats_.failures;
  if (options_.verbose) fmt::print(stderr, "sampler: gpu {}: {}\n", gpu_, explain_(status).text);
  if (open_) device_.close();
  open_ = configured_ = false;
  if (clock_.order() != Order::sample) return true;
  if (++failuresInRow_ < kMaxFailuresInRow) {
    clock_.waitUntil(clock_.nowNs() + kRetryNs, Order::sample);
    return true;
  }
  const Unavailable why = explain_(status);
  sendUnavailable(sink_, gpu_, why.reason, why.text);
  return false;
}

std::int64_t GpuSampler::newlySpentNs() {
  const std::int64_t share = clock_.ourShareOfCpuNs(), spent = share - spentNs_;
  spentNs_ = share;
  return spent;
}

void GpuSampler::waitForBudget() {
  while (clock_.order() == Order::sample) {
    const std::int64_t now = clock_.nowNs(), wait = budget_.waitNs(now);
    if (wait == 0) return;
    clock_.waitUntil(now + wait, Order::sample);
  }
}

void GpuSampler::tellStats() const {
  fmt::print(
      stderr,
      "sampler: gpu {}: {} bursts, {} configurations, {} samples sent, {} refused, {} without value, {} "
      "overflows, {} times no room, {} failures, {:.2f} ms of sampling after the order to stop\n",
      gpu_, stats_.bursts, stats_.changes, encoder_.sent(), encoder_.dropped(), encoder_.invalid(),
      stats_.overflows, stats_.full, stats_.failures, static_cast<double>(overhang_.ns()) * 1e-6);
  for (const Group& group : groups_) {
    for (const Set& set : group.sets) {
      if (set.bursts == 0) continue;
      fmt::print(
          stderr,
          "sampler: gpu {} set {}: {} samples of {} bursts, {:.1f} us CPU a sample and {:.2f} ms a burst, "
          "buffer {} MiB\n",
          gpu_, set.number, set.samples, set.bursts, set.cost.perSampleNs() * 1e-3, set.cost.fixedNs() * 1e-6,
          group.buffer.bytes() >> 20);
    }
  }
}

}  // namespace warpmeter::sampler
