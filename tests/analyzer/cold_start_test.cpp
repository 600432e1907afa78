// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/cold_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/view_of.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using support::viewOf;

const ColdBar& bar(const ColdStart& c, ColdPhase phase) { return c.bars.at(static_cast<std::size_t>(phase)); }

void expectAddsUp(const ColdStart& c) {
  std::int64_t bars = 0, at = c.beginNs;
  for (const ColdBar& b : c.bars) bars += b.ns.value_or(0);
  EXPECT_EQ(bars, c.totalNs());
  for (const ColdPiece& p : c.pieces) {
    EXPECT_EQ(p.startNs, at) << "pieces lie side by side";
    EXPECT_LT(p.startNs, p.endNs);
    at = p.endNs;
  }
  EXPECT_EQ(at, c.firstKernelNs);
}

// docs/metrics.md, "Cold start": the worked example (ms).
TEST(ColdStart, WorkedExample) {
  const ProfileView view = viewOf(R"(
    process 5 name=app start=-300ms uncertainty=10ms
    mark 5 processStart -300ms bytes=10000000
    mark 5 injectionEntered 0ms
    mark 5 cuInitFinished 100ms
    api 5 cudaMalloc_v3020 150ms..300ms corr=1      # the context is made here
    mark 5 contextCreated 250ms ctx=1
    mark 5 moduleLoaded 290ms bytes=1000 module=1
    api 5 cuLibraryLoadData 270ms..295ms corr=1 driver
    mark 5 jitStarted 275ms ns=15ms
    api 5 cudaLaunchKernel_v7000 400ms..420ms corr=2
    overhead 5 7 405ms..415ms corr=2                # lazy loading inside the launch
    kernel 5 k 430ms..440ms corr=2
  )");
  const auto all = must(coldStartsOf(view));
  ASSERT_EQ(all.size(), 1u);
  const ColdStart& c = all[0];
  EXPECT_TRUE(c.beginKnown);
  EXPECT_EQ(c.beginUncertaintyNs, 10'000'000);
  EXPECT_EQ(c.totalNs(), 730'000'000);
  EXPECT_EQ(bar(c, ColdPhase::process).ns, 300'000'000);
  EXPECT_EQ(bar(c, ColdPhase::cuInit).ns, 100'000'000);
  EXPECT_EQ(bar(c, ColdPhase::context).ns, 125'000'000);  // 150 - 25 in the load
  EXPECT_EQ(bar(c, ColdPhase::context).count, 1);
  EXPECT_EQ(bar(c, ColdPhase::moduleLoad).ns, 20'000'000);  // 25 - 15 of PTX + 10 lazy
  EXPECT_EQ(bar(c, ColdPhase::moduleLoad).count, 1);
  EXPECT_EQ(bar(c, ColdPhase::jit).ns, 15'000'000);
  EXPECT_EQ(bar(c, ColdPhase::firstLaunch).ns, 20'000'000);  // 400 to 430 less 10 of loading
  EXPECT_EQ(bar(c, ColdPhase::host).ns, 150'000'000);        // 100-150 and 300-400
  expectAddsUp(c);
}

TEST(ColdStart, WithoutMarksWhatIsNotRecordedIsNull) {
  const auto all = must(coldStartsOf(viewOf(R"(
    api 5 cudaMalloc_v3020 100..300 corr=1
    api 5 cudaLaunchKernel_v7000 400..420 corr=2
    kernel 5 k 430..440 corr=2
  )")));
  ASSERT_EQ(all.size(), 1u);
  const ColdStart& c = all[0];
  EXPECT_FALSE(c.beginKnown);
  EXPECT_EQ(c.beginNs, 100);
  for (const ColdPhase phase :
       {ColdPhase::process, ColdPhase::cuInit, ColdPhase::context, ColdPhase::moduleLoad, ColdPhase::jit}) {
    EXPECT_EQ(bar(c, phase).ns, std::nullopt) << idOf(phase);
  }
  EXPECT_EQ(bar(c, ColdPhase::firstLaunch).ns, 30);
  EXPECT_EQ(bar(c, ColdPhase::host).ns, 300);
  expectAddsUp(c);
}

TEST(ColdStart, NoJitRecordIsZeroWhenTheProcessWasMarked) {
  const auto all = must(coldStartsOf(viewOf(R"(
    mark 5 injectionEntered 0
    mark 5 cuInitFinished 10
    kernel 5 k 430..440 corr=2
  )")));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(bar(all[0], ColdPhase::jit).ns, 0);
  EXPECT_EQ(bar(all[0], ColdPhase::moduleLoad).ns, 0);
  EXPECT_EQ(bar(all[0], ColdPhase::firstLaunch).ns, std::nullopt);
  expectAddsUp(all[0]);
}

TEST(ColdStart, CallsInsideEachOtherCountOnce) {
  const auto all = must(coldStartsOf(viewOf(R"(
    api 5 cudaLibraryLoadData_v12060 10..50 corr=1
    api 5 cuLibraryLoadData 12..48 corr=1 driver
    api 5 cuModuleGetFunction 60..61 corr=2 driver
    api 5 cuLibraryLoadData 70..90 corr=3 driver
    kernel 5 k 430..440 corr=9
  )")));
  EXPECT_EQ(bar(all.at(0), ColdPhase::moduleLoad).ns, 61);
  EXPECT_EQ(bar(all.at(0), ColdPhase::moduleLoad).count, 2);
}

TEST(ColdStart, FirstLaunchAgainstTheMedianOfFiveLaterOnes) {
  const ProfileView view = viewOf(R"(
    api 5 cudaLaunchKernel_v7000 0..100 corr=1
    kernel 5 hot 110..150 corr=1
    api 5 cudaLaunchKernel_v7000 200..204 corr=2
    kernel 5 hot 210..220 corr=2
    api 5 cudaLaunchKernel_v7000 300..303 corr=3
    kernel 5 hot 310..321 corr=3
    api 5 cudaLaunchKernel_v7000 400..405 corr=4
    kernel 5 hot 410..422 corr=4
    api 5 cudaLaunchKernel_v7000 500..506 corr=5
    kernel 5 hot 510..523 corr=5
    api 5 cudaLaunchKernel_v7000 600..607 corr=6
    kernel 5 hot 610..624 corr=6
    api 5 cudaLaunchKernel_v7000 700..708 corr=7
    kernel 5 rare 710..720 corr=7
    kernel 5 rare 730..740 corr=7 node=3
  )");
  const auto all = must(coldStartsOf(view));
  ASSERT_EQ(all.at(0).firstLaunches.size(), 2u);
  const FirstLaunch& hot = all[0].firstLaunches[0];
  EXPECT_EQ(view.name(view.functions()[hot.function].demangled), "hot");
  EXPECT_EQ(hot.hostNs, 100);
  EXPECT_EQ(hot.gpuNs, 40);
  EXPECT_EQ(hot.laterLaunches, 5u);
  EXPECT_EQ(hot.laterHostNs, 5);
  EXPECT_EQ(hot.laterGpuNs, 12);
  EXPECT_EQ(hot.rowid, 1u);
  const FirstLaunch& rare = all[0].firstLaunches[1];
  EXPECT_EQ(rare.laterLaunches, 1u);
  EXPECT_EQ(rare.laterHostNs, std::nullopt);
  EXPECT_EQ(rare.laterGpuNs, std::nullopt);
}

TEST(ColdStart, ProcessesWithoutKernelsHaveNone) {
  EXPECT_TRUE(must(coldStartsOf(viewOf("process 5 name=a start=0\nmemcpy 5 HtoD 10..20 bytes=4"))).empty());
}

}  // namespace
}  // namespace warpmeter::analyzer
