// SPDX-License-Identifier: Apache-2.0
// The worked examples of docs/metrics.md, section "Counters", and what happens where there is little or
// foreign data.
#include "warpmeter/analyzer/counters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "src/counters/alone.h"
#include "src/counters/interval.h"
#include "src/counters/join_samples.h"
#include "src/counters/sight.h"
#include "src/counters/unknown_work.h"
#include "support/attribution_cases.h"
#include "support/view_of.h"
#include "warpmeter/analyzer/bound.h"
#include "warpmeter/profile/writer.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using support::viewOf;

constexpr const char* kHead = R"(
gpu 0 name="NVIDIA H200" cc=9.0 sms=132
sampleset 1 0 chip=GH100 metrics=sm__cycles_active.sum,sm__warps_active.sum,sm__inst_executed.sum
)";

// Kernels of 40 us every 100 us; samples of 10 us whose edges are those of the launches. Active: 1000 cycles
// and 32 000 warps a sample, in launch i i more instructions than 500.
std::string everyHundred(int launches, const char* kernel = "a", std::int64_t fromUs = 0,
                         int idleCycles = 0) {
  std::string out;
  for (int i = 0; i < launches; ++i) {
    const std::int64_t at = fromUs + 100 * i;
    out += fmt::format("kernel 1 {} {}us..{}us corr={}\n", kernel, at, at + 40, fromUs + i + 1);
    out += fmt::format("samples 1 {}us..{}us interval=10us values=1000,32000,{}\n", at, at + 40, 500 + i % 7);
    out += fmt::format("samples 1 {}us..{}us interval=10us values={},0,0\n", at + 40, at + 100, idleCycles);
  }
  return out;
}

TEST(Counters, AloneIsARatioOfSums) {
  const auto summary = must(summarizeCounters(viewOf(kHead + everyHundred(70))));
  ASSERT_EQ(summary.kernels.size(), 1u);
  const KernelCounters& k = summary.kernels[0];
  ASSERT_TRUE(k.occupancyPct.value);
  EXPECT_NEAR(*k.occupancyPct.value, 50.0, 1e-4);  // 32 of 64 warps
  EXPECT_EQ(k.occupancyPct.provenance, Provenance::sampledExclusive);
  ASSERT_TRUE(k.instructions.value);
  EXPECT_NEAR(*k.instructions.value, 4 * 503, 0.01);  // 4 samples of 503 on average a launch
  EXPECT_LT(*k.instructions.low, 4 * 503);
  EXPECT_GT(*k.instructions.high, 4 * 503);
  EXPECT_NEAR(*k.issuePct.value, 100 * 503.0 / 4000, 0.01);
  // Not in the set.
  EXPECT_FALSE(k.dramReadBytes.value);
  EXPECT_EQ(k.dramReadBytes.reason, Reason::notRecorded);
  EXPECT_TRUE(summary.quality.any);
  EXPECT_FALSE(summary.quality.gpuShared);
  EXPECT_EQ(summary.quality.measured, 1u);
  EXPECT_EQ(summary.quality.runNs, 70 * 40'000);
}

// A set that counts issue slots was read after the kernels had ended: instructions stand for them.
TEST(Counters, AMetricTakesTheCountersThatWereReadWhileTheKernelRan) {
  const std::string late =
      "sampleset 2 0 chip=GH100 metrics=sm__cycles_active.sum,sm__issue_active.sum\n"
      "samples 2 8000us..8200us interval=10us values=0,0\n";
  const auto summary = must(summarizeCounters(viewOf(kHead + everyHundred(70) + late)));
  ASSERT_TRUE(summary.kernels.at(0).issuePct.value);
  EXPECT_NEAR(*summary.kernels[0].issuePct.value, 100 * 503.0 / 4000, 0.01);
}

// Next to no traffic, and never twice the same: a wide interval beside the value, a narrow one beside what
// the memory could have moved. That it is idle is a measurement.
TEST(Counters, IdleMemoryIsMeasured) {
  const auto with = [](const char* bandwidth) {
    std::string text = fmt::format(
        "gpu 0 name=\"NVIDIA H200\" cc=9.0 sms=132 {}\n"
        "sampleset 1 0 chip=GH100 metrics=sm__cycles_active.sum,dram__bytes_read.sum,dram__bytes_write.sum\n",
        bandwidth);
    for (int i = 0; i < 70; ++i) {
      const int at = 100 * i;
      text += fmt::format("kernel 1 a {}us..{}us corr={}\n", at, at + 40, i + 1);
      text += fmt::format("samples 1 {}us..{}us interval=10us values=1000,{},0\n", at, at + 40,
                          i % 23 == 0 ? 900'000 : 0);
      text += fmt::format("samples 1 {}us..{}us interval=10us values=0,0,0\n", at + 40, at + 100);
    }
    return must(summarizeCounters(viewOf(text))).kernels.at(0).dramBytesPerSec;
  };
  EXPECT_EQ(with("").reason, Reason::tooFewSamples);
  const Metric known = with("bandwidth=4800000000000");
  ASSERT_TRUE(known.value);
  EXPECT_LT(*known.high, 0.03 * 4.8e12);
}

TEST(Counters, ThreeSamplesAreTooFew) {
  const auto summary = must(summarizeCounters(
      viewOf(std::string(kHead) +
             "kernel 1 a 0us..30us corr=1\nsamples 1 0us..30us interval=10us values=1000,32000,500\n")));
  EXPECT_FALSE(summary.kernels[0].occupancyPct.value);
  EXPECT_EQ(summary.kernels[0].occupancyPct.reason, Reason::tooFewSamples);
}

TEST(Counters, TwoKernelsThatAlwaysRunTogetherWereNeverAlone) {
  std::string text = kHead;
  for (int i = 0; i < 50; ++i) {
    text +=
        fmt::format("kernel 1 a {0}us..{1}us corr={2} stream=7\nkernel 1 b {0}us..{1}us corr={3} stream=8\n",
                    100 * i, 100 * i + 40, 2 * i + 1, 2 * i + 2);
    text += fmt::format("samples 1 {}us..{}us interval=10us values=1000,32000,500\n", 100 * i, 100 * i + 40);
    text += fmt::format("samples 1 {}us..{}us interval=10us values=0,0,0\n", 100 * i + 40, 100 * i + 100);
  }
  const auto summary = must(summarizeCounters(viewOf(text)));
  for (const KernelCounters& k : summary.kernels) {
    EXPECT_FALSE(k.occupancyPct.value);
    EXPECT_EQ(k.occupancyPct.reason, Reason::neverAlone);
  }
}

TEST(Counters, ActiveSmsBetweenOurKernelsAreForeignWork) {
  const auto summary = must(summarizeCounters(viewOf(kHead + everyHundred(70, "a", 0, 300))));
  EXPECT_TRUE(summary.quality.gpuShared);
  EXPECT_GT(summary.quality.foreignPct, 99);
  EXPECT_FALSE(summary.kernels[0].occupancyPct.value);
  EXPECT_EQ(summary.kernels[0].occupancyPct.reason, Reason::gpuShared);
  EXPECT_EQ(summary.kernels[0].dramReadBytes.reason, Reason::notRecorded);
}

TEST(Counters, ForeignWorkForATimeIsLeftOut) {
  // 10 ms clean, then 1 ms in which another process counts twice as many warps, beside ours too.
  std::string text = kHead + everyHundred(100);
  for (int i = 0; i < 10; ++i) {
    const int at = 10'000 + 100 * i;
    text += fmt::format("kernel 1 a {}us..{}us corr={}\n", at, at + 40, 900 + i);
    text += fmt::format("samples 1 {}us..{}us interval=10us values=1000,60000,500\n", at, at + 40);
    text += fmt::format("samples 1 {}us..{}us interval=10us values=800,20000,100\n", at + 40, at + 100);
  }
  const auto summary = must(summarizeCounters(viewOf(text)));
  EXPECT_FALSE(summary.quality.gpuShared);
  EXPECT_GT(summary.quality.foreignPct, 5);
  EXPECT_GE(summary.quality.dropped, 90);
  ASSERT_TRUE(summary.kernels[0].occupancyPct.value);
  EXPECT_NEAR(*summary.kernels[0].occupancyPct.value, 50.0, 0.01);
}

TEST(Counters, AnUntimedLaunchIsNotForeignWork) {
  // The same, but our own launch 101 has no times: it ran between its neighbours.
  std::string text = kHead + everyHundred(100);
  text += "untimed 1 b corr=101\nsamples 1 10000us..11000us interval=10us values=1000,60000,500\n";
  text += everyHundred(40, "a", 11'000);
  const auto view = viewOf(text);
  const UnknownWork unknown = unknownWorkOf(view, 0);
  ASSERT_EQ(unknown.when.size(), 1u);
  EXPECT_EQ(unknown.when[0], (Interval{9'940'000, 11'000'000}));
  const auto summary = must(summarizeCounters(view));
  EXPECT_EQ(summary.quality.foreignPct, 0);
  EXPECT_GE(summary.quality.dropped, 100);
  ASSERT_TRUE(summary.kernels[0].occupancyPct.value);
  EXPECT_NEAR(*summary.kernels[0].occupancyPct.value, 50.0, 0.01);
}

TEST(Counters, LostRecordsAreNotForeignWork) {
  std::string text = kHead + everyHundred(60, "a", 0, 300);
  const auto timed = viewOf(text + "loss overload count=10 from=0 to=6ms\n");
  EXPECT_EQ(must(summarizeCounters(timed)).quality.foreignPct, 0);
  // Nobody knows when: then nothing is said about other processes.
  const auto untimed = must(summarizeCounters(viewOf(text + "loss pool_empty count=10\n")));
  EXPECT_FALSE(untimed.quality.gpuShared);
  EXPECT_FALSE(untimed.kernels[0].occupancyPct.reason == Reason::gpuShared);
}

TEST(Counters, WithoutCountersTheSessionSaysWhy) {
  const auto summary =
      must(summarizeCounters(viewOf("session counters=no_permission\nkernel 1 a 0..10us corr=1\n")));
  EXPECT_FALSE(summary.quality.any);
  EXPECT_EQ(summary.quality.reason, Reason::noPermission);
  EXPECT_FALSE(summary.quality.reasonText.empty());
  EXPECT_EQ(summary.kernels[0].occupancyPct.reason, Reason::noPermission);
  EXPECT_EQ(summary.kernels[0].instructions.reason, Reason::noPermission);
}

TEST(Counters, StopIsCancelled) {
  std::stop_source stop;
  stop.request_stop();
  const auto result = summarizeCounters(viewOf(kHead + everyHundred(20)), stop.get_token());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::cancelled);
}

TEST(Counters, TheClockOffsetIsFound) {
  for (const std::int64_t offset : {-900, 0, 700, 1500}) {
    auto sim = support::simulate(support::Schedule::mlpFine, 5, 0.3);
    const std::vector<support::SimSet> sets{
        {{support::SimCounter::cycles, support::SimCounter::warps, support::SimCounter::inst}, 1000}};
    support::SimOptions options;
    options.clockOffsetNs = offset;
    const auto batches = sim.sample(sets, options);
    const support::TempDir dir;
    support::writeSimulated(dir.path() / "offset.wm.sqlite", sim, sets, batches);
    const auto summary = must(summarizeCounters(support::viewOfFile(dir.path() / "offset.wm.sqlite")));
    ASSERT_EQ(summary.quality.gpus.size(), 1u);
    ASSERT_TRUE(summary.quality.gpus[0].clockOffsetNs) << offset;
    EXPECT_NEAR(static_cast<double>(*summary.quality.gpus[0].clockOffsetNs), static_cast<double>(offset),
                200);
    EXPECT_GT(summary.quality.gpus[0].clockUncertaintyNs, 0);
  }
}

TEST(Counters, ForeignTimeSlicesOfASimulatedRun) {
  auto sim = support::simulate(support::Schedule::isolated, 3, 0.3);
  const std::vector<support::SimSet> sets{
      {{support::SimCounter::cycles, support::SimCounter::warps, support::SimCounter::inst}, 2000}};
  support::SimOptions options;
  options.foreign = 0.5;
  const auto batches = sim.sample(sets, options);
  const support::TempDir dir;
  support::writeSimulated(dir.path() / "shared.wm.sqlite", sim, sets, batches);
  const auto summary = must(summarizeCounters(support::viewOfFile(dir.path() / "shared.wm.sqlite")));
  EXPECT_TRUE(summary.quality.gpuShared);
  for (const KernelCounters& k : summary.kernels) EXPECT_EQ(k.occupancyPct.reason, Reason::gpuShared);
}

// A file with ranged values, which the text cannot say. helpers: behind each launch a kernel of CUPTI's own
// and one that nobody knows, with the same id.
ProfileView rangedView(const std::vector<RangedValue>& values, std::int64_t lengthNs, bool helpers = false) {
  const support::TempDir dir;
  const auto path = dir.path() / "ranged.wm.sqlite";
  ProfileWriter writer = must(ProfileWriter::create(path, SessionInfo{}));
  GpuInfo gpu;
  gpu.id = 0, gpu.cuDevice = 0, gpu.name = "NVIDIA H200", gpu.computeMajor = 9, gpu.computeMinor = 0;
  must(writer.put(gpu));
  ProcessInfo process;
  process.pid = 1, process.globalPid = makeGlobalPid(1), process.cuptiVersion = 130001;
  must(writer.put(process));
  std::vector<KernelRow> rows;
  for (std::int64_t i = 0; i < 4; ++i) {
    KernelRow k;
    k.start = i * 100'000, k.end = k.start + lengthNs, k.deviceId = 0, k.contextId = 1, k.streamId = 7;
    k.correlationId = i + 1, k.globalPid = makeGlobalPid(1).value;
    k.demangledName = k.shortName = k.mangledName = writer.intern("a").value;
    k.registersPerThread = 32, k.gridX = k.gridY = k.gridZ = k.blockX = k.blockY = k.blockZ = 1;
    k.staticSharedMemory = k.dynamicSharedMemory = k.localMemoryPerThread = k.localMemoryTotal = k.gridId = 0;
    rows.push_back(k);
    if (!helpers) continue;
    // The helper that CUPTI is known for even first: its name is enough.
    for (const auto& [name, shift] : {std::pair{"WaitNs", -50'000}, std::pair{"unheardOf", 20'000}}) {
      KernelRow helper = k;
      helper.streamId = 6, helper.start = k.start + shift, helper.end = k.end + shift;
      helper.demangledName = helper.shortName = helper.mangledName = writer.intern(name).value;
      rows.push_back(helper);
    }
  }
  must(writer.append(std::span<const KernelRow>(rows)));
  must(writer.append(std::span<const RangedValue>(values)));
  must(writer.finish(SessionInfo{}));
  return support::viewOfFile(path);
}

RangedValue ranged(std::int64_t correlation, std::int64_t configuration, const char* metric, double value) {
  RangedValue v;
  v.globalPid = makeGlobalPid(1).value;
  v.correlationId = correlation;
  v.configuration = configuration;
  v.metric = metric;
  v.value = value;
  return v;
}

TEST(Counters, RangedLaunches) {
  const auto view =
      rangedView({ranged(1, 0, "sm__cycles_active.sum", 1000), ranged(1, 0, "sm__warps_active.sum", 30'000),
                  ranged(2, 0, "sm__cycles_active.sum", 1000), ranged(2, 0, "sm__warps_active.sum", 32'000),
                  ranged(3, 0, "sm__cycles_active.sum", 2000), ranged(3, 0, "sm__warps_active.sum", 66'000),
                  ranged(4, 1, "sm__cycles_active.sum", 1000), ranged(4, 1, "dram__bytes_read.sum", 4000),
                  ranged(99, 0, "sm__cycles_active.sum", 5)},
                 10'000);
  const auto summary = must(summarizeCounters(view));
  EXPECT_EQ(summary.quality.rangedLaunches, 4);
  const Metric& occupancy = summary.kernels[0].occupancyPct;
  ASSERT_TRUE(occupancy.value);
  EXPECT_NEAR(*occupancy.value, 100 * 32.0 / 64, 1e-9);  // 128 000 / 4000
  EXPECT_EQ(occupancy.provenance, Provenance::ranged);
  EXPECT_EQ(occupancy.samples, 3);
  // Errors -2000, 0, 2000 of 4000: s = sqrt(3/2 (0.25 + 0.25)) = 0.866; t(2) = 4.303: 3.727 warps = 5.82
  // points.
  EXPECT_NEAR(*occupancy.high - *occupancy.value, 5.823, 0.01);
  // One launch: exact, but nobody knows how the others differ.
  const Metric& read = summary.kernels[0].dramReadBytes;
  ASSERT_TRUE(read.value);
  EXPECT_EQ(*read.value, 4000);
  EXPECT_FALSE(read.low);
  EXPECT_FALSE(read.high);
}

TEST(Counters, NumbersThatCannotHaveBeenCountedAreLeftOutAndTold) {
  const auto lossOf = [](const ProfileView& view) {
    return view.losses().size() == 1 ? std::pair{view.losses()[0].kind, view.losses()[0].count}
                                     : std::pair{std::string("none"), std::int64_t{0}};
  };
  for (const double bad : {-1000.0, 1.7e308}) {  // infinite ones: the writer refuses them
    const auto view =
        rangedView({ranged(1, 0, "sm__cycles_active.sum", 1000), ranged(1, 0, "sm__warps_active.sum", bad),
                    ranged(2, 0, "dram__bytes_read.sum", bad)},
                   10'000);
    EXPECT_FALSE(must(summarizeCounters(view)).kernels[0].occupancyPct.value) << bad;
    EXPECT_FALSE(must(summarizeCounters(view)).kernels[0].dramReadBytes.value) << bad;
    EXPECT_EQ(lossOf(view), std::pair(std::string("implausible_counts"), std::int64_t{2})) << bad;
  }
  // One sample of 280 that says 2^62 or less than nothing: the others are as good as before.
  for (const char* bad : {"4611686018427387904,32000,500", "1000,-5,500"}) {
    const auto view = viewOf(kHead + everyHundred(70) + "kernel 1 a 7000us..7040us corr=99\n" +
                             fmt::format("samples 1 7000us..7010us interval=10us values={}\n", bad));
    EXPECT_NEAR(must(summarizeCounters(view)).kernels[0].occupancyPct.value.value_or(0), 50, 1e-3) << bad;
    EXPECT_EQ(lossOf(view), std::pair(std::string("implausible_counts"), std::int64_t{1})) << bad;
  }
  EXPECT_EQ(lossOf(viewOf(kHead + everyHundred(70))).first, "none");
}

TEST(Counters, RangedValuesBelongToTheLaunchNotToWhatCuptiLaunchesBehindIt) {
  const auto view =
      rangedView({ranged(1, 0, "sm__cycles_active.sum", 1000), ranged(1, 0, "sm__warps_active.sum", 30'000),
                  ranged(2, 0, "sm__cycles_active.sum", 1000), ranged(2, 0, "sm__warps_active.sum", 34'000)},
                 10'000, true);
  const auto summary = must(summarizeCounters(view));
  EXPECT_EQ(summary.quality.rangedLaunches, 2);
  ASSERT_EQ(summary.kernels.size(), 3u);
  for (const KernelCounters& k : summary.kernels) {
    const auto& function = view.functions()[view.distinctKernels()[k.distinct].function];
    const bool launched = view.name(function.shortName) == "a";
    EXPECT_EQ(k.occupancyPct.value.has_value(), launched) << view.name(function.shortName);
    if (!launched) continue;
    EXPECT_NEAR(*k.occupancyPct.value, 50, 1e-9);
    EXPECT_EQ(k.occupancyPct.provenance, Provenance::ranged);
  }
}

// Worked example "Instructions of the tracing" of docs/metrics.md: saxpy, 65 536 blocks of 8 warps.
TEST(Counters, InstructionsOfTheTracingAreTakenOff) {
  const auto instructions = [](const char* cupti, const char* cc) {
    std::string text =
        fmt::format("gpu 0 name=\"NVIDIA H200\" cc={} sms=132\nprocess 1 name=a {}\n", cc, cupti) +
        "sampleset 1 0 chip=GH100 metrics=sm__cycles_active.sum,sm__inst_executed.sum\n";
    for (int i = 0; i < 70; ++i) {
      const int at = 100 * i;
      text += fmt::format("kernel 1 a {}us..{}us corr={} grid=65536 block=256\n", at, at + 40, i + 1);
      text += fmt::format("samples 1 {}us..{}us interval=10us values=1000,{}\n", at, at + 40,
                          4'325'376 + 100 * (i % 7 - 3));
      text += fmt::format("samples 1 {}us..{}us interval=10us values=0,0\n", at + 40, at + 100);
    }
    return must(summarizeCounters(viewOf(text))).kernels[0].instructions;
  };
  constexpr double kCounted = 33.0 * 524'288, kOwn = 25.0 * 524'288, kTracing = 8.0 * 524'288;
  const Metric taken = instructions("cupti=130001", "9.0");
  ASSERT_TRUE(taken.value);
  EXPECT_NEAR(*taken.value, kOwn, 100);
  EXPECT_NEAR(*taken.value - *taken.low, *taken.high - *taken.value, 1);
  EXPECT_LT(*taken.high, kOwn + 1000);
  // Where nobody measured it, it may be there or not.
  for (const auto& [cupti, cc] : {std::pair{"cupti=130100", "9.0"}, std::pair{"cupti=130001", "8.0"}}) {
    const Metric kept = instructions(cupti, cc);
    ASSERT_TRUE(kept.value) << cupti << cc;
    EXPECT_NEAR(*kept.value, kCounted, 100);
    EXPECT_LT(*kept.low, kOwn);
    EXPECT_NEAR(*kept.low + kTracing, kCounted, 1000);
    EXPECT_LT(*kept.high, kCounted + 1000);
  }
  // No CUPTI, no tracing.
  const Metric untraced = instructions("", "9.0");
  EXPECT_NEAR(*untraced.value, kCounted, 100);
  EXPECT_GT(*untraced.low, kCounted - 1000);
}

TEST(Counters, HolesOfSamplingAreCounted) {
  const auto quality =
      must(summarizeCounters(viewOf(kHead + everyHundred(20) +
                                    "loss samples count=2 from=1ms to=3ms\nloss samples count=1\n"
                                    "loss records count=7 from=0 to=9ms\n")))
          .quality;
  EXPECT_EQ(quality.holes, 3);
  EXPECT_EQ(quality.holesNs, 2'000'000);
}

TEST(Counters, SamplesInsideOneLaunchAreJoinedAndNothingIsLost) {
  // Launches of 200 us, 10 us apart; the third has a hole in the sampling, in the fourth a copy begins.
  std::string text = kHead;
  for (int i = 0; i < 4; ++i)
    text += fmt::format("kernel 1 a {}us..{}us corr={}\n", 210 * i, 210 * i + 200, i + 1);
  text += "memcpy 1 HtoD 730us..735us bytes=4096 corr=9\n";
  for (int i = 0; i < 210; ++i) {
    if (i == 127) continue;
    text +=
        fmt::format("samples 1 {}us..{}us interval=4us values={},{},1\n", 4 * i, 4 * i + 4, 1000 + i, 2 * i);
  }
  const auto view = viewOf(text);
  std::vector<SeriesView> series;
  series.emplace_back(view.samples()[0]);
  Schedule schedule;
  for (int i = 0; i < 4; ++i) schedule.ops.push_back({210'000 * i, 210'000 * i + 200'000, 0});
  schedule.ops.push_back({730'000, 735'000, 1});
  schedule.kernels = 1, schedule.kinds = 2;
  schedule.finish();
  (void)look(schedule, series, {}, 1);
  std::vector<SampleUse> use;
  const auto joined = joinSamples(series[0], use);
  ASSERT_TRUE(joined);
  ASSERT_EQ(use.size(), joined->size());
  EXPECT_LT(joined->size(), 80u);  // of 209
  double cycles = 0, warps = 0, instructions = 0;
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < joined->size(); ++i) {
    cycles += joined->values[0][i], warps += joined->values[1][i], instructions += joined->values[2][i];
    ns += joined->durationNs(i);
    EXPECT_EQ(joined->values[2][i] * 4000, static_cast<double>(joined->durationNs(i)));
    if (joined->durationNs(i) == 4000) continue;
    const auto inside = std::ranges::any_of(schedule.ops, [&](const Operation& op) {
      return op.kind == 0 && op.startNs + 1500 <= joined->startNs(i) && op.endNs - 1500 >= joined->endNs(i);
    });
    EXPECT_TRUE(inside) << joined->startNs(i);
    EXPECT_TRUE(joined->endNs(i) <= 728'500 || joined->startNs(i) >= 736'500) << joined->startNs(i);
    EXPECT_TRUE(joined->endNs(i) <= 508'000 || joined->startNs(i) >= 512'000) << joined->startNs(i);
  }
  EXPECT_EQ(ns, 209 * 4000);
  EXPECT_EQ(instructions, 209);
  EXPECT_EQ(cycles, 210 * 1000 + 210 * 209 / 2 - 1127);
  EXPECT_EQ(warps, 210 * 209 - 254);
}

TEST(Counters, AKernelThatNoSampleMetHasTooFewWhateverItsSetLacks) {
  // Sampled for a millisecond before the only kernel.
  const auto view = viewOf(std::string(kHead) +
                           "samples 1 0us..1000us interval=2us values=0,0,0\n"
                           "kernel 1 a 1200us..1300us corr=1 grid=1000 block=256\n");
  const auto summary = must(summarizeCounters(view));
  EXPECT_EQ(summary.kernels[0].occupancyPct.reason, Reason::tooFewSamples);
  EXPECT_EQ(summary.kernels[0].dramBytesPerSec.reason, Reason::notRecorded);
  const KernelBound bound = boundOf(view, summary.kernels[0], 100'000, std::nullopt);
  EXPECT_EQ(bound.bound, Bound::notMeasured);
  EXPECT_EQ(bound.reason, Reason::tooFewSamples);
}

// 1 100 kernels, 50 us long the first thousand, 40 us the others, one behind the other; no sample lies in one
// alone.
TEST(Counters, OfVeryManyKernelsThoseWithMostTimeAreFitted) {
  std::string text = kHead;
  std::int64_t at = 0, sampled = 5;
  for (int i = 0; i < 4 * 1'100; ++i) {
    const int kernel = i % 1'100, us = kernel < 1'000 ? 50 : 40;
    text += fmt::format("kernel 1 k{} {}us..{}us corr={}\n", kernel, at, at + us, i + 1);
    at += us;
    text += fmt::format("samples 1 {}us..{}us interval=10us values=1000,32000,500\n", sampled, at - 5);
    sampled = at - 5;
  }
  const auto view = viewOf(text);
  int fitted = 0, behind = 0;
  for (const KernelCounters& k : must(summarizeCounters(view)).kernels) {
    const bool is = k.occupancyPct.value && k.occupancyPct.provenance == Provenance::sampledFit;
    fitted += is;
    const auto& kernel = view.distinctKernels()[k.distinct];
    if (std::stoi(std::string(view.name(view.functions()[kernel.function].shortName)).substr(1)) < 1'000)
      continue;
    ++behind;
    EXPECT_FALSE(is);
    EXPECT_EQ(k.occupancyPct.reason, Reason::tooFewSamples);
  }
  EXPECT_EQ(behind, 100);
  EXPECT_GT(fitted, 900);
  EXPECT_LE(fitted, 1'000);
}

TEST(Counters, AFoldWeighsItsParts) {
  const auto of = [](double v, double half) {
    return Metric{v, v - half, v + half, 10, Provenance::sampledExclusive, std::nullopt};
  };
  const Metric folded = foldMetric({{of(50, 3), 3.0}, {of(90, 4), 1.0}});
  EXPECT_DOUBLE_EQ(*folded.value, 60);
  EXPECT_NEAR(*folded.high, 60 + std::sqrt(81.0 + 16.0) / 4, 1e-9);
  EXPECT_EQ(folded.samples, 20);
  // What was not measured may be left out while it is the lesser part.
  EXPECT_TRUE(foldMetric({{of(50, 3), 3.0}, {Metric::missing(Reason::tooFewSamples), 1.0}}).value);
  const Metric none = foldMetric({{of(50, 3), 1.0}, {Metric::missing(Reason::tooFewSamples), 3.0}});
  EXPECT_FALSE(none.value);
  EXPECT_EQ(none.reason, Reason::tooFewSamples);
}

TEST(Counters, QuantilesOfStudent) {
  EXPECT_NEAR(studentQuantile(1), 12.706, 0.01);
  EXPECT_NEAR(studentQuantile(2), 4.303, 0.01);
  EXPECT_NEAR(studentQuantile(6), 2.447, 0.005);
  EXPECT_NEAR(studentQuantile(30), 2.042, 0.002);
  EXPECT_NEAR(studentQuantile(1e6), 1.960, 0.001);
}

TEST(Counters, NamesHaveRoles) {
  EXPECT_EQ(counterOf("sm__warps_active.sum", "GH100")->role, Role::warpsActive);
  EXPECT_EQ(counterOf("TPC.TriageCompute.sm__pipe_tensor_cycles_active_realtime.sum", "GH100")->role,
            Role::tensorActive);
  // Did not reproduce ncu's occupancy.
  EXPECT_FALSE(counterOf("TPC.TriageCompute.tpc__warps_active_shader_cs_realtime.sum", "GH100"));
  const auto fma = counterOf("TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.sum", "GH100");
  ASSERT_TRUE(fma);
  EXPECT_EQ(fma->role, Role::fp32Active);
  EXPECT_DOUBLE_EQ(fma->scale, 0.25);  // 128 lanes take 4 warp instructions a cycle
  // Peaks as the driver gives them on an H200: 132 SMs, 528 tensor pipes; issue_active has quarters.
  EXPECT_DOUBLE_EQ(counterOf("sm__pipe_tensor_cycles_active.sum", "GH100")->scale, 132.0 / 528);
  EXPECT_DOUBLE_EQ(counterOf("TPC.TriageCompute.sm__pipe_fp64_cycles_active_realtime.sum", "GH100")->scale,
                   132.0 / 528);
  EXPECT_FALSE(counterOf("sm__pipe_fp64_cycles_active.sum", "AD102"));
  EXPECT_DOUBLE_EQ(counterOf("sm__issue_active.sum", "GH100")->scale, 4);
  EXPECT_DOUBLE_EQ(counterOf("smsp__issue_active.sum", "GH100")->scale, 1);
  // matmulNaiveKernel, n = 1024, as measured: 2 instructions of that pipe for each of 1024^3 products, 10
  // more a warp.
  const double fmaCycles = 134'873'088 * counterOf("sm__pipe_fma_cycles_active.sum", "GH100")->scale;
  EXPECT_DOUBLE_EQ(fmaCycles, (2.0 * 1024 * 1024 * 1024 / 32 + 10 * 32'768) / 4);
  EXPECT_FALSE(counterOf("sm__cycles_active.avg", "GH100"));
  EXPECT_FALSE(counterOf("nobody__knows.sum", "GH100"));
}

TEST(View, LoadsCountersOnDemandAndOntoOneTimeLine) {
  const support::TempDir dir;
  const std::string text = kHead + everyHundred(3);
  must(support::writeProfile(dir.path() / "a.wm.sqlite", "session epoch=1000\n" + text));
  must(support::writeProfile(dir.path() / "b.wm.sqlite",
                             "session epoch=51000\n" + text + "loss overload count=1 from=5 to=9\n"));
  std::vector<ProfileView::Reader> readers;
  for (const char* name : {"a.wm.sqlite", "b.wm.sqlite"}) {
    readers.push_back(std::make_shared<const ProfileReader>(must(ProfileReader::open(dir.path() / name))));
  }
  LoadOptions options;
  options.tables = Tables::kernels;
  const ProfileView kernels = must(ProfileView::load(readers, options));
  EXPECT_TRUE(kernels.samples().empty());
  std::vector<double> progress;
  options.tables = Tables::counters;
  options.progress = [&](double f) { progress.push_back(f); };
  const ProfileView view = must(kernels.withTables(options));
  ASSERT_EQ(view.samples().size(), 2u);
  EXPECT_EQ(view.samples()[0].size(), 30u);
  EXPECT_EQ(view.samples()[0].startNs(0), 0);
  EXPECT_EQ(view.samples()[1].startNs(0), 50'000);
  EXPECT_EQ(view.samples()[1].endNs(29), 350'000);
  EXPECT_EQ(view.samples()[0].values[1][0], 32'000);
  EXPECT_EQ(view.losses()[0].fromNs, 50'005);
  EXPECT_TRUE(std::ranges::is_sorted(progress));
  ASSERT_FALSE(progress.empty());
  EXPECT_EQ(progress.back(), 1.0);
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  EXPECT_FALSE(kernels.withTables(options));
}

}  // namespace
}  // namespace warpmeter::analyzer
