// SPDX-License-Identifier: Apache-2.0
// Exact mode from end to end: the real recorder, sampler program and injected library under the fake CUPTI,
// whose value of metric m for a launch is gridX x 1000 + m (tests/fake_cupti/fake_range.h).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <set>

#include "collector/recorder/recorder_process.h"

namespace warpmeter::test {
namespace {

using testing::HasSubstr;

RecorderCommand exactly(const std::string& what = "exact", const std::string& metrics = "basic") {
  RecorderCommand command;
  command.arguments = {"--counters", what, "--metrics", metrics, "--sampler", WARPMETER_SAMPLER};
  return command;
}

std::vector<RangedValue> rangedValues(const std::string& path) {
  auto reader = ProfileReader::open(path);
  if (!reader) return {};
  auto values = reader->rangedValues();
  return values ? *values : std::vector<RangedValue>{};
}

TEST(ExactProcess, ValuesOfSingleLaunchesArriveAsRows) {
  RecorderProcess recorder(exactly());
  ASSERT_TRUE(recorder.ready()) << recorder.firstMessage().text;
  const GuestResult app =
      recorder.record({"normal", "--launches", "300", "--kernels", "4"}, {"WARPMETER_EXACT=3"});
  EXPECT_TRUE(app.exited(0));
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  const Recorded file(recorder.output());
  ASSERT_EQ(file.error, "");
  EXPECT_EQ(file.kernels.size(), 300u);
  EXPECT_TRUE(file.untimed.empty());
  EXPECT_EQ(file.losses.size(), 0u) << file.lossText();
  EXPECT_EQ(file.session.counters, "ranged");
  EXPECT_THAT(file.session.countersText, HasSubstr("24 launches of 4 kernels"));
  EXPECT_STREQ(summary->counters, "ranged");
  std::map<std::int64_t, const KernelRow*> byId;
  for (const KernelRow& row : file.kernels) byId[row.correlationId] = &row;
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<std::int64_t>> launches;  // (gridX, configuration)
  std::set<std::string> metrics;
  const auto values = rangedValues(recorder.output());
  for (const RangedValue& value : values) {
    ASSERT_TRUE(byId.contains(value.correlationId));
    const KernelRow& row = *byId[value.correlationId];
    EXPECT_EQ(value.globalPid, row.globalPid);
    EXPECT_GE(value.value, static_cast<double>(row.gridX) * 1000.0);
    EXPECT_LT(value.value, static_cast<double>(row.gridX) * 1000.0 + 8);
    launches[{row.gridX, value.configuration}].insert(value.correlationId);
    metrics.insert(value.metric);
  }
  EXPECT_EQ(launches.size(), 4u * 2u);
  for (const auto& [key, ids] : launches) EXPECT_EQ(ids.size(), 3u) << key.first << ' ' << key.second;
  EXPECT_TRUE(metrics.contains("sm__warps_active.sum"));
  EXPECT_TRUE(metrics.contains("lts__t_sectors_lookup_hit.sum"));
  std::set<std::string> costs;
  for (const SelfCostInfo& cost : file.costs) costs.insert(cost.what);
  EXPECT_TRUE(costs.contains("guest.exact_ranges"));
  EXPECT_TRUE(costs.contains("guest.exact_sessions"));
  // CUPTI's own kernels are no launches of the program: 300 rows above, and one for each range here.
  const auto own = std::ranges::find(file.costs, "gpu.exact_kernels", &SelfCostInfo::what);
  ASSERT_NE(own, file.costs.end());
  EXPECT_EQ(own->count, 24);
  EXPECT_EQ(own->ns, 24 * 80'000);
}

TEST(ExactProcess, WithoutIt) {
  RecorderProcess recorder;
  const GuestResult app = recorder.record({"normal", "--launches", "100", "--kernels", "4"});
  recorder.finish();
  EXPECT_EQ(app.value("rangeCalls"), 0);
  const Recorded file(recorder.output());
  EXPECT_EQ(file.session.counters, "not_requested");
  EXPECT_TRUE(rangedValues(recorder.output()).empty());
}

TEST(ExactProcess, OtherWorkBesideIsNoticedInTheRecords) {
  RecorderProcess recorder(exactly());
  const GuestResult app =
      recorder.record({"normal", "--launches", "100", "--kernels", "2", "--kernel-ns", "200000"},
                      {"WARPMETER_EXACT=3", "FAKE_CUPTI_HASTY_RANGES=1"});
  EXPECT_TRUE(app.exited(0));
  recorder.finish();
  const Recorded file(recorder.output());
  EXPECT_EQ(file.kernels.size(), 100u);
  EXPECT_EQ(file.session.counters, "never_alone");
  EXPECT_THAT(file.session.countersText, HasSubstr("12 left out because other work ran beside them"));
  EXPECT_TRUE(rangedValues(recorder.output()).empty());
}

TEST(ExactProcess, WhatIsAcceptedAmongManyThreadsIsRight) {
  RecorderProcess recorder(exactly());
  const GuestResult app = recorder.record(
      {"normal", "--launches", "2000", "--kernels", "2", "--threads", "4"}, {"WARPMETER_EXACT=3"});
  EXPECT_TRUE(app.exited(0));
  recorder.finish();
  const Recorded file(recorder.output());
  EXPECT_EQ(file.kernels.size(), 8000u);
  std::map<std::int64_t, const KernelRow*> byId;
  for (const KernelRow& row : file.kernels) byId[row.correlationId] = &row;
  for (const RangedValue& value : rangedValues(recorder.output())) {  // -1 - n for n launches in the range
    EXPECT_GE(value.value, static_cast<double>(byId[value.correlationId]->gridX) * 1000.0);
  }
}

struct Refusal {
  const char* environment;
  const char* reason;
  const char* text;
};
class ExactRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(ExactRefusal, ReasonIsInTheFile) {
  RecorderProcess recorder(exactly());
  const GuestResult app =
      recorder.record({"normal", "--launches", "100", "--kernels", "2", "--exit-code", "3"},
                      {"WARPMETER_EXACT=3", GetParam().environment});
  EXPECT_TRUE(app.exited(3));
  ASSERT_TRUE(recorder.finish().has_value());
  const Recorded file(recorder.output());
  EXPECT_EQ(file.kernels.size(), 100u);
  EXPECT_EQ(file.losses.size(), 0u) << file.lossText();
  EXPECT_EQ(file.session.counters, GetParam().reason);
  EXPECT_THAT(file.session.countersText, HasSubstr(GetParam().text));
  EXPECT_TRUE(rangedValues(recorder.output()).empty());
}
INSTANTIATE_TEST_SUITE_P(Each, ExactRefusal,
                         testing::Values(Refusal{"FAKE_CUPTI_FAIL=cuptiRangeProfilerEnable=35",
                                                 "no_permission", "cuptiRangeProfilerEnable"},
                                         Refusal{"FAKE_CUPTI_FAIL=cuptiRangeProfilerStart=26",
                                                 "counters_busy", "error 26"},
                                         Refusal{"FAKE_CUPTI_CHIP=ZZ999", "unsupported_chip", "ZZ999"},
                                         Refusal{"FAKE_CUPTI_CHIP=../x", "not_recorded", "name"},
                                         Refusal{"FAKE_CUPTI_FAIL=cuptiRangeProfilerStop=999", "not_recorded",
                                                 "cuptiRangeProfilerStop"}));

TEST(ExactProcess, ProgramThatLaunchesEachKernelOnceSaysSo) {
  RecorderProcess recorder(exactly());
  recorder.record({"normal", "--launches", "100"}, {"WARPMETER_EXACT=3"});
  recorder.finish();
  const Recorded file(recorder.output());
  EXPECT_EQ(file.session.counters, "not_recorded");
  EXPECT_THAT(file.session.countersText, HasSubstr("no kernel was launched twice"));
}

TEST(ExactProcess, MissingSamplerProgramIsNamed) {
  RecorderCommand command = exactly();
  command.arguments.back() = "/nonexistent/warpmeter-sampler";
  RecorderProcess recorder(command);
  const GuestResult app =
      recorder.record({"normal", "--launches", "100", "--kernels", "2"}, {"WARPMETER_EXACT=3"});
  EXPECT_TRUE(app.exited(0));
  recorder.finish();
  const Recorded file(recorder.output());
  EXPECT_EQ(file.kernels.size(), 100u);
  EXPECT_EQ(file.session.counters, "not_recorded");
  EXPECT_THAT(file.session.countersText, HasSubstr("/nonexistent/warpmeter-sampler"));
}

TEST(ExactProcess, FullHasMoreConfigurations) {
  RecorderProcess recorder(exactly("exact", "full"));
  recorder.record({"normal", "--launches", "2000", "--kernels", "2"}, {"WARPMETER_EXACT=1"});
  recorder.finish();
  std::set<std::int64_t> configurations;
  for (const RangedValue& value : rangedValues(recorder.output())) configurations.insert(value.configuration);
  EXPECT_GE(configurations.size(), 5u);
}

TEST(ExactProcess, KilledProgramKeepsWhatWasClosed) {
  RecorderProcess recorder(exactly());
  GuestProcess guest(recorder.guest({"storm", "--kernels", "2", "--pause-us", "200"}, {"WARPMETER_EXACT=3"}));
  recorder.appStarted(guest.pid());
  guest.waitForLine("ready 1");
  usleep(1500000);
  kill(guest.pid(), SIGKILL);
  const GuestResult result = guest.wait();
  recorder.appEnded(guest.pid(), result.waitStatus);
  ASSERT_TRUE(recorder.finish().has_value());
  const Recorded file(recorder.output());
  EXPECT_EQ(file.session.endedHow, "killed(9)");
  EXPECT_EQ(file.session.counters, "ranged");
  EXPECT_FALSE(rangedValues(recorder.output()).empty());
}

TEST(ExactProcess, SamplerComesAfterwards) {
  RecorderProcess recorder(exactly("sample,exact"));
  const GuestResult app = recorder.record(
      {"normal", "--launches", "2500", "--kernels", "2", "--pause-us", "1000"}, {"WARPMETER_EXACT=3"});
  EXPECT_TRUE(app.exited(0));
  recorder.finish();
  const Recorded file(recorder.output());
  EXPECT_EQ(file.session.counters, "ranged");  // the fake GPU cannot be sampled, and that is said too
  EXPECT_THAT(file.session.countersText, HasSubstr("exact mode: 12 launches of 2 kernels"));
  EXPECT_THAT(file.session.countersText, testing::Not(testing::StartsWith("exact mode")));
  std::set<std::string> costs;
  for (const SelfCostInfo& cost : file.costs) costs.insert(cost.what);
  EXPECT_TRUE(costs.contains("sampler.cpu"));  // it was started
}

TEST(ExactProcess, CountersThatAreNotACombinationAreRefused) {
  for (const char* value : {"exact,exact", "sample,", "", "exact,pc", "none,exact"}) {
    RecorderProcess recorder(exactly(value));
    EXPECT_FALSE(recorder.ready()) << value;
  }
  for (const char* value : {"sample,exact", "exact,sample", "none"}) {
    RecorderProcess recorder(exactly(value));
    EXPECT_TRUE(recorder.ready()) << value;
  }
  RecorderProcess recorder(exactly("exact", "most"));
  EXPECT_FALSE(recorder.ready());
}

}  // namespace
}  // namespace warpmeter::test
