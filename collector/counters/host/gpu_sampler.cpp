// SPDX-License-Identifier: Apache-2.0
#include "gpu_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace warpmeter::sampler {
namespace {

constexpr std::int64_t kRetryNs = 200'000'000;
constexpr int kOpenTries = 10;  // two seconds: a range session that just ended gives the counters back slowly
constexpr int kMaxFailuresInRow = 3;           // then the GPU is given up
constexpr int kOverflowsBeforeReopen = 3;      // an overflowed session usually recovers with Stop and Start
constexpr std::int64_t kHurryNs = 50'000'000;  // of decoding, once told to pause or end

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
  if (!loadFirstSet()) return;
  while (clock_.order() != Order::end) {
    if (clock_.order() == Order::pause) {
      pausedUntilTold();
      continue;
    }
    if (!open_ && !openPatiently()) break;
    if (!open_) continue;  // told something else meanwhile
    if (!burst()) break;
    loadAllSets();
    account();
    waitForBudget();
  }
  if (open_) device_.close();
  open_ = false;
  encoder_.tellLosses();
  stats_.samples = encoder_.sent();
  if (options_.verbose) {
    fmt::print(stderr,
               "sampler: gpu {}: {} bursts, {} samples sent, {} refused, {} without value, {} overflows, {} "
               "failures\n",
               gpu_, stats_.bursts, encoder_.sent(), encoder_.dropped(), encoder_.invalid(), stats_.overflows,
               stats_.failures);
    for (std::size_t i = 0; i < sets_.size(); ++i) {
      fmt::print(stderr,
                 "sampler: gpu {} set {}: {:.1f} us per sample, {:.1f} ms per burst, room for {} samples\n",
                 gpu_, i, sets_[i].cost.perSampleNs() * 1e-3, sets_[i].cost.fixedNs() * 1e-6,
                 sets_[i].cap.samples());
    }
  }
}

bool GpuSampler::loadFirstSet() {
  MetricSet first = buildFirstSet(host_);
  if (first.columns.empty()) {
    sendUnavailable(sink_, gpu_, kUnsupportedChip,
                    "this chip cannot count active warps and instructions in one pass");
    return false;
  }
  addSet(std::move(first));
  return true;
}

// After the first burst: asking for the others takes 0.4 s, and the program may be over by then.
void GpuSampler::loadAllSets() {
  if (allSets_) return;
  allSets_ = true;
  std::vector<MetricSet> all = buildSets(host_);
  for (std::size_t i = 1; i < all.size(); ++i) addSet(std::move(all[i]));
  spentNs_ = clock_.ourShareOfCpuNs();  // part of the start, not of the sampling
}

void GpuSampler::addSet(MetricSet metrics) {
  const std::size_t columns = metrics.columns.size();
  sets_.push_back(
      {std::move(metrics), SampleCost(columns), BufferCap(options_.hardwareBufferBytes, columns)});
}

bool GpuSampler::openPatiently() {
  PmStatus status;
  for (int i = 0; i < kOpenTries; ++i) {
    status = device_.open();
    if (status.ok()) {
      open_ = true;
      configuredNs_ = 0;
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
  open_ = false;
  sendPaused(sink_, gpu_);
  while (clock_.order() == Order::pause) clock_.waitUntil(clock_.nowNs() + 1'000'000'000, Order::pause);
}

std::size_t GpuSampler::nextSet() {
  const bool fine = isFine(clock_.medianKernelNs());
  std::vector<int> weights;
  bool any = false;
  for (const Set& set : sets_) {
    weights.push_back(fine ? set.metrics.fineWeight : set.metrics.coarseWeight);
    any = any || weights.back() > 0;
  }
  if (!any) return 0;
  return (fine ? fineRotation_ : coarseRotation_).next(weights);
}

bool GpuSampler::burst() {
  const std::size_t index = nextSet();
  Set& set = sets_[index];
  if (!set.announced) {
    sendSet(sink_, gpu_, static_cast<std::uint32_t>(index), set.metrics);
    set.announced = true;
  }
  const BurstPlan plan =
      planBurst(clock_.medianKernelNs(), set.metrics, set.cost, budget_.cores(), set.cap.samples());
  const std::int64_t cpu = clock_.threadCpuNs(), from = clock_.realtimeNs();
  burstSamples_ = 0;
  decodeNs_ = 0;
  overflow_ = drained_ = false;
  encoder_.beginBurst(static_cast<std::uint32_t>(index), set.metrics.columns.size(), plan.intervalNs);
  PmStatus status;
  if (configured_ != index || configuredNs_ != plan.intervalNs) {
    status = device_.configure(set.metrics, plan.intervalNs);
    configured_ = index;
    configuredNs_ = status.ok() ? plan.intervalNs : 0;
  }
  if (status.ok()) status = sampleFor(set, plan);
  encoder_.endBurst();
  ++stats_.bursts;
  set.cost.measured(burstSamples_, decodeNs_, clock_.threadCpuNs() - cpu - decodeNs_);
  const std::int64_t measuredTo = encoder_.lastEndNs() == 0 ? from : encoder_.lastEndNs();
  if (!status.ok()) {
    sendHole(sink_, gpu_, measuredTo, clock_.realtimeNs(),
             fmt::format("{} failed with {}", status.call, status.code));
    return recover(status);
  }
  failuresInRow_ = 0;
  if (!overflow_) {
    overflowsInRow_ = 0;
    set.cap.went(static_cast<std::int64_t>(burstSamples_));
    return true;
  }
  ++stats_.overflows;
  sendHole(sink_, gpu_, measuredTo, clock_.realtimeNs(), "the hardware buffer overflowed");
  set.cap.overflowed(std::min<std::int64_t>(plan.lengthNs, kSliceNs) / plan.intervalNs);
  if (++overflowsInRow_ % kOverflowsBeforeReopen == 0) {
    device_.close();
    open_ = false;
  }
  return true;
}

PmStatus GpuSampler::sampleFor(Set& set, const BurstPlan& plan) {
  if (const PmStatus s = device_.start(); !s.ok()) return s;
  const std::int64_t end = clock_.nowNs() + plan.lengthNs;
  PmStatus status;
  while (status.ok() && !overflow_ && clock_.order() == Order::sample) {
    const std::int64_t now = clock_.nowNs();
    if (now >= end) break;
    clock_.waitUntil(std::min(end, now + kSliceNs), Order::sample);
    if (clock_.nowNs() < end && clock_.order() == Order::sample) status = decodeAll(set, false);
  }
  const PmStatus stopped = device_.stop();
  if (status.ok()) status = stopped;
  if (status.ok() && !drained_) status = decodeAll(set, true);
  return status;
}

// What the buffer holds. After an order to pause or end the rest is given up when it takes long.
PmStatus GpuSampler::decodeAll(Set& set, bool stopped) {
  const std::int64_t cpu = clock_.threadCpuNs(), begun = clock_.nowNs();
  DecodeResult result;
  do {
    block_.clear(set.metrics.columns.size());
    result = device_.decode(block_);
    burstSamples_ += block_.samples();
    encoder_.add(block_);
    overflow_ = overflow_ || result.overflow;
    if (result.overflow && !result.status.ok()) {
      drained_ = true;  // an overflowed session answers nothing more until it is stopped and started
      result.status = {};
      break;
    }
    if (stopped && clock_.order() != Order::sample && clock_.nowNs() - begun > kHurryNs && result.more) {
      sendHole(sink_, gpu_, encoder_.lastEndNs(), clock_.realtimeNs(), "told to let go of the counters");
      break;
    }
    // While sampling goes on, the buffer fills behind us: come back later rather than stay forever.
  } while (result.status.ok() && result.more && (stopped || clock_.nowNs() - begun < kSliceNs));
  decodeNs_ += clock_.threadCpuNs() - cpu;
  return result.status;
}

// A session that failed once is opened again; one that keeps failing is given up.
bool GpuSampler::recover(const PmStatus& status) {
  ++stats_.failures;
  if (options_.verbose) fmt::print(stderr, "sampler: gpu {}: {}\n", gpu_, explain_(status).text);
  device_.close();
  open_ = false;
  if (clock_.order() != Order::sample) return true;
  if (++failuresInRow_ < kMaxFailuresInRow) {
    clock_.waitUntil(clock_.nowNs() + kRetryNs, Order::sample);
    return true;
  }
  const Unavailable why = explain_(status);
  sendUnavailable(sink_, gpu_, why.reason, why.text);
  return false;
}

void GpuSampler::account() {
  const std::int64_t share = clock_.ourShareOfCpuNs();
  budget_.spend(share - spentNs_);
  spentNs_ = share;
}

void GpuSampler::waitForBudget() {
  while (clock_.order() == Order::sample) {
    const std::int64_t now = clock_.nowNs(), wait = budget_.waitNs(now);
    if (wait == 0) return;
    clock_.waitUntil(now + wait, Order::sample);
  }
}

}  // namespace warpmeter::sampler
