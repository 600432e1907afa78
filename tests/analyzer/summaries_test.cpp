// SPDX-License-Identifier: Apache-2.0
// Kernel, copy and run summaries, and the findings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/view_of.h"
#include "warpmeter/analyzer/analysis.h"
#include "warpmeter/analyzer/copies.h"
#include "warpmeter/analyzer/kernel_summary.h"
#include "warpmeter/analyzer/run_summary.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using support::viewOf;

TEST(KernelSummary, FoldsDistinctKernelsUnderTheirFunction) {
  const ProfileView view = viewOf(R"dsl(
    gpu 0 name="NVIDIA H200" cc=9.0 sms=132
    kernel 1 "void ns::gemm<4>(int)" 0..100 grid=264 block=384 regs=168 dynamic=100KiB
    kernel 1 "void ns::gemm<4>(int)" 200..320 grid=264 block=384 regs=168 dynamic=100KiB
    kernel 1 "void ns::gemm<4>(int)" 400..420 grid=10 block=256
    kernel 1 small 500..560 grid=1 block=32
    untimed 1 small grid=1 block=32
  )dsl");
  const KernelSummary s = must(summarizeKernels(view));
  EXPECT_EQ(s.kernelTimeNs, 300);
  EXPECT_EQ(s.timed, 4);
  EXPECT_EQ(s.untimed, 1);
  EXPECT_EQ(s.distinctCount, 3u);
  ASSERT_EQ(s.functions.size(), 2u);
  const FunctionSummary& gemm = s.functions[0];
  EXPECT_EQ(gemm.shortName, "gemm");
  EXPECT_EQ(gemm.demangledName, "void ns::gemm<4>(int)");
  EXPECT_DOUBLE_EQ(gemm.sharePct, 80.0);
  EXPECT_EQ(gemm.time.count, 3);
  EXPECT_EQ(gemm.time.medianNs, 100);
  EXPECT_EQ(gemm.time.minNs, 20);
  EXPECT_EQ(gemm.time.maxNs, 120);
  ASSERT_EQ(gemm.distinct.size(), 2u);
  EXPECT_EQ(gemm.distinct[0].time.totalNs, 220);
  ASSERT_TRUE(gemm.distinct[0].occupancy.has_value());
  EXPECT_EQ(gemm.distinct[0].occupancy->blocksPerSm, 1);
  EXPECT_DOUBLE_EQ(gemm.distinct[0].occupancy->occupancyPct, 18.75);
  EXPECT_EQ(s.functions[1].untimed, 1);
  EXPECT_EQ(s.functions[1].launches(), 2);
}

TEST(KernelSummary, WithoutADeviceOccupancyIsMissingWithAReason) {
  const KernelSummary s = must(summarizeKernels(viewOf("kernel 1 k 0..1")));
  EXPECT_FALSE(s.functions.at(0).distinct.at(0).occupancy.has_value());
  EXPECT_THAT(s.functions[0].distinct[0].occupancyReason, testing::HasSubstr("compute capability"));
}

// Two copies of 10 MB at 10 GB/s, one half hidden behind a kernel.
constexpr const char* kPageable = R"dsl(
  process 1 name=app start=0 exit=4ms
  memcpy 1 HtoD 0..1ms bytes=10000000 src=pageable
  kernel 1 k 1ms..2ms stream=8
  memcpy 1 DtoH 1500us..2500us bytes=10000000 dst=pageable
  memcpy 1 HtoD 3ms..3100us bytes=1000 src=pinned
  memset 1 3200us..3300us bytes=500
)dsl";

TEST(CopySummary, RatesAreRatiosOfSums) {
  const CopySummary s = must(summarizeCopies(viewOf(kPageable)));
  EXPECT_EQ(s.copies, 3);
  EXPECT_EQ(s.memsets, 1);
  EXPECT_EQ(s.bytes, 20'001'000);
  EXPECT_EQ(s.timeNs, 2'100'000);
  EXPECT_EQ(s.pageableCopies, 2);
  EXPECT_EQ(s.pageableBytes, 20'000'000);
  EXPECT_EQ(s.pageableNs, 2'000'000);
  EXPECT_EQ(s.pageableExposedNs, 1'500'000);
  EXPECT_EQ(s.unionNs, 2'100'000);
  EXPECT_EQ(s.hiddenNs, 500'000);
  ASSERT_EQ(s.groups.size(), 4u);
  EXPECT_EQ(s.groups.back().kind, CopyKind::memset);
  EXPECT_DOUBLE_EQ(s.groups.front().bytesPerSec().value(), 1e10);
}

// docs/metrics.md, "copy.pageable": the worked example.
TEST(CopyPageable, RecoverableTimeFollowsFromTheAssumedRates) {
  Limits limits;
  limits.pinnedLowBytesPerSec = 12.5e9;
  limits.pinnedHighBytesPerSec = 50e9;
  const Findings all = must(findAll(viewOf(kPageable), limits));
  ASSERT_EQ(all.size(), 1u);
  const Finding& f = all[0];
  EXPECT_EQ(named(f.id).id, "copy.pageable");
  EXPECT_EQ(f.confidence, Confidence::likely);  // no pinned copies in the file: the rates are assumed
  EXPECT_EQ(f.recoverableLowNs, 300'000);     // 1.5 ms - 3/4 of 20 MB / 12.5 GB/s
  EXPECT_EQ(f.recoverableHighNs, 1'200'000);  // 1.5 ms - 3/4 of 20 MB / 50 GB/s
  std::map<std::string, double> evidence;
  for (const Evidence& e : f.evidence) evidence[e.name] = e.value;
  EXPECT_DOUBLE_EQ(evidence.at("copies"), 2);
  EXPECT_DOUBLE_EQ(evidence.at("achieved"), 1e10);
  EXPECT_DOUBLE_EQ(evidence.at("exposed"), 1.5e6);
}

TEST(CopyPageable, PinnedCopiesOfTheSameFileAreTheReference) {
  const Findings all = must(findAll(viewOf(R"dsl(
    memcpy 1 HtoD 0..4ms bytes=20000000 src=pageable
    memcpy 1 HtoD 5ms..6ms bytes=20000000 src=pinned
  )dsl")));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].recoverableLowNs, 3'000'000);
  EXPECT_EQ(all[0].recoverableHighNs, 4'000'000) << "beside kernels the rest can go too";
}

TEST(CopyPageable, NotWorthALineIsNoFinding) {
  EXPECT_TRUE(must(findAll(viewOf("memcpy 1 HtoD 0..4ms bytes=1000 src=pageable"))).empty()) << "few bytes";
  EXPECT_TRUE(
      must(findAll(viewOf("kernel 1 k 0..10s\nmemcpy 1 HtoD 11s..11001ms bytes=10000000 src=pageable")))
          .empty())
      << "a ten-thousandth of the run";
  EXPECT_TRUE(must(findAll(viewOf("memcpy 1 HtoD 0..4ms bytes=20000000 src=pinned"))).empty());
}

TEST(Findings, RankedByTime) {
  Finding a, b, c;
  a.recoverableHighNs = 5;
  b.recoverableHighNs = 9;
  c.recoverableHighNs = 5, c.recoverableLowNs = 3;
  Findings all{a, b, c};
  rank(all);
  EXPECT_EQ(all[0].recoverableHighNs, 9);
  EXPECT_EQ(all[1].recoverableLowNs, 3);
  EXPECT_EQ(all[2].recoverableLowNs, 0);
}

// docs/metrics.md, "Where the time went": the worked example.
TEST(RunSummary, BucketsAddUpToTheWall) {
  const RunSummary s = must(summarizeRun(viewOf(R"dsl(
    process 1 name=app start=-100us exit=400us how=exited(0)
    memcpy 1 HtoD 0..10us bytes=40 src=pinned
    api 1 cudaLaunchKernel_v7000 15us..18us corr=1
    kernel 1 k 20us..120us corr=1
    memcpy 1 DtoH 100us..150us bytes=60 stream=8
    api 1 cudaStreamSynchronize_v3020 110us..160us corr=2
    api 1 cudaLaunchKernel_v7000 180us..185us corr=3
    kernel 1 k 190us..300us corr=3
  )dsl")));
  const TimeBuckets& t = s.time;
  EXPECT_EQ(t.wallNs(), 500'000);
  EXPECT_EQ(t.startUpNs, 120'000) << "until the first kernel; the copy before it belongs to it";
  EXPECT_EQ(t.busyNs, 240'000);
  EXPECT_EQ(t.kernelNs, 210'000);
  EXPECT_EQ(t.copyNs, 50'000);
  EXPECT_EQ(t.bothNs, 20'000);
  EXPECT_EQ(t.idleNs, 40'000);
  EXPECT_EQ(t.shutDownNs, 100'000);
  ASSERT_EQ(t.idle.size(), 3u);
  EXPECT_EQ(t.idle[0].cause, IdleCause::host);
  EXPECT_EQ(t.idle[0].ns, 20'000);
  EXPECT_EQ(t.idle[1].ns + t.idle[2].ns, 20'000);
  EXPECT_EQ(s.copies, 2);
  EXPECT_EQ(s.copyBytes, 100);
  EXPECT_EQ(s.apiCalls, 3);
  EXPECT_EQ(s.streamsUsed, 2u);
  EXPECT_TRUE(s.quality.complete);
}

TEST(RunSummary, CopiesBeforeTheFirstKernelArePartOfStartUp) {
  const TimeBuckets t = must(summarizeRun(viewOf(R"dsl(
    process 1 name=app start=0 exit=1000
    memcpy 1 HtoD 100..200 bytes=1 stream=1
    memcpy 1 HtoD 150..250 bytes=1 stream=2
    kernel 1 k 400..500
    memcpy 1 DtoH 600..700 bytes=1
  )dsl"))).time;
  EXPECT_EQ(t.startUpNs, 400);
  EXPECT_EQ(t.startUpCopyNs, 150) << "their union";
  EXPECT_EQ(t.copyNs, 100) << "later ones only";
}

TEST(RunSummary, WithoutGpuWorkEverythingIsStartUp) {
  const RunSummary s = must(summarizeRun(viewOf("process 1 name=app start=0 exit=70")));
  EXPECT_FALSE(s.time.anyGpuWork);
  EXPECT_EQ(s.time.startUpNs, 70);
  EXPECT_EQ(s.time.wallNs(), 70);
  EXPECT_EQ(s.processesWithGpuWork, 0u);
}

TEST(Quality, WhatIsToldWithoutAMissingRecordLeavesTheRecordingComplete) {
  const Quality q = must(summarizeRun(viewOf(R"dsl(
    process 1 name=app start=0 exit=1ms
    kernel 1 k 0..1
    loss left_running count=2 why="2 processes still ran when the recording ended"
    loss nvtx_open count=3 why="ranges without an end"
    loss samples count=4 why="no samples"
  )dsl"))).quality;
  EXPECT_TRUE(q.complete);
  EXPECT_EQ(q.lostRecords, 0);
  EXPECT_FALSE(q.unknownLosses);
  EXPECT_EQ(q.losses.size(), 3u) << "but it is told";
}

TEST(Quality, LossesUntimedLaunchesAndOwnCost) {
  const RunSummary s = must(summarizeRun(viewOf(R"dsl(
    session counters=no_permission
    process 1 name=app start=0 exit=1ms
    kernel 1 k 0..1
    untimed 1 k corr=2
    loss kernel count=7 from=10 to=20 why="pool empty"
    loss nvtx why="counter not readable"
    loss api count=0
    cost 1 guest.callbacks ns=1us
    cost 1 guest.buffer_request ns=3us
    cost 1 guest.thread_cpu ns=400us                  # our own thread's
    overhead 1 4 10us..12us                           # CUPTI's instrumentation
    overhead 1 2 20us..90us                           # the driver's compiler: the application's own
    overhead 1 1 100us..107us name="CUPTI activity buffer request"
  )dsl")));
  const Quality& q = s.quality;
  EXPECT_FALSE(q.complete);
  EXPECT_EQ(q.launches, 2);
  EXPECT_EQ(q.timed, 1);
  EXPECT_EQ(q.lostRecords, 7);
  EXPECT_TRUE(q.unknownLosses);
  ASSERT_EQ(q.losses.size(), 2u);
  EXPECT_EQ(q.losses[0].why, "pool empty");
  EXPECT_EQ(q.losses[1].count, std::nullopt);
  EXPECT_EQ(q.ownCostNs, 10'000);
  EXPECT_DOUBLE_EQ(q.ownCostPct.value(), 1.0);
  EXPECT_EQ(q.countersReason, "no_permission");
}

TEST(Quality, AFileThatWasNotFinishedIsNotComplete) {
  const support::TempDir dir;
  must(support::writeProfile(dir.path() / "a", "kernel 1 k 0..1", false));
  const RunSummary s = must(summarizeRun(support::viewOfFile(dir.path() / "a")));
  EXPECT_TRUE(s.quality.unfinished);
  EXPECT_FALSE(s.quality.complete);
}

}  // namespace
}  // namespace warpmeter::analyzer
