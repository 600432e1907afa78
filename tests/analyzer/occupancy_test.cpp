// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/occupancy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "analyzer/occupancy_cases.h"
#include "support/view_of.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using testing::ElementsAre;

KernelResources kernel(int block, int registers, std::int64_t dynamicShared = 0, std::int64_t grid = 0) {
  KernelResources k;
  k.blockThreads = block;
  k.registersPerThread = registers;
  k.dynamicShared = dynamicShared;
  k.gridBlocks = grid;
  return k;
}

TEST(Occupancy, EqualsStoredSampleOfTheToolkitsCalculator) {
  std::ifstream file(WARPMETER_SOURCE_DIR "/tests/analyzer/occupancy_sample.txt");
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    if (line.starts_with('#')) continue;
    std::istringstream in(line);
    OccupancyCase c;
    int blocks = -1, byWarps = -1, byRegisters = -1, byShared = -1;
    in >> c.capability >> c.registers >> c.block >> c.staticShared >> c.dynamicShared >> c.carveoutPct >>
        c.barriers >> blocks >> byWarps >> byRegisters >> byShared;
    ASSERT_TRUE(in) << line;
    KernelResources k = kernel(c.block, c.registers, c.dynamicShared);
    k.staticShared = c.staticShared;
    k.barriers = c.barriers;
    if (c.carveoutPct >= 0) k.carveoutPct = c.carveoutPct;
    const Occupancy o = must(occupancyOf(must(deviceLimits(c.capability / 10, c.capability % 10)), k));
    ASSERT_EQ(o.blocksPerSm, blocks) << line;
    ASSERT_EQ(o.limits.warps, byWarps) << line;
    ASSERT_EQ(o.limits.registers, byRegisters) << line;
    ASSERT_EQ(o.limits.sharedMemory, byShared) << line;
    ++cases;
  }
  EXPECT_EQ(cases, 2000);
}

TEST(Occupancy, KnowsTheSameCapabilitiesAsTheSample) {
  EXPECT_THAT(std::vector<int>(supportedCapabilities().begin(), supportedCapabilities().end()),
              testing::ElementsAreArray(kCapabilities));
}

// docs/metrics.md, "Theoretical occupancy": the worked example.
TEST(Occupancy, WorkedExampleRegisters) {
  const Occupancy o = must(occupancyOf(must(deviceLimits(9, 0, 132)), kernel(256, 72, 0, 1000)));
  EXPECT_EQ(o.warpsPerBlock, 8);
  EXPECT_EQ(o.limits.registers, 3);
  EXPECT_EQ(o.limits.warps, 8);
  EXPECT_EQ(o.blocksPerSm, 3);
  EXPECT_DOUBLE_EQ(o.occupancyPct, 37.5);
  EXPECT_THAT(o.limiters, ElementsAre(Limiter::registers));
  EXPECT_EQ(o.registersPerBlock, 18432);
  EXPECT_NEAR(o.waves.value(), 1000.0 / 396, 1e-12);
  EXPECT_NEAR(o.tailPct.value(), 100.0 * (1 - 208.0 / 396), 1e-9);
  EXPECT_NEAR(o.tailEfficiencyPct.value(), 100.0 * (1000.0 / 396) / 3, 1e-9);
}

// 60 KiB of dynamic shared memory on an H100: 1 KiB is reserved for each block, so that 3 fit and not 4.
TEST(Occupancy, WorkedExampleSharedMemory) {
  const DeviceLimits h100 = must(deviceLimits(9, 0));
  KernelResources k = kernel(128, 32, 60 * 1024);
  Occupancy o = must(occupancyOf(h100, k));
  EXPECT_EQ(o.sharedPerBlock, 62464);
  EXPECT_EQ(o.blocksPerSm, 3);
  EXPECT_THAT(o.limiters, ElementsAre(Limiter::sharedMemory));
  k.carveoutPct = 28;  // 63.8 KiB, rounded up to 64
  o = must(occupancyOf(h100, k));
  EXPECT_EQ(o.blocksPerSm, 1);
  EXPECT_EQ(o.carveoutBytes, 64 * 1024);
}

TEST(Occupancy, ExecutedCarveoutReplacesTheRequest) {
  KernelResources k = kernel(128, 32, 8 * 1024);
  k.executedShared = 32 * 1024;
  k.carveoutPct = 100;
  const Occupancy o = must(occupancyOf(must(deviceLimits(8, 0)), k));
  EXPECT_EQ(o.carveoutBytes, 32 * 1024);
  EXPECT_EQ(o.blocksPerSm, 3);  // 9 KiB each
}

TEST(Occupancy, GridThatDoesNotFillTheGpuIsTheLimiter) {
  const Occupancy o = must(occupancyOf(must(deviceLimits(9, 0, 132)), kernel(256, 32, 0, 64)));
  EXPECT_EQ(o.limiters.front(), Limiter::grid);
  EXPECT_EQ(limiterText(o), "grid");
  EXPECT_EQ(o.busySms, 64);
  EXPECT_NEAR(o.waves.value(), 64.0 / (132 * 8), 1e-12);
}

TEST(Occupancy, FullLastWaveHasNoTail) {
  const Occupancy o = must(occupancyOf(must(deviceLimits(9, 0, 132)), kernel(1024, 32, 0, 528)));
  EXPECT_DOUBLE_EQ(o.waves.value(), 2.0);
  EXPECT_DOUBLE_EQ(o.tailPct.value(), 0.0);
  EXPECT_DOUBLE_EQ(o.tailEfficiencyPct.value(), 100.0);
}

TEST(Occupancy, ImpossibleBlocksSayWhy) {
  const DeviceLimits device = must(deviceLimits(8, 6));
  EXPECT_THAT(must(occupancyOf(device, kernel(1025, 16))).limiters, ElementsAre(Limiter::warps));
  EXPECT_THAT(must(occupancyOf(device, kernel(1024, 255))).limiters, ElementsAre(Limiter::registers));
  EXPECT_THAT(must(occupancyOf(device, kernel(32, 16, 100 * 1024))).limiters,
              ElementsAre(Limiter::sharedMemory));
}

TEST(Occupancy, BadInputIsUsage) {
  const DeviceLimits device = must(deviceLimits(9, 0));
  KernelResources k = kernel(0, 16);
  EXPECT_EQ(occupancyOf(device, k).error().kind, ErrorKind::usage);
  k = kernel(128, 16);
  k.carveoutPct = 101;
  EXPECT_EQ(occupancyOf(device, k).error().kind, ErrorKind::usage);
  k = kernel(128, 16, 0, 10);
  k.clusterBlocks = 4;
  EXPECT_EQ(occupancyOf(device, k).error().kind, ErrorKind::usage) << "10 blocks are no clusters of 4";
  k.gridBlocks = 8;
  EXPECT_EQ(occupancyOf(must(deviceLimits(8, 0)), k).error().kind, ErrorKind::usage)
      << "no clusters before 9.0";
  EXPECT_EQ(deviceLimits(6, 1).error().kind, ErrorKind::unsupported);
}

// docs/metrics.md, "Clusters".
TEST(Occupancy, RecordedClustersDecide) {
  KernelResources k = kernel(384, 168, 100 * 1024, 264);  // one block fits an SM
  k.clusterBlocks = 2;
  k.maxActiveClusters = 60;
  const Occupancy o = must(occupancyOf(must(deviceLimits(9, 0, 132)), k));
  EXPECT_EQ(o.blocksPerSm, 1);
  EXPECT_THAT(o.limiters, ElementsAre(Limiter::cluster));
  EXPECT_FALSE(o.clusterEstimated);
  EXPECT_DOUBLE_EQ(o.occupancyPct, 100.0 * 120 * 12 / (64.0 * 132));
  EXPECT_DOUBLE_EQ(o.waves.value(), 264.0 / 120);
}

TEST(Occupancy, ClustersAreEstimatedByGroupsOfSixteen) {
  KernelResources k = kernel(1024, 32, 200 * 1024);
  k.clusterBlocks = 3;
  const Occupancy o = must(occupancyOf(must(deviceLimits(9, 0, 132)), k));
  EXPECT_EQ(o.blocksPerSm, 1);
  EXPECT_TRUE(o.clusterEstimated);
  EXPECT_EQ(o.activeClusters, 8 * 5 + 1);  // 8 x 16 SMs hold 5 clusters of 3 each, the other 4 SMs one
}

TEST(Occupancy, RecordedLimitsComeFirst) {
  GpuInfo gpu;
  gpu.computeMajor = 9;
  gpu.computeMinor = 0;
  gpu.smCount = 132;
  gpu.maxBlocksPerSm = 0;  // seen in real files: not known
  gpu.maxRegistersPerBlock = 32768;
  const DeviceLimits device = must(deviceLimits(gpu));
  EXPECT_EQ(device.smCount, 132);
  EXPECT_EQ(device.maxBlocksPerSm, 32);
  EXPECT_EQ(device.registersPerBlock, 32768);
  EXPECT_EQ(deviceLimits(GpuInfo{}).error().kind, ErrorKind::notFound);
}

TEST(LimiterText, SaysNothingOfFullOccupancy) {
  EXPECT_EQ(limiterText(must(occupancyOf(must(deviceLimits(9, 0)), kernel(256, 32)))), "-");
  EXPECT_EQ(limiterText(must(occupancyOf(must(deviceLimits(12, 0)), kernel(32, 32)))), "blocks");
}

TEST(BestBlockSizes, EveryOneIsTheCalculatorsOwnAnswer) {
  const DeviceLimits device = must(deviceLimits(9, 0, 132));
  const auto best = must(bestBlockSizes(device, kernel(256, 40, 0, 5000), 32));
  ASSERT_EQ(best.size(), 32u);
  double last = 0;
  for (const BlockSizeAdvice& advice : best) {
    EXPECT_EQ(advice.gridBlocks, (5000 * 256 + advice.blockThreads - 1) / advice.blockThreads);
    const Occupancy again = must(occupancyOf(device, kernel(advice.blockThreads, 40, 0, advice.gridBlocks)));
    EXPECT_EQ(again.blocksPerSm, advice.occupancy.blocksPerSm);
    EXPECT_GE(std::ceil(*again.waves), last) << "the same threads in fewer waves come first";
    last = std::ceil(*again.waves);
  }
}

// docs/metrics.md, "Best block size": 64 blocks of 256 leave 68 of 132 SMs empty; 256 blocks of 64 leave
// none.
TEST(BestBlockSizes, GridTooSmallAsksForSmallerBlocks) {
  const auto best = must(bestBlockSizes(must(deviceLimits(9, 0, 132)), kernel(256, 40, 0, 64), 1));
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best[0].blockThreads, 64);
  EXPECT_EQ(best[0].gridBlocks, 256);
  EXPECT_EQ(best[0].occupancy.busySms, 132);
}

TEST(BestBlockSizes, FindsTheOccupancyThatRegistersAllow) {
  // 72 registers: 28 warps of 64 fit; blocks of 128 use 28, blocks of 256 only 24.
  const auto best = must(bestBlockSizes(must(deviceLimits(9, 0)), kernel(256, 72), 1));
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best[0].occupancy.warpsPerSm, 28);
}

}  // namespace
}  // namespace warpmeter::analyzer
