// SPDX-License-Identifier: Apache-2.0
#include "gpu_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "simulation.h"

namespace warpmeter::sampler {
namespace {

using simulation::kMs;
using simulation::kSecond;
using wire::SamplerKind;

struct Simulated {
  simulation::Clock clock;
  simulation::Device device{clock};
  simulation::Host host{&clock};
  simulation::Sink sink{&clock};
  GpuSamplerOptions options{0.5, false};
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
  // Samples by set, that is by its last metric, of bursts in [from, to).
  std::map<std::string, std::size_t> samples(std::int64_t from, std::int64_t to) const {
    std::map<std::string, std::size_t> result;
    for (const auto& b : device.bursts) {
      if (b.fromNs >= from && b.toNs < to) result[b.lastMetric] += b.samples;
    }
    return result;
  }
};

constexpr const char* kCore = "dram__bytes_write.sum";
constexpr const char* kPipesAndCaches = "sm__issue_active.sum";  // last of the simulated second group

struct BudgetCase {
  double cores;
  std::int64_t decodeColumnNs, medianNs;
};
class Budget : public testing::TestWithParam<BudgetCase> {};

TEST_P(Budget, IsKeptOverAMinute) {
  Simulated s;
  s.options.cores = GetParam().cores;
  s.device.decodeColumnNs = GetParam().decodeColumnNs;
  s.clock.medians = {{0, GetParam().medianNs}};
  s.run(60 * kSecond);
  EXPECT_NEAR(s.coresUsed(), GetParam().cores, 0.1 * GetParam().cores);
  EXPECT_GT(s.sampler->stats().samples, 10'000u);
  EXPECT_TRUE(s.sink.of(SamplerKind::hole).empty());
}
INSTANTIATE_TEST_SUITE_P(Costs, Budget,
                         testing::Values(BudgetCase{0.5, 9'570, 5'000},    // an H200, short kernels
                                         BudgetCase{0.5, 9'570, 300'000},  // longer ones
                                         BudgetCase{0.5, 9'570, 5'000'000},
                                         BudgetCase{0.1, 9'570, 10'000},   // a small budget
                                         BudgetCase{0.5, 60'000, 50'000},  // a slow machine
                                         BudgetCase{0.8, 20'000, 100'000}));

TEST(GpuSampler, FirstSecondGivesThousandsOfSamplesOfTheCoreAllOverIt) {
  for (const std::int64_t median : {0, 5'000, 300'000}) {
    Simulated s;
    s.clock.medians = {{200 * kMs, median}};
    s.run(1 * kSecond);
    const auto samples = s.samples(0, 2 * kSecond);
    ASSERT_EQ(samples.size(), 1u);
    EXPECT_EQ(samples.begin()->first, kCore);
    RecordProperty("samples" + std::to_string(median), static_cast<int>(samples.begin()->second));
    EXPECT_GT(samples.begin()->second, 3'000u);
    EXPECT_EQ(s.device.changes.size(), 1u);
    // After the configuration no tenth of a second is without.
    for (std::int64_t t = 400 * kMs; t < 1 * kSecond; t += 100 * kMs) {
      EXPECT_FALSE(s.samples(t, t + 100 * kMs).empty()) << t;
    }
    EXPECT_LT(s.sink.of(SamplerKind::batch).front().atNs, 400 * kMs);
  }
}

TEST(GpuSampler, ThreeSecondsGivePipesAndCachesToo) {
  Simulated s;
  s.clock.medians = {{300 * kMs, 100'000}};
  s.run(3 * kSecond);
  const auto samples = s.samples(0, 3 * kSecond);
  for (const auto& [name, count] : samples) RecordProperty(name, static_cast<int>(count));
  EXPECT_GT(samples.at(kCore), 4'000u);
  EXPECT_GT(samples.at(kPipesAndCaches), 1'200u);
  ASSERT_EQ(s.device.changes.size(), 2u);
  EXPECT_LT(s.device.changes[1].atNs, 1'600 * kMs);
}

// A program that reads its input for four seconds has the core counted when it begins to work.
TEST(GpuSampler, TheCoreWaitsForWork) {
  Simulated s;
  s.device.worksFromNs = 4 * kSecond;
  s.run(8 * kSecond);
  std::size_t withWork = 0;
  for (const auto& burst : s.device.bursts) {
    if (s.device.changes.size() > 1 && burst.fromNs > s.device.changes[1].atNs) break;
    withWork += burst.fromNs > 4 * kSecond;
  }
  EXPECT_GE(withWork, GroupTurns::kLeastBursts);
  EXPECT_GE(s.device.changes.size(), 2u);  // and then come pipes and caches
}

TEST(GpuSampler, EverySetGetsItsTurnInAMinute) {
  for (const std::int64_t median : {5'000, 100'000}) {
    Simulated s;
    s.clock.medians = {{0, median}};
    s.run(60 * kSecond);
    const auto samples = s.samples(0, 60 * kSecond);
    for (const auto& [name, count] : samples) {
      RecordProperty(name + std::to_string(median), static_cast<int>(count));
    }
    simulation::Host host;
    for (const MetricGroup& group : buildGroups(host)) {
      if ((isFine(median) ? group.fineWeight : group.coarseWeight) == 0) continue;
      for (const MetricSet& set : group.sets) {
        ASSERT_TRUE(samples.contains(set.columns.back().name)) << set.columns.back().name;
        EXPECT_GT(samples.at(set.columns.back().name), 2'000u) << set.columns.back().name;
      }
    }
    for (const auto& [name, count] : samples) EXPECT_LE(count, samples.at(kCore)) << name;
  }
}

TEST(GpuSampler, ChangesCostLittleOfWhatTheyServe) {
  Simulated s;
  s.clock.medians = {{0, 5'000}};
  s.run(60 * kSecond);
  const auto changes = static_cast<std::int64_t>(s.device.changes.size());
  EXPECT_GT(changes, 5);
  EXPECT_LT(changes * (s.device.configureNs + s.device.closeNs), 60 * kSecond / 2 * 18 / 100);
  // A dearer change is made less often.
  Simulated dear;
  dear.clock.medians = {{0, 5'000}};
  dear.device.configureNs *= 3;
  dear.run(60 * kSecond);
  EXPECT_LT(dear.device.changes.size() * 2, s.device.changes.size());
}

TEST(GpuSampler, CostsThatChangeDoNotBreakTheBudget) {
  Simulated s;
  s.host.onQuestion = [&] {
    if (s.device.bursts.size() > 1)
      s.device.decodeColumnNs = 40'000;  // at the first change all rises fourfold
  };
  s.run(60 * kSecond);
  EXPECT_NEAR(s.coresUsed(), 0.5, 0.05);
}

TEST(GpuSampler, OtherGroupsAreAskedForAtTheFirstChange) {
  Simulated s;
  std::vector<std::size_t> burstsAtQuestion;
  s.host.onQuestion = [&] { burstsAtQuestion.push_back(s.device.bursts.size()); };
  s.run(3 * kSecond);
  ASSERT_GT(burstsAtQuestion.size(), 4u);
  EXPECT_EQ(burstsAtQuestion[2], 0u);  // instructions, reads, writes
  EXPECT_GT(burstsAtQuestion[3], 10u);
  const auto sets = s.sink.of(SamplerKind::set);
  ASSERT_FALSE(sets.empty());
  using namespace std::string_literals;
  EXPECT_EQ(sets.front().payload,
            "sm__cycles_active.sum\0sm__warps_active.sum\0sm__cycles_elapsed.sum\0sm__inst_executed.sum\0"
            "dram__bytes_read.sum\0dram__bytes_write.sum\0"s);
}

TEST(GpuSampler, EachSetIsAnnouncedOnceBeforeItsBatches) {
  Simulated s;
  s.run(60 * kSecond);
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

TEST(GpuSampler, ShortKernelsGetFineSamplesOfFewCounters) {
  Simulated s;
  s.clock.medians = {
      {0, 6'000}, {60 * kSecond, 15'000}, {120 * kSecond, 200'000}, {180 * kSecond, 3'000'000}};
  s.run(240 * kSecond);
  std::map<int, std::map<std::int64_t, int>> intervals;  // by phase, without the stay that began before it
  for (const auto& burst : s.device.bursts) {
    if (burst.fromNs % (60 * kSecond) > 15 * kSecond)
      ++intervals[static_cast<int>(burst.fromNs / (60 * kSecond))][burst.intervalNs];
    EXPECT_TRUE(burst.intervalNs >= kCoreIntervalNs || burst.counters <= kFineColumns);
    EXPECT_TRUE(burst.intervalNs >= kBroadIntervalNs || burst.counters <= kCoreColumns);
  }
  EXPECT_GT(intervals[0][1'000], 10);
  EXPECT_EQ(intervals[1][1'000], 0);
  EXPECT_GT(intervals[1][2'000], 10);
  EXPECT_GT(intervals[2][20'000], 10);
  EXPECT_EQ(intervals[2].size(), 1u);
  EXPECT_GT(intervals[3][50'000], 5);
  EXPECT_EQ(intervals[3].size(), 1u);
}

TEST(GpuSampler, ManyShortBurstsRatherThanFewLongOnes) {
  Simulated s;
  s.clock.medians = {{0, 100'000}};
  s.run(10 * kSecond);
  EXPECT_GT(s.device.bursts.size(), 100u);
  std::int64_t fixed = 0;
  for (const auto& burst : s.device.bursts) {
    fixed += s.device.startNs + s.device.stopNs;
    EXPECT_LT(burst.toNs - burst.fromNs, 30 * kMs);
  }
  EXPECT_LT(fixed, s.clock.cpu / 4);
}

TEST(GpuSampler, RoomForWhatComesAfterTheOrderToStopIsLearned) {
  Simulated s;
  s.device.overhangNs = 3 * kMs;
  s.device.stopNs = 4 * kMs;
  s.run(5 * kSecond);
  EXPECT_GT(s.sampler->stats().full, 0u);
  EXPECT_LT(s.sampler->stats().full, 10u);
  // What nobody asked for is not missing.
  EXPECT_TRUE(s.sink.of(SamplerKind::hole).empty());
  const auto& last = s.device.bursts.back();
  EXPECT_EQ(last.samples, static_cast<std::size_t>((last.toNs - last.fromNs) / last.intervalNs));
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
  s.run(600 * kMs);
  const auto batches = s.sink.of(SamplerKind::batch);
  ASSERT_FALSE(batches.empty());
  EXPECT_EQ(batches.front().head.fromNs, s.device.bursts.front().fromNs + s.device.bursts.front().intervalNs +
                                             simulation::kRealtimeOffset);
}

TEST(GpuSampler, OverflowIsToldAndLearnedFrom) {
  Simulated s;
  s.clock.medians = {{0, 100'000}};
  s.device.bufferSamples = 40;
  s.run(30 * kSecond);
  const auto holes = s.sink.of(SamplerKind::hole);
  ASSERT_FALSE(holes.empty());
  for (const auto& hole : holes) {
    EXPECT_NE(hole.payload.find("overflow"), std::string::npos);
    EXPECT_LT(hole.head.fromNs, hole.head.toNs);
    // From the last sample that was read to the order to stop.
    EXPECT_TRUE(std::ranges::any_of(s.device.bursts, [&](const auto& burst) {
      return hole.head.toNs - simulation::kRealtimeOffset == burst.toNs - s.device.overhangNs &&
             hole.head.fromNs - simulation::kRealtimeOffset ==
                 burst.fromNs + static_cast<std::int64_t>(burst.samples) * burst.intervalNs;
    }));
  }
  EXPECT_GE(s.sampler->stats().overflows, holes.size());
  // The buffer grows, until the bursts fit.
  EXPECT_EQ(s.device.changes[0].bufferBytes, kLeastBuffer);
  EXPECT_EQ(s.device.changes[1].bufferBytes, 2 * kLeastBuffer);
  std::size_t late = 0;
  for (const auto& hole : holes) late += hole.atNs > 15 * kSecond;
  EXPECT_LT(late, 6u);
  EXPECT_GT(s.sampler->stats().samples, 50'000u);
  EXPECT_NEAR(s.coresUsed(), 0.5, 0.05);
}

TEST(GpuSampler, BurstWithoutSamplesIsAHole) {
  Simulated s;
  s.device.overhangNs = -1 * kSecond;  // nothing is sampled
  s.run(1 * kSecond);
  EXPECT_EQ(s.sampler->stats().samples, 0u);
  const auto holes = s.sink.of(SamplerKind::hole);
  EXPECT_EQ(holes.size(), s.sampler->stats().bursts);
}

TEST(GpuSampler, ASetThatPoisonsItsSessionIsGivenUpAndTheOthersGoOn) {
  Simulated s;
  s.device.poison = "pcie__write_bytes.sum";
  s.run(20 * kSecond);
  std::size_t empty = 0;
  std::set<std::string> afterwards;  // what goes on being read
  for (const auto& burst : s.device.bursts) {
    empty += burst.samples == 0;
    if (empty == 2 && burst.samples > 0) afterwards.insert(burst.lastMetric);
  }
  EXPECT_EQ(empty, 2u);  // tried twice, then left out
  EXPECT_EQ(s.sink.of(SamplerKind::hole).size(), 2u);
  EXPECT_GE(afterwards.size(), 2u) << testing::PrintToString(afterwards);
}

TEST(GpuSampler, PauseFreesTheCountersAndResumeTakesThemBack) {
  Simulated s;
  s.clock.orders = {{1 * kSecond + 1 * kMs, Order::pause}, {5 * kSecond, Order::sample}};
  s.run(8 * kSecond);
  const auto paused = s.sink.of(SamplerKind::paused);
  ASSERT_EQ(paused.size(), 1u);
  EXPECT_EQ(paused.front().head.gpu, 3u);
  EXPECT_LT(paused.front().atNs, 1 * kSecond + 200 * kMs);
  EXPECT_EQ(s.device.opens, s.device.closes);
  EXPECT_EQ(s.device.changes.size(), static_cast<std::size_t>(s.device.opens));
  bool before = false, after = false;
  for (const auto& burst : s.device.bursts) {
    EXPECT_FALSE(burst.toNs > paused.front().atNs && burst.fromNs < 5 * kSecond) << burst.fromNs;
    before = before || burst.toNs < 1 * kSecond;
    after = after || burst.fromNs > 5 * kSecond;
  }
  EXPECT_TRUE(before && after);
}

TEST(GpuSampler, EndsSoon) {
  Simulated s;
  s.clock.medians = {{0, 5 * kMs}};
  s.options.cores = 1;
  s.run(3 * kSecond);
  EXPECT_LT(s.clock.now, 3 * kSecond + 300 * kMs);
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
  GpuSampler(0, device, host, sink, clock, {0.5, false}, [](const PmStatus&) { return Unavailable{}; }).run();
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
