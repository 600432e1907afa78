// SPDX-License-Identifier: Apache-2.0
#include "gpu_sampler.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "simulation.h"

namespace warpmeter::sampler {
namespace {

using simulation::kMs;
using simulation::kSecond;
using wire::SamplerKind;

constexpr std::size_t kBuffer = std::size_t{128} << 20;

struct Simulated {
  simulation::Clock clock;
  simulation::Device device{clock};
  simulation::Host host;
  simulation::Sink sink{&clock};
  GpuSamplerOptions options{0.5, kBuffer, false};
  std::unique_ptr<GpuSampler> sampler;

  // Samples for so long.
  void run(std::int64_t ns) {
    clock.orders.emplace_back(ns, Order::end);
    sampler = std::make_unique<GpuSampler>(3, device, host, sink, clock, options, [](const PmStatus& s) {
      return Unavailable{isBusy(s) ? kCountersBusy : kNotRecorded, std::string(s.call)};
    });
    sampler->run();
  }
  double coresUsed() const { return static_cast<double>(clock.cpu) / static_cast<double>(clock.now); }
};

struct BudgetCase {
  double cores;
  std::int64_t sampleBaseNs, sampleColumnNs, medianNs;
};
class Budget : public testing::TestWithParam<BudgetCase> {};

TEST_P(Budget, IsKeptOverAMinute) {
  Simulated s;
  s.options.cores = GetParam().cores;
  s.device.sampleBaseNs = GetParam().sampleBaseNs;
  s.device.sampleColumnNs = GetParam().sampleColumnNs;
  s.clock.medians = {{0, GetParam().medianNs}};
  s.run(60 * kSecond);
  EXPECT_NEAR(s.coresUsed(), GetParam().cores, 0.1 * GetParam().cores);
  EXPECT_GT(s.sampler->stats().samples, 10'000u);
}
INSTANTIATE_TEST_SUITE_P(Costs, Budget,
                         testing::Values(BudgetCase{0.5, 10'000, 8'000, 5'000},     // an H200, short kernels
                                         BudgetCase{0.5, 10'000, 8'000, 300'000},   // longer ones
                                         BudgetCase{0.1, 10'000, 8'000, 10'000},    // a small budget
                                         BudgetCase{0.5, 100'000, 40'000, 50'000},  // a slow machine
                                         BudgetCase{0.8, 20'000, 10'000, 100'000}));

TEST(GpuSampler, CostsThatChangeDoNotBreakTheBudget) {
  Simulated s;
  s.host.onQuestion = [&] {
    s.device.sampleColumnNs = 30'000;
  };  // after the first burst all costs rise fourfold
  s.run(60 * kSecond);
  EXPECT_NEAR(s.coresUsed(), 0.5, 0.05);
}

TEST(GpuSampler, SamplesOnAndOnWhereTheBudgetPays) {
  Simulated s;
  s.clock.medians = {{0, 5 * kMs}};
  s.device.sampleBaseNs = s.device.sampleColumnNs = 500;  // cheaper than the interval
  s.run(20 * kSecond);
  std::int64_t sampled = 0;
  for (const auto& burst : s.device.bursts) sampled += burst.toNs - burst.fromNs;
  EXPECT_GT(sampled, 18 * kSecond);
  EXPECT_LT(s.coresUsed(), 0.5);
}

TEST(GpuSampler, FirstBurstComesBeforeTheOtherSetsAreAskedFor) {
  Simulated s;
  std::vector<std::size_t> burstsAtQuestion;
  s.host.onQuestion = [&] { burstsAtQuestion.push_back(s.device.bursts.size()); };
  s.run(1 * kSecond);
  // Two questions for the first set (is the metric known, does the set fit), the next one after a burst.
  ASSERT_GT(burstsAtQuestion.size(), 3u);
  EXPECT_EQ(burstsAtQuestion[1], 0u);
  EXPECT_EQ(burstsAtQuestion[2], 1u);
  const auto batches = s.sink.of(SamplerKind::batch);
  ASSERT_FALSE(batches.empty());
  EXPECT_LT(batches.front().atNs, 120 * kMs);
  const auto sets = s.sink.of(SamplerKind::set);
  ASSERT_FALSE(sets.empty());
  using namespace std::string_literals;
  EXPECT_EQ(sets.front().payload, "sm__cycles_active.sum\0sm__warps_active.sum\0sm__inst_executed.sum\0"s);
}

TEST(GpuSampler, EachSetIsAnnouncedOnceBeforeItsBatches) {
  Simulated s;
  s.run(10 * kSecond);
  std::map<std::uint32_t, std::uint32_t> metrics;
  for (const auto& m : s.sink.messages) {
    if (m.head.kind == SamplerKind::set) {
      EXPECT_FALSE(metrics.contains(m.head.set));
      metrics[m.head.set] = m.head.metrics;
    }
    if (m.head.kind == SamplerKind::batch) {
      ASSERT_TRUE(metrics.contains(m.head.set));
      EXPECT_EQ(m.head.metrics, metrics[m.head.set]);
    }
  }
  EXPECT_GT(metrics.size(), 8u);
}

TEST(GpuSampler, RotationGivesEverySetItsShare) {
  Simulated s;
  s.run(60 * kSecond);
  const std::vector<MetricSet> sets = buildSets(s.host);
  std::map<std::string, int> bursts;
  for (const auto& burst : s.device.bursts) ++bursts[burst.lastMetric];
  int total = 0, weights = 0;
  for (const MetricSet& set : sets) weights += set.fineWeight;
  for (const auto& [name, count] : bursts) total += count;
  for (const MetricSet& set : sets) {
    const double share = static_cast<double>(bursts[set.columns.back().name]) / total;
    if (set.fineWeight == 0) continue;
    EXPECT_NEAR(share, static_cast<double>(set.fineWeight) / weights, 0.02) << set.columns.back().name;
  }
}

TEST(GpuSampler, ShortKernelsGetFineSamplesOfFewCounters) {
  Simulated s;
  s.clock.medians = {{0, 6'000}, {5 * kSecond, 15'000}, {10 * kSecond, 200'000}, {15 * kSecond, 3'000'000}};
  s.run(20 * kSecond);
  std::map<int, std::map<std::int64_t, int>> intervals;  // by phase
  for (const auto& burst : s.device.bursts) {
    ++intervals[static_cast<int>(burst.fromNs / (5 * kSecond))][burst.intervalNs];
    EXPECT_TRUE(burst.intervalNs >= kManyColumnsNs || burst.columns <= kFineColumns);
  }
  EXPECT_GT(intervals[0][1'000], 10);
  EXPECT_GT(intervals[1][2'000], 10);
  EXPECT_GT(intervals[2][20'000], 10);
  EXPECT_GT(intervals[3][50'000], 5);
  EXPECT_EQ(intervals[2].size(),
            1u + (intervals[2].contains(2'000) ? 1 : 0));  // the burst that ran at the change
}

TEST(GpuSampler, BatchesHaveNoHolesAndTheirNumbersArrive) {
  Simulated s;
  s.run(2 * kSecond);
  std::uint64_t samples = 0;
  for (const auto& m : s.sink.of(SamplerKind::batch)) {
    const auto unpacked = simulation::unpack(m);
    ASSERT_TRUE(unpacked.has_value());
    ASSERT_EQ(unpacked->ends.size(), m.head.samples);
    EXPECT_EQ(m.head.gpu, 3u);
    EXPECT_LE(m.head.samples, BatchEncoder::kMaxBatchSamples);
    std::int64_t start = m.head.fromNs;
    for (std::size_t i = 0; i < unpacked->ends.size(); ++i) {
      EXPECT_EQ(unpacked->ends[i] - start, m.head.intervalNs);
      for (std::size_t c = 0; c < unpacked->values.size(); ++c) {
        ASSERT_EQ(unpacked->values[c][i],
                  (start - simulation::kRealtimeOffset) / 1000 * 10 + static_cast<std::int64_t>(c));
      }
      start = unpacked->ends[i];
    }
    EXPECT_EQ(start, m.head.toNs);
    samples += m.head.samples;
  }
  EXPECT_EQ(samples, s.sampler->stats().samples);
  EXPECT_TRUE(s.sink.of(SamplerKind::hole).empty());
}

TEST(GpuSampler, FirstSampleOfABurstIsLeftOut) {
  Simulated s;
  s.run(300 * kMs);
  const auto batches = s.sink.of(SamplerKind::batch);
  ASSERT_FALSE(batches.empty());
  EXPECT_EQ(batches.front().head.fromNs, s.device.bursts.front().fromNs + s.device.bursts.front().intervalNs +
                                             simulation::kRealtimeOffset);
}

TEST(GpuSampler, OverflowIsToldAndLearnedFrom) {
  Simulated s;
  s.device.capacity = 700;
  s.run(30 * kSecond);
  const auto holes = s.sink.of(SamplerKind::hole);
  ASSERT_FALSE(holes.empty());
  EXPECT_NE(holes.front().payload.find("overflow"), std::string::npos);
  for (const auto& hole : holes) EXPECT_LT(hole.head.fromNs, hole.head.toNs);
  EXPECT_EQ(s.sampler->stats().overflows, holes.size());
  // Every overflowed session was started again, and gave samples.
  int restarted = 0;
  for (const auto& burst : s.device.bursts) restarted += burst.afterOverflow;
  EXPECT_GT(restarted, 0);
  // Learned: after ten seconds hardly a burst overflows any more.
  std::size_t late = 0, lateBursts = 0;
  for (const auto& hole : holes) late += hole.atNs > 10 * kSecond;
  for (const auto& burst : s.device.bursts) lateBursts += burst.fromNs > 10 * kSecond;
  EXPECT_LT(late * 10, lateBursts);
  EXPECT_GT(s.sampler->stats().samples, 50'000u);
}

TEST(GpuSampler, PauseFreesTheCountersAndResumeTakesThemBack) {
  Simulated s;
  s.clock.orders = {{2 * kSecond + 1 * kMs, Order::pause}, {5 * kSecond, Order::sample}};
  s.run(8 * kSecond);
  const auto paused = s.sink.of(SamplerKind::paused);
  ASSERT_EQ(paused.size(), 1u);
  EXPECT_EQ(paused.front().head.gpu, 3u);
  EXPECT_LT(paused.front().atNs, 2 * kSecond + 200 * kMs);
  EXPECT_EQ(s.device.opens, 2);
  EXPECT_EQ(s.device.closes, 2);
  bool before = false, after = false;
  for (const auto& burst : s.device.bursts) {
    EXPECT_FALSE(burst.toNs > paused.front().atNs && burst.fromNs < 5 * kSecond) << burst.fromNs;
    before = before || burst.toNs < 2 * kSecond;
    after = after || burst.fromNs > 5 * kSecond;
  }
  EXPECT_TRUE(before && after);
}

TEST(GpuSampler, EndsSoonInTheMiddleOfALongBurst) {
  Simulated s;
  s.clock.medians = {{0, 5 * kMs}};
  s.options.cores = 1;
  s.run(3 * kSecond);
  EXPECT_LT(s.clock.now, 3 * kSecond + 150 * kMs);
  EXPECT_FALSE(s.device.isOpen);
}

TEST(GpuSampler, BusyCountersAreWaitedForAndThenGivenUp) {
  Simulated soon;
  soon.device.openResults = {{26, "open"}, {7, "open"}, {}};
  soon.run(2 * kSecond);
  EXPECT_TRUE(soon.sink.of(SamplerKind::unavailable).empty());
  EXPECT_GT(soon.sampler->stats().samples, 0u);

  Simulated never;
  never.device.openResults.assign(50, {26, "open"});
  never.run(20 * kSecond);
  const auto unavailable = never.sink.of(SamplerKind::unavailable);
  ASSERT_EQ(unavailable.size(), 1u);
  EXPECT_TRUE(unavailable.front().payload.starts_with("counters_busy"));
  EXPECT_LT(never.clock.now, 3 * kSecond);
}

TEST(GpuSampler, NoPermissionIsSaidAtOnce) {
  Simulated s;
  s.device.openResults.assign(5, {35, "open"});
  s.run(20 * kSecond);
  EXPECT_EQ(s.device.opens, 1);
  EXPECT_EQ(s.sink.of(SamplerKind::unavailable).size(), 1u);
  EXPECT_TRUE(s.sink.of(SamplerKind::batch).empty());
}

TEST(GpuSampler, FailingSessionIsOpenedAgainThreeTimesAndThenGivenUp) {
  Simulated s;
  s.device.decodeResult = {999, "decode"};
  s.run(20 * kSecond);
  EXPECT_EQ(s.device.opens, 3);
  EXPECT_EQ(s.sink.of(SamplerKind::hole).size(), 3u);
  ASSERT_EQ(s.sink.of(SamplerKind::unavailable).size(), 1u);
  EXPECT_FALSE(s.device.isOpen);
}

TEST(GpuSampler, CpuTimeOfCuptisOwnThreadsCounts) {
  struct Doubling : simulation::Clock {
    std::int64_t ourShareOfCpuNs() override { return 2 * cpu; }
  } clock;
  simulation::Device device(clock);
  simulation::Host host;
  simulation::Sink sink;
  clock.orders = {{60 * kSecond, Order::end}};
  GpuSampler(0, device, host, sink, clock, {0.5, kBuffer, false}, [](const PmStatus&) {
    return Unavailable{};
  }).run();
  EXPECT_NEAR(2.0 * static_cast<double>(clock.cpu) / static_cast<double>(clock.now), 0.5, 0.05);
}

TEST(GpuSampler, ChipWithoutOccupancyIsUnsupported) {
  Simulated s;
  s.host.room = 2;
  s.run(1 * kSecond);
  ASSERT_EQ(s.sink.messages.size(), 1u);
  EXPECT_TRUE(s.sink.messages.front().payload.starts_with("unsupported_chip"));
  EXPECT_EQ(s.device.opens, 0);
}

TEST(GpuSampler, RefusedBatchesBecomeAHole) {
  Simulated s;
  s.sink.refuse = true;
  s.run(2 * kSecond);
  EXPECT_TRUE(s.sink.of(SamplerKind::batch).empty());
  const auto holes = s.sink.of(SamplerKind::hole);
  ASSERT_EQ(holes.size(), 1u);
  EXPECT_GT(holes.front().head.toNs - holes.front().head.fromNs, 1 * kSecond);
  EXPECT_EQ(s.sampler->stats().samples, 0u);
}

}  // namespace
}  // namespace warpmeter::sampler
