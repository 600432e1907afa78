// SPDX-License-Identifier: Apache-2.0
// Counters over time at any zoom.
#include "warpmeter/analyzer/counter_lanes.h"

#include <gtest/gtest.h>

#include "support/view_of.h"

namespace warpmeter::analyzer {
namespace {

using support::viewOf;

std::shared_ptr<const ProfileView> shared(std::string_view text) {
  return std::make_shared<const ProfileView>(viewOf(text));
}

std::vector<CounterColumn> pictureOf(const CounterLane& lane, std::int64_t t0, std::int64_t t1, int pixels) {
  std::vector<CounterColumn> out;
  lane.picture(t0, t1, pixels, out);
  return out;
}

// Two bursts of 2 us samples with a hole between them. 100 cycles of SMs a sample; 64 warps fit an SM.
constexpr const char* kBursts = R"dsl(
  gpu 0 name="NVIDIA H200" cc=9.0 sms=132
  kernel 1 k 0..2ms
  sampleset 1 0 chip=GH100 metrics=sm__cycles_active.sum,sm__warps_active.sum,dram__bytes_read.sum
  samples 1 0..400us interval=2us values=100,3200,2000
  samples 1 1600us..2000us interval=2us values=300,4800,6000
)dsl";

TEST(CounterLanes, AreWhatTheSetsCount) {
  const auto lanes = counterLanes(shared(kBursts));
  ASSERT_EQ(lanes.size(), 2u) << "nothing counts writes or elapsed cycles";
  EXPECT_EQ(lanes[0].text, "SM occupancy");
  EXPECT_EQ(lanes[0].unit, Unit::percent);
  EXPECT_EQ(lanes[1].text, "DRAM read");
  EXPECT_DOUBLE_EQ(lanes[1].top, 3e9) << "6000 bytes in 2 us";
  EXPECT_TRUE(counterLanes(shared("gpu 0 name=x\nkernel 1 k 0..1")).empty());
}

TEST(CounterLanes, AColumnIsTheRatioOfSums) {
  const auto lanes = counterLanes(shared(kBursts));
  const auto whole = pictureOf(lanes[0], 0, 2'000'000, 1);
  ASSERT_EQ(whole.size(), 1u);
  // (200 x 3200 + 200 x 4800) / (64 x (200 x 100 + 200 x 300)) = 31.25 %, not the mean of 50 and 25.
  EXPECT_NEAR(whole[0].mean, 31.25, 1e-4);
  EXPECT_NEAR(whole[0].low, 25, 1e-4);
  EXPECT_NEAR(whole[0].high, 50, 1e-4);
  const auto bytes = pictureOf(lanes[1], 0, 2'000'000, 1);
  EXPECT_NEAR(bytes[0].mean, 2e9, 1) << "over the time that was sampled";
}

TEST(CounterLanes, HolesStayEmpty) {
  const auto lanes = counterLanes(shared(kBursts));
  const auto columns = pictureOf(lanes[0], 0, 2'000'000, 10);  // 200 us each
  ASSERT_EQ(columns.size(), 4u);
  EXPECT_EQ(columns[1].pixel, 1);
  EXPECT_EQ(columns[2].pixel, 8);
  EXPECT_NEAR(columns[0].mean, 50, 1e-4);
  EXPECT_NEAR(columns[3].mean, 25, 1e-4);
}

TEST(CounterLanes, ASampleWiderThanAPixelFillsItsPixels) {
  const auto lanes = counterLanes(shared(kBursts));
  const auto columns = pictureOf(lanes[0], 398'000, 402'000, 40);  // 100 ns each, the burst ends at 400 us
  ASSERT_EQ(columns.size(), 20u);
  EXPECT_EQ(columns.front().pixel, 0);
  EXPECT_EQ(columns.back().pixel, 19);
}

TEST(CounterLanes, BlocksSayTheSameAsTheirSamples) {
  const auto lanes = counterLanes(shared(R"dsl(
    gpu 0 name="NVIDIA H200" cc=9.0 sms=132
    kernel 1 k 0..2ms
    sampleset 1 0 chip=GH100 metrics=sm__cycles_active.sum,sm__warps_active.sum
    samples 1 0..1ms interval=1us values=100,1600
    samples 1 1ms..2ms interval=1us values=100,6400
  )dsl"));
  ASSERT_EQ(lanes.size(), 1u);
  // 100 samples of one kind and 300 of the other, with edges inside blocks of 128.
  const auto column = pictureOf(lanes[0], 900'000, 1'300'000, 1);
  EXPECT_NEAR(column.at(0).mean, (100 * 25.0 + 300 * 100.0) / 400, 1e-3);
  EXPECT_NEAR(column.at(0).low, 25, 1e-3);
  EXPECT_NEAR(column.at(0).high, 100, 1e-3);
}

TEST(CounterLanes, AnIdleGpuHasNoOccupancy) {
  const auto lanes = counterLanes(shared(R"dsl(
    gpu 0 name="NVIDIA H200" cc=9.0 sms=132
    kernel 1 k 0..2ms
    sampleset 1 0 chip=GH100 metrics=sm__cycles_active.sum,sm__warps_active.sum,sm__cycles_elapsed.sum
    samples 1 0..100us interval=1us values=0,0,500
  )dsl"));
  ASSERT_EQ(lanes.size(), 2u);
  EXPECT_TRUE(pictureOf(lanes[0], 0, 100'000, 10).empty());
  const auto active = pictureOf(lanes[1], 0, 100'000, 10);
  ASSERT_EQ(active.size(), 10u) << "but its multiprocessors were measured idle";
  EXPECT_EQ(active[0].mean, 0);
}

TEST(CounterLanes, AReadingSaysWhatWasCountedAndByWhom) {
  const auto lanes = counterLanes(shared(kBursts));
  const auto one = lanes[0].read(10'000, 10'001);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->samples, 1);
  EXPECT_NEAR(one->mean, 50, 1e-4);
  EXPECT_EQ(one->sets, std::vector<std::string>{"set 1: sm__warps_active.sum"});
  const auto both = lanes[0].read(0, 2'000'000);
  EXPECT_EQ(both->samples, 400);
  EXPECT_NEAR(both->mean, 31.25, 1e-4);
  EXPECT_FALSE(lanes[0].read(500'000, 600'000)) << "a hole";
}

TEST(CounterLanes, NothingForNothing) {
  const auto lanes = counterLanes(shared(kBursts));
  EXPECT_TRUE(pictureOf(lanes[0], 5, 5, 10).empty());
  EXPECT_TRUE(pictureOf(lanes[0], 0, 100, 0).empty());
  EXPECT_TRUE(pictureOf(lanes[0], 3'000'000, 4'000'000, 10).empty());
}

}  // namespace
}  // namespace warpmeter::analyzer
