// SPDX-License-Identifier: Apache-2.0
// Ceilings and what bounds a kernel. The worked examples of docs/metrics.md are here.
#include "warpmeter/analyzer/bound.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace warpmeter::analyzer {
namespace {

using ::testing::HasSubstr;

Metric measured(double value, double half = 0.5) {
  return {value, value - half, value + half, 500, Provenance::sampledExclusive, std::nullopt};
}

// Everything measured, nothing busy.
KernelCounters quiet() {
  KernelCounters c;
  c.occupancyPct = measured(40);
  c.smActivePct = measured(98);
  c.dramReadBytes = measured(1e6, 1e3);
  c.dramWriteBytes = measured(1e6, 1e3);
  c.dramBytesPerSec = measured(400e9, 4e9);
  for (Metric* m : {&c.issuePct, &c.tensorPct, &c.fp32Pct, &c.fp64Pct, &c.intPct, &c.l2Pct, &c.l1Pct})
    *m = measured(10);
  return c;
}

Ceilings calibrated() {
  return {4e12, 60e12, 30e12, 800e12, CeilingSource::calibrated, "calibrated on this GPU"};
}

constexpr LaunchShape kFull{50'000, 132, 132};

GpuInfo h200() {
  GpuInfo g;
  g.name = "NVIDIA H200 of another name";  // for which nothing is shipped
  g.computeMajor = 9;
  g.computeMinor = 0;
  g.smCount = 132;
  g.clockRate = 1'980'000'000;
  g.memoryClockHz = 3'201'000'000;
  g.memoryBusBits = 6016;
  return g;
}

// Worked example "Ceilings" of docs/metrics.md.
TEST(Ceilings, WorkedExampleFromClocksAndWidths) {
  const auto c = ceilingsFrom(h200(), {});
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->source, CeilingSource::theoretical);
  EXPECT_NEAR(c->dramBytesPerSec, 4.814e12, 1e9);
  EXPECT_NEAR(c->fp32PerSec, 66.9e12, 0.05e12);
  EXPECT_NEAR(c->fp64PerSec, 33.5e12, 0.05e12);
  EXPECT_NEAR(c->tensorBf16PerSec, 1070.5e12, 1e12);
  EXPECT_THAT(c->from, HasSubstr("theoretical"));
}

TEST(Ceilings, MeasuredOnesComeFirstAndAreNeverMixed) {
  const std::vector<CeilingInfo> rows{{0, "dram", 4.2e12, "calibrated"},
                                      {0, "tensor.bf16", 700e12, "calibrated"}};
  const auto c = ceilingsFrom(h200(), rows);
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->source, CeilingSource::calibrated);
  EXPECT_DOUBLE_EQ(c->dramBytesPerSec, 4.2e12);
  EXPECT_DOUBLE_EQ(c->tensorBf16PerSec, 700e12);
  EXPECT_DOUBLE_EQ(c->fp32PerSec, 0) << "not measured is not known, whatever the clocks say";
}

TEST(Ceilings, OfAMeasuredModelAreShipped) {
  GpuInfo g = h200();
  g.name = "NVIDIA H200";
  const auto c = ceilingsFrom(g, {});
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->source, CeilingSource::shipped);
  EXPECT_EQ(c->from, "shipped for H200");
  const auto theoretical = ceilingsFrom(h200(), {});
  for (const auto rate : {&Ceilings::dramBytesPerSec, &Ceilings::fp32PerSec, &Ceilings::fp64PerSec,
                          &Ceilings::tensorBf16PerSec}) {
    EXPECT_LT((*c).*rate, (*theoretical).*rate) << "nothing is faster than its clocks and widths";
    EXPECT_GT((*c).*rate, 0.85 * (*theoretical).*rate);
  }
}

TEST(Bound, IssueSlotsAloneDoNotProveAnything) {
  KernelCounters c = quiet();
  c.issuePct = measured(99);
  EXPECT_EQ(boundOf(c, kFull, calibrated(), {}).confidence, Confidence::sure);
  c.fp32Pct = Metric::missing(Reason::tooFewSamples);
  const KernelBound bound = boundOf(c, kFull, calibrated(), {});
  EXPECT_EQ(bound.bound, Bound::issue);
  EXPECT_EQ(bound.confidence, Confidence::maybe);
  EXPECT_THAT(bound.why, HasSubstr("not measured: FP32"));
}

TEST(Ceilings, RowsThatSayNothingAreNotMeasurements) {
  const std::vector<CeilingInfo> rows{
      {0, "dram", 0, "calibrated"}, {0, "unheard-of", 5, "calibrated"}, {0, "dram", 9e12, "theoretical"}};
  EXPECT_EQ(ceilingsFrom(h200(), rows)->source, CeilingSource::theoretical);
}

TEST(Ceilings, RatesThatNoGpuHasAreNone) {
  for (const double value : {std::numeric_limits<double>::infinity(), 1e-300, -4e12, 1.7e308}) {
    const std::vector<CeilingInfo> rows{{0, "dram", value, "calibrated"}, {0, "fp32", value, "calibrated"}};
    EXPECT_EQ(ceilingsFrom(h200(), rows)->source, CeilingSource::theoretical) << value;
  }
  GpuInfo g = h200();
  g.memoryClockHz = std::numeric_limits<std::int64_t>::max();
  const auto c = ceilingsFrom(g, {});
  ASSERT_TRUE(c.has_value());
  EXPECT_EQ(c->dramBytesPerSec, 0);
  EXPECT_GT(c->fp32PerSec, 0);
}

TEST(Ceilings, AGpuThatIsNotDescribedHasNone) { EXPECT_FALSE(ceilingsFrom(GpuInfo{}, {}).has_value()); }

TEST(Ceilings, AnUnknownChipHasOnlyItsMemory) {
  GpuInfo g = h200();
  g.computeMajor = 99;
  const auto c = ceilingsFrom(g, {});
  ASSERT_TRUE(c.has_value());
  EXPECT_GT(c->dramBytesPerSec, 0);
  EXPECT_DOUBLE_EQ(c->fp32PerSec, 0);
}

// Worked example "What bounds a kernel" of docs/metrics.md.
TEST(Bound, WorkedExampleElementwiseAtItsMemory) {
  KernelCounters c = quiet();
  c.dramBytesPerSec = measured(3.52e12, 0.02e12);
  c.l2Pct = measured(55);
  c.fp32Pct = measured(20);
  const KernelBound b = boundOf(c, kFull, calibrated());
  EXPECT_EQ(b.bound, Bound::dram);
  EXPECT_NEAR(*b.sharePct, 88, 0.01);
  EXPECT_EQ(b.shareOf, "DRAM 4.00 TB/s");
  EXPECT_EQ(b.confidence, Confidence::sure);
  EXPECT_EQ(b.why, "88 % of DRAM 4.00 TB/s, next L2 cache 55 %");
  // Roofline: 20 % x 98 % of 60 TFLOP/s + 9.8 % of 30 + 9.8 % of 800 = 93.1e12; by 3.52e12 bytes/s.
  EXPECT_NEAR(*b.flopPerSec, 93.1e12, 0.1e12);
  EXPECT_NEAR(*b.flopPerByte, 93.1 / 3.52, 0.05);
}

TEST(Bound, EveryUnitCanBeTheOne) {
  const struct {
    Metric KernelCounters::*unit;
    Bound bound;
  } cases[] = {{&KernelCounters::l2Pct, Bound::l2},       {&KernelCounters::l1Pct, Bound::l1},
               {&KernelCounters::fp32Pct, Bound::fp32},   {&KernelCounters::fp64Pct, Bound::fp64},
               {&KernelCounters::intPct, Bound::integer}, {&KernelCounters::tensorPct, Bound::tensor},
               {&KernelCounters::issuePct, Bound::issue}};
  for (const auto& t : cases) {
    KernelCounters c = quiet();
    c.*t.unit = measured(93);
    const KernelBound b = boundOf(c, kFull, calibrated());
    EXPECT_EQ(b.bound, t.bound) << named(t.bound).id;
    EXPECT_EQ(b.confidence, Confidence::sure) << named(t.bound).id;
    EXPECT_FALSE(b.reason.has_value());
  }
}

TEST(Bound, AnIntervalThatCrossesAThresholdCostsConfidence) {
  const auto with = [](double value, double half) {
    KernelCounters c = quiet();
    c.smActivePct = Metric::of(100);
    c.tensorPct = measured(value, half);
    return boundOf(c, kFull, calibrated());
  };
  EXPECT_EQ(with(90, 5).confidence, Confidence::sure);
  EXPECT_EQ(with(90, 15).confidence, Confidence::likely) << "80 lies inside";
  EXPECT_EQ(with(70, 2).confidence, Confidence::likely) << "between 60 and 80";
  EXPECT_EQ(with(65, 8).confidence, Confidence::maybe) << "60 lies inside";
  EXPECT_EQ(with(65, 8).bound, Bound::tensor);
  EXPECT_EQ(with(57, 8).bound, Bound::latency);
  EXPECT_EQ(with(57, 8).confidence, Confidence::maybe) << "60 lies inside";
  EXPECT_EQ(with(25, 2).confidence, Confidence::sure);
}

TEST(Bound, TwoUnitsAlikeCostConfidence) {
  KernelCounters c = quiet();
  c.smActivePct = Metric::of(100);
  c.tensorPct = measured(90);
  c.l1Pct = measured(85);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).confidence, Confidence::likely);
}

TEST(Bound, WhatWasNotReadMayBeBusier) {
  KernelCounters c = quiet();
  c.smActivePct = Metric::of(100);
  c.l1Pct = measured(70);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).confidence, Confidence::likely);
  c.tensorPct = Metric::missing(Reason::tooFewSamples);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).bound, Bound::l1);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).confidence, Confidence::maybe);
  EXPECT_NE(boundOf(c, kFull, calibrated()).why.find("tensor"), std::string::npos);
  c.l1Pct = measured(95);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).confidence, Confidence::maybe) << "it may feed a tensor core";
  c.l1Pct = measured(10);
  c.fp32Pct = measured(95);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).confidence, Confidence::sure);
}

// Two multiprocessors of 132: whatever they do, the grid is the limit.
TEST(Bound, ATinyGridNeedsNoSamples) {
  KernelCounters c;
  for (Metric* m : {&c.occupancyPct, &c.smActivePct, &c.dramBytesPerSec, &c.issuePct, &c.l1Pct, &c.l2Pct,
                    &c.tensorPct, &c.fp64Pct})
    *m = Metric::missing(Reason::tooFewSamples);
  EXPECT_EQ(boundOf(c, {50'000, 132, 2}, calibrated()).bound, Bound::launch);
  EXPECT_EQ(boundOf(c, {50'000, 132, 60}, calibrated()).bound, Bound::notMeasured);
}

TEST(Bound, PackedHalfPrecisionIsFp32) {
  KernelCounters c = quiet();
  c.smActivePct = Metric::of(100);
  c.tensorPct = measured(94.1);
  c.fp32Pct = measured(93.6);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).bound, Bound::fp32);
  c.fp32Pct = measured(90);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).bound, Bound::tensor);
}

TEST(Bound, TheCacheThatFeedsAFullPipeIsNotTheLimit) {
  const auto with = [](double tensorPct, double l1Pct) {
    KernelCounters c = quiet();
    c.smActivePct = Metric::of(100);
    c.tensorPct = measured(tensorPct);
    c.l1Pct = measured(l1Pct);
    return boundOf(c, kFull, calibrated());
  };
  EXPECT_EQ(with(94, 95).bound, Bound::tensor);
  EXPECT_EQ(with(94, 95).confidence, Confidence::likely);
  EXPECT_NE(with(94, 95).why.find("L1"), std::string::npos) << "the other one is named";
  EXPECT_EQ(with(88, 95).bound, Bound::l1);
  EXPECT_EQ(with(58, 61).bound, Bound::l1) << "a pipe below 60 % bounds nothing";
}

TEST(Bound, ComputedCeilingsOfMemoryAreAtMostLikely) {
  KernelCounters c = quiet();
  c.dramBytesPerSec = measured(3.6e12, 0.01e12);
  Ceilings computed = calibrated();
  EXPECT_EQ(boundOf(c, kFull, computed).confidence, Confidence::sure);
  computed.source = CeilingSource::theoretical;
  EXPECT_EQ(boundOf(c, kFull, computed).confidence, Confidence::likely);
}

TEST(Bound, IssueSlotsOnlyWhereTheyAreClearlyBusierThanAnyPipe) {
  KernelCounters c = quiet();
  c.smActivePct = Metric::of(100);
  c.fp32Pct = measured(90);
  c.issuePct = measured(95);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).bound, Bound::fp32) << "each FMA takes a slot";
  c.fp32Pct = measured(50);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).bound, Bound::issue);
}

TEST(Bound, PipesCountForTheWholeGpu) {
  KernelCounters c = quiet();
  c.smActivePct = measured(48);
  c.tensorPct = measured(93);
  const KernelBound b = boundOf(c, {50'000, 132, 64}, calibrated());
  EXPECT_EQ(b.bound, Bound::launch) << "68 multiprocessors had nothing to do";
  EXPECT_NEAR(*b.sharePct, 100.0 * 64 / 132, 1e-9);
  EXPECT_EQ(b.shareOf, "132 SMs");
  EXPECT_EQ(b.why, "64 of 132 SMs get a block; most used: tensor 45 %");
  EXPECT_EQ(b.confidence, Confidence::sure);
  // The same arithmetic with every multiprocessor busy.
  c.smActivePct = measured(98);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).bound, Bound::tensor);
}

TEST(Bound, ASmallGridThatFillsTheMemoryIsBoundByMemory) {
  KernelCounters c = quiet();
  c.dramBytesPerSec = measured(3.6e12, 0.01e12);
  EXPECT_EQ(boundOf(c, {50'000, 132, 64}, calibrated()).bound, Bound::dram);
}

TEST(Bound, KernelsShorterThanALaunch) {
  const KernelBound b = boundOf(quiet(), {1400, 132, 132}, calibrated());
  EXPECT_EQ(b.bound, Bound::launch);
  EXPECT_FALSE(b.sharePct.has_value());
  EXPECT_THAT(b.why, HasSubstr("1.40 us long"));
  EXPECT_EQ(boundOf(quiet(), {3000, 132, 132}, calibrated()).bound, Bound::latency);
}

TEST(Bound, ShortKernelsWithoutSamplesAreStillShort) {
  KernelCounters none;
  for (Metric* m : {&none.occupancyPct, &none.smActivePct, &none.dramBytesPerSec, &none.issuePct})
    *m = Metric::missing(Reason::tooFewSamples);
  EXPECT_EQ(boundOf(none, {1400, 132, 132}, calibrated()).bound, Bound::launch);
  const KernelBound longer = boundOf(none, {50'000, 132, 20}, calibrated());
  EXPECT_EQ(longer.bound, Bound::notMeasured) << "what it would do on 20 SMs nobody measured";
  EXPECT_EQ(longer.reason, Reason::tooFewSamples);
}

TEST(Bound, WithoutCountersNothingIsGuessed) {
  for (const Reason why :
       {Reason::notRequested, Reason::noPermission, Reason::gpuShared, Reason::countersBusy}) {
    KernelCounters none;
    for (Metric* m : {&none.occupancyPct, &none.smActivePct, &none.dramBytesPerSec, &none.issuePct})
      *m = Metric::missing(why);
    const KernelBound b = boundOf(none, {1400, 132, 64}, calibrated());
    EXPECT_EQ(b.bound, Bound::notMeasured);
    EXPECT_EQ(b.reason, why);
    EXPECT_FALSE(b.sharePct || b.flopPerSec || b.flopPerByte);
  }
}

TEST(Bound, NothingBusyIsSaidOnlyOfWhatWasMeasured) {
  KernelCounters c = quiet();
  EXPECT_EQ(boundOf(c, kFull, calibrated()).confidence, Confidence::sure);
  c.l1Pct = Metric::missing(Reason::notRecorded);
  const KernelBound b = boundOf(c, kFull, calibrated());
  EXPECT_EQ(b.bound, Bound::latency);
  EXPECT_EQ(b.confidence, Confidence::maybe);
  EXPECT_THAT(b.why, HasSubstr("not measured: L1 cache"));
  // A tensor core takes few instructions: counters that the run had, but not while this kernel ran, prove
  // nothing.
  c.tensorPct = Metric::missing(Reason::tooFewSamples);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).bound, Bound::notMeasured);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).reason, Reason::tooFewSamples);
  c.tensorPct = measured(10);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).bound, Bound::latency);
  c.issuePct = Metric::missing(Reason::tooFewSamples);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).bound, Bound::notMeasured);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).reason, Reason::tooFewSamples);
  // A unit that is busy bounds the kernel whatever the others did.
  c.fp64Pct = measured(95);
  EXPECT_EQ(boundOf(c, kFull, calibrated()).bound, Bound::fp64);
}

TEST(Bound, WithoutACeilingMemoryHasNoShare) {
  KernelCounters c = quiet();
  c.dramBytesPerSec = measured(3.6e12);
  const KernelBound b = boundOf(c, kFull, std::nullopt);
  EXPECT_EQ(b.bound, Bound::notMeasured);
  EXPECT_EQ(b.reason, Reason::notRecorded);
  EXPECT_FALSE(b.flopPerSec.has_value());
}

}  // namespace
}  // namespace warpmeter::analyzer
