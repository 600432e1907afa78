// SPDX-License-Identifier: Apache-2.0
// Orders, options, reasons, plans, rotation, budget: each a function of its input.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "burst_plan.h"
#include "commands.h"
#include "cpu_budget.h"
#include "group_turns.h"
#include "options.h"
#include "reasons.h"
#include "set_rotation.h"
#include "warpmeter/analyzer/names.h"

namespace warpmeter::sampler {
namespace {

using Kind = Command::Kind;
constexpr const char* kUuid = "5ca1ab1e-0000-4000-8000-00000000beef";

TEST(Commands, AreUnderstood) {
  EXPECT_EQ(parseCommand("end").kind, Kind::end);
  EXPECT_EQ(parseCommand("kernel 12345").medianNs, 12345);
  EXPECT_EQ(parseCommand(std::string("gpu ") + kUuid).uuid, kUuid);
  EXPECT_EQ(parseCommand("pause GPU-5CA1AB1E-0000-4000-8000-00000000BEEF").uuid, kUuid);
  EXPECT_EQ(parseCommand(std::string("resume ") + kUuid).kind, Kind::resume);
}

TEST(Commands, NonsenseIsUnknown) {
  for (const char* line :
       {"", "end now", "kernel", "kernel x", "kernel 12x", "kernel -5", "kernel 0", "gpu", "gpu 5ca1ab1e",
        "gpu 5ca1ab1e-0000-4000-8000-00000000beeg", "gpu 5ca1ab1e00000-4000-8000-00000000beef",
        "gpu MIG-5ca1ab1e-0000-4000-8000-00000000beef", "stop"}) {
    EXPECT_EQ(parseCommand(line).kind, Kind::unknown) << line;
    EXPECT_EQ(parseCommand(line).line, line);
  }
}

TEST(Commands, LinesAreCutWhereverTheReadsEnd) {
  CommandReader reader;
  EXPECT_TRUE(reader.feed("kern").empty());
  const auto some = reader.feed("el 7\nend\nga");
  ASSERT_EQ(some.size(), 2u);
  EXPECT_EQ(some[0].medianNs, 7);
  EXPECT_EQ(some[1].kind, Kind::end);
  EXPECT_TRUE(reader.feed(std::string(100'000, 'x')).empty());
  const auto after = reader.feed("\nend\n");
  ASSERT_FALSE(after.empty());
  EXPECT_EQ(after.back().kind, Kind::end);
}

TEST(Options, AreReadAndRefusedWithTheReason) {
  const char* good[] = {"s", "--cupti=/a/libcupti.so.13", "--cpu", "0.25", "--nice", "5", "--verbose"};
  const auto o = parseOptions(7, good);
  ASSERT_TRUE(o.ok());
  EXPECT_EQ(o->cupti, "/a/libcupti.so.13");
  EXPECT_EQ(o->cores, 0.25);
  EXPECT_EQ(o->nice, 5);
  EXPECT_TRUE(o->verbose);
  for (const auto& [first, second] : {std::pair{"--cpu", "0"},
                                      {"--cpu", "nan"},
                                      {"--cpu", "1x"},
                                      {"--nice", "-1"},
                                      {"--nice", "20"},
                                      {"--cupti", ""},
                                      {"--list-sets", ""},
                                      {"--what", "1"}}) {
    const char* bad[] = {"s", first, second};
    const auto result = parseOptions(3, bad);
    ASSERT_FALSE(result.ok()) << first << second;
    EXPECT_NE(result.error().message.find(first), std::string::npos);
  }
  const char* missing[] = {"s", "--cpu"};
  EXPECT_FALSE(parseOptions(2, missing).ok());
}

TEST(Reasons, AreThoseOfTheClosedListAndNameARemedy) {
  const auto reasonOf = [](int code) {
    return explain({code, "cuptiPmSamplingEnable"}, "name", "GH100", false).reason;
  };
  EXPECT_EQ(reasonOf(35), "no_permission");
  EXPECT_EQ(reasonOf(40), "no_permission");
  EXPECT_EQ(reasonOf(26), "counters_busy");
  EXPECT_EQ(reasonOf(7), "counters_busy");
  for (const int code : {27, 33, 41, 42, 43, 44, 45, 46})
    EXPECT_EQ(reasonOf(code), "unsupported_chip") << code;
  EXPECT_EQ(reasonOf(999), "not_recorded");
  for (int code = 1; code < 1000; ++code) {
    const Unavailable why = explain({code, "cuptiPmSamplingEnable"}, "name", "GH100", code % 2 == 0);
    EXPECT_TRUE(std::ranges::any_of(analyzer::kReasons, [&](const auto& r) { return r.id == why.reason; }))
        << code;
    EXPECT_NE(why.text.find("name"), std::string::npos) << code;
    EXPECT_EQ(why.text.find('\n'), std::string::npos) << code;
  }
  EXPECT_NE(explain({35, ""}, "35", "", false).text.find("NVreg_RestrictProfilingToAdminUsers=0"),
            std::string::npos);
  EXPECT_NE(explain({26, ""}, "26", "", false).text.find("dcgmi profile --pause"), std::string::npos);
  EXPECT_NE(explain({999, "x"}, "999", "", true).text.find("MPS"), std::string::npos);
  EXPECT_EQ(explain({999, "x"}, "999", "", false).text.find("MPS"), std::string::npos);
}

MetricGroup groupOf(std::int64_t minIntervalNs) {
  MetricGroup group;
  group.minIntervalNs = minIntervalNs;
  return group;
}

TEST(BurstPlan, IntervalFollowsTheKernels) {
  const MetricGroup fine = groupOf(kFineIntervalNs), core = groupOf(kCoreIntervalNs),
                    broad = groupOf(kBroadIntervalNs);
  EXPECT_EQ(intervalFor(0, fine), 2'000);
  EXPECT_EQ(intervalFor(0, core), 2'000);
  EXPECT_EQ(intervalFor(5'000, fine), 1'000);
  EXPECT_EQ(intervalFor(5'000, core), 2'000);
  EXPECT_EQ(intervalFor(19'999, fine), 2'000);
  EXPECT_EQ(intervalFor(20'000, fine), 5'000);
  EXPECT_EQ(intervalFor(80'000, broad), 10'000);
  EXPECT_EQ(intervalFor(900'000, broad), 20'000);
  EXPECT_EQ(intervalFor(1'500'000, broad), 30'000);
  EXPECT_EQ(intervalFor(1'000'000'000, broad), 50'000);
  EXPECT_EQ(intervalFor(5'000, broad), kBroadIntervalNs);
}

TEST(BurstPlan, StartAndStopAreAFifthOfABurst) {
  SampleCost cost(6);
  cost.measured(1000, 50'000'000, 3'000'000);  // 50 us a sample, 3 ms a burst
  Overhang overhang;
  overhang.measured(1'000'000, 0);
  ASSERT_EQ(overhang.ns(), 1'000'000);
  // 4 x 3 ms / 50 us = 240 samples of 5 us, of which 1 ms comes after the order to stop.
  BurstPlan plan = planBurst(5'000, cost, overhang, 100'000);
  EXPECT_EQ(plan.lengthNs, 200'000);
  EXPECT_GE(plan.samples, 240u);
  EXPECT_LT(plan.samples, 400u);
  // Samples that come anyway leave no length to plan, and need their room.
  plan = planBurst(1'000, cost, overhang, 100'000);
  EXPECT_EQ(plan.lengthNs, kMinBurstNs);
  EXPECT_GT(plan.samples, 1'050u);
  // The buffer's room counts, and no burst is longer than 20 ms.
  EXPECT_LT(planBurst(20'000, cost, overhang, 150).lengthNs, 150 * 20'000);
  SampleCost cheap(3);
  cheap.measured(1000, 1'000'000, 3'000'000);
  EXPECT_EQ(planBurst(50'000, cheap, overhang, 100'000).lengthNs, kMaxBurstNs);
}

TEST(Overhang, RisesAtOnceAndFallsSlowly) {
  Overhang overhang;
  overhang.measured(3'000'000, 1'000'000);
  EXPECT_EQ(overhang.ns(), 2'000'000);
  EXPECT_GT(overhang.mostNs(), 2'400'000);
  overhang.measured(1'000'000, 1'000'000);
  EXPECT_EQ(overhang.ns(), 1'875'000);
  overhang.wasMore();
  EXPECT_EQ(overhang.ns(), 2'812'500);
}

TEST(BufferNeed, DoublesOnOverflowThenShortensBursts) {
  BufferNeed few(3), many(15);
  EXPECT_EQ(few.bytes(), kLeastBuffer);
  EXPECT_GT(few.samples(), 1'500u);
  EXPECT_EQ(many.bytes(), 2 * kLeastBuffer);
  for (int i = 0; i < 3; ++i) few.overflowed();
  EXPECT_EQ(few.bytes(), kMostBuffer);
  const std::size_t samples = few.samples();
  few.overflowed();
  EXPECT_EQ(few.bytes(), kMostBuffer);
  EXPECT_EQ(few.samples(), samples / 2);
}

TEST(GroupTurns, StayUntilTheChangeIsSmall) {
  constexpr std::int64_t kMs = 1'000'000;
  GroupTurns turns;
  const auto work = [&turns](std::size_t sets) {
    for (std::size_t i = 0; i < sets * GroupTurns::kLeastBursts; ++i) turns.sawWork();
  };
  turns.changed(0, 400 * kMs, 400 * kMs, 1);
  work(1);
  EXPECT_FALSE(turns.over(599 * kMs));
  EXPECT_TRUE(turns.over(600 * kMs));  // the first leaves early
  (void)turns.next({1, 1});
  turns.changed(2'000 * kMs, 300 * kMs, 300 * kMs, 3);
  work(3);
  turns.spent(1'600 * kMs);
  EXPECT_FALSE(turns.over(60'000 * kMs));
  turns.spent(100 * kMs);                 // 300 of 2000 ms
  EXPECT_FALSE(turns.over(3'600 * kMs));  // 300 of 1900 ms of time
  EXPECT_TRUE(turns.over(3'700 * kMs));
  turns.renewed(4'000 * kMs);
  work(3);
  EXPECT_FALSE(turns.over(4'900 * kMs));
  EXPECT_TRUE(turns.over(5'000 * kMs));
}

// A program that prepares its data for half a minute: the counters that it began with are there when it
// works.
TEST(GroupTurns, TimeWithoutWorkIsNoStay) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  GroupTurns turns;
  turns.changed(0, 0, 0, 2);
  for (std::size_t i = 1; i < 2 * GroupTurns::kLeastBursts; ++i) turns.sawWork();
  EXPECT_FALSE(turns.over(30 * kSecond));
  turns.sawWork();
  EXPECT_TRUE(turns.over(30 * kSecond));
  turns.changed(31 * kSecond, 0, 0, 1);
  EXPECT_FALSE(turns.over(60 * kSecond));
}

TEST(GroupTurns, SecondIsNotTheFirstAgain) {
  GroupTurns turns;
  std::string order = "a";
  for (int i = 0; i < 6; ++i) order += static_cast<char>('a' + turns.next({3, 2, 1, 0}));
  EXPECT_EQ(order.substr(0, 6), "abacba");
}

TEST(SetRotation, SpreadsByWeight) {
  SetRotation rotation;
  std::string order;
  for (int i = 0; i < 7; ++i) order += static_cast<char>('a' + rotation.next({4, 2, 1, 0}));
  EXPECT_EQ(order, "abacaba");
  EXPECT_EQ(rotation.next({0, 0, 0, 1}), 3u);
}

TEST(CpuBudget, MakesWaitForWhatWasTakenEarly) {
  CpuBudget budget(0.5, 0);
  EXPECT_EQ(budget.waitNs(0), 0);
  budget.spend(250'000'000 + 10'000'000);  // what it starts with, and 10 ms more
  EXPECT_EQ(budget.waitNs(0), 20'000'000);
  EXPECT_EQ(budget.waitNs(20'000'000), 0);
  // An hour of rest is worth half a second.
  EXPECT_EQ(budget.waitNs(3'600'000'000'000), 0);
  budget.spend(250'000'000);
  EXPECT_EQ(budget.waitNs(3'600'000'000'000), 0);
  budget.spend(1'000'000);
  EXPECT_EQ(budget.waitNs(3'600'000'000'000), 2'000'000);
}

TEST(CpuBudget, LoanIsPaidBackWithHalfOfTheGrants) {
  constexpr std::int64_t kMs = 1'000'000;
  CpuBudget budget(0.5, 0);
  budget.borrow(350 * kMs);  // 250 at hand, 100 owed
  EXPECT_EQ(budget.waitNs(0), 0);
  budget.spend(10 * kMs);
  EXPECT_EQ(budget.waitNs(0), 40 * kMs);
  EXPECT_EQ(budget.waitNs(40 * kMs), 0);
  // 90 of 100 left to pay: 180 ms at half the rate give 90 ms, then all of it comes.
  budget.spend(190 * kMs);
  EXPECT_EQ(budget.waitNs(40 * kMs), 360 * kMs + 200 * kMs);
  EXPECT_EQ(budget.waitNs(600 * kMs), 0);
  budget.spend(10 * kMs);
  EXPECT_EQ(budget.waitNs(600 * kMs), 20 * kMs);
}

TEST(SampleCost, AveragesAndIgnoresTinyBursts) {
  SampleCost cost(3);
  EXPECT_EQ(cost.perSampleNs(), 3 * SampleCost::kFirstGuessNs);
  cost.measured(1000, 20'000'000, 1'000'000);
  EXPECT_EQ(cost.perSampleNs(), 20'000);  // the first measurement replaces the guess
  cost.measured(3, 90'000'000, 1'000'000);
  EXPECT_EQ(cost.perSampleNs(), 20'000);
  cost.measured(1000, 30'000'000, 1'000'000);
  EXPECT_DOUBLE_EQ(cost.perSampleNs(), 23'000);
}

}  // namespace
}  // namespace warpmeter::sampler
