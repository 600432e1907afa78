// SPDX-License-Identifier: Apache-2.0
// Orders, options, reasons, plans, rotation, budget: each a function of its input.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "burst_plan.h"
#include "commands.h"
#include "cpu_budget.h"
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

MetricSet setOf(std::size_t columns, std::int64_t minIntervalNs) {
  MetricSet set;
  set.columns.resize(columns);
  set.minIntervalNs = minIntervalNs;
  return set;
}

TEST(BurstPlan, IntervalFollowsTheKernels) {
  const MetricSet fine = setOf(3, kFineIntervalNs), many = setOf(7, kManyColumnsNs);
  EXPECT_EQ(intervalFor(0, fine), 2'000);
  EXPECT_EQ(intervalFor(5'000, fine), 1'000);
  EXPECT_EQ(intervalFor(19'999, fine), 2'000);
  EXPECT_EQ(intervalFor(20'000, fine), 5'000);
  EXPECT_EQ(intervalFor(80'000, many), 10'000);
  EXPECT_EQ(intervalFor(900'000, many), 20'000);
  EXPECT_EQ(intervalFor(1'500'000, many), 30'000);
  EXPECT_EQ(intervalFor(1'000'000'000, many), 50'000);
  EXPECT_EQ(intervalFor(5'000, many), kManyColumnsNs);
}

TEST(BurstPlan, LengthIsWhatTheBudgetPaysAndTheBufferHolds) {
  const MetricSet fine = setOf(3, kFineIntervalNs);
  SampleCost cost(3);
  cost.measured(1000, 30'000'000, 2'000'000);  // 30 us a sample, 2 ms a burst
  // (0.5 x 100 ms - 2 ms) / 30 us = 1600 samples of 2 us
  EXPECT_EQ(planBurst(0, fine, cost, 0.5, 1'000'000).lengthNs, 3'200'000);
  EXPECT_EQ(planBurst(0, fine, cost, 0.5, 700).lengthNs, 1'400'000);
  EXPECT_EQ(planBurst(0, fine, cost, 0.01, 1'000'000).lengthNs, kMinBurstNs);
  SampleCost cheap(3);
  cheap.measured(1000, 1'000'000, 1'000'000);
  EXPECT_EQ(planBurst(5'000'000, fine, cheap, 0.5, 1'000'000).lengthNs, kMaxBurstNs);
  // A small buffer does not shorten a burst that is decoded often enough.
  EXPECT_EQ(planBurst(5'000'000, fine, cheap, 0.5, 500).lengthNs, kMaxBurstNs);
}

TEST(BufferCap, HalvesOnOverflowAndGrowsNoHigherThanWhatWentWrong) {
  BufferCap cap(std::size_t{128} << 20, 3);
  const std::int64_t first = cap.samples();
  EXPECT_GT(first, 3000);
  cap.overflowed(2000);
  EXPECT_EQ(cap.samples(), 1000);
  for (int i = 0; i < 100; ++i) cap.went(cap.samples());
  EXPECT_EQ(cap.samples(), 1500);
  for (int i = 0; i < 100; ++i) cap.overflowed(cap.samples());
  EXPECT_GT(cap.samples(), 100);
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
