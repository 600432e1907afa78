// SPDX-License-Identifier: Apache-2.0
// Which reference a kernel is held against, and what it says where there is none. The worked example of
// docs/metrics.md, "References", is here.
#include "warpmeter/analyzer/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/view_of.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using ::testing::HasSubstr;

Metric measured(double value) {
  return {value, value - 0.1, value + 0.1, 100, Provenance::sampledExclusive, std::nullopt};
}

ReferenceResult memory(std::string program, Access access, double bytesPerSec) {
  ReferenceResult r;
  r.program = std::move(program);
  r.variant = "good";
  r.bound = Bound::dram;
  r.precision = "fp32";
  r.access = access;
  r.launchNs = 1e6;
  r.bytesPerSec = bytesPerSec;
  return r;
}

ReferenceResult compute(Bound bound, std::string precision, double flopPerSec, double own = 0) {
  ReferenceResult r;
  r.program = "of_" + precision;
  r.variant = "good";
  r.bound = bound;
  r.precision = std::move(precision);
  r.launchNs = 1e6;
  r.flopPerSec = flopPerSec;
  if (own > 0) r.ownCeiling = own;
  return r;
}

// Ceilings of the worked example.
std::optional<Ceilings> ceilings() {
  return Ceilings{4e12, 60e12, 30e12, 800e12, CeilingSource::calibrated, "calibrated on this GPU"};
}

std::vector<ReferenceSet> references() {
  ReferenceSet shipped{"", "NVIDIA H200", "shipped for H200", {}};
  shipped.results = {memory("copy", Access::mixed, 3.96e12),
                     memory("slow_copy", Access::mixed, 2e12),
                     memory("reduce", Access::read, 3.8e12),
                     compute(Bound::fp32, "fp32", 57e12),
                     compute(Bound::fp32, "fp16", 59e12),
                     compute(Bound::tensor, "bf16", 640e12),
                     compute(Bound::tensor, "int8", 1200e12, 2000e12)};
  return {shipped};
}

// One kernel "k0", "k1", ... for each bound, the first with most time.
struct Profile {
  ProfileView view;
  KernelSummary kernels;
  CounterSummary counters;
  BoundSummary bounds;
};
Profile profile(const std::vector<Bound>& bound,
                const std::string& gpu = "name=\"NVIDIA H200\" uuid=GPU-mine") {
  std::string text = "gpu 0 " + gpu + " cc=9.0 sms=132\n";
  std::int64_t at = 0;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    const auto length = static_cast<std::int64_t>(1000 - i);
    text += "kernel 1 k" + std::to_string(i) + " " + std::to_string(at) + "us.." +
            std::to_string(at + length) + "us grid=1000 block=256\n";
    at += length;
  }
  Profile p{support::viewOf(text), {}, {}, {}};
  p.kernels = must(summarizeKernels(p.view));
  p.bounds.ceilings = {ceilings()};
  p.counters.quality.any = true;
  p.counters.kernels.resize(bound.size());
  p.bounds.kernels.resize(bound.size());
  for (std::size_t i = 0; i < bound.size(); ++i) {
    p.counters.kernels[i].distinct = static_cast<std::uint32_t>(i);
    p.counters.kernels[i].dramReadBytes = p.counters.kernels[i].dramWriteBytes = measured(5e8);
    p.bounds.kernels[i].bound = bound[i];
    if (bound[i] != Bound::notMeasured) p.bounds.kernels[i].sharePct = 66;
  }
  return p;
}
ComparisonSummary compare(const Profile& p, const std::vector<ReferenceSet>& known, std::size_t top = 10) {
  return compareWithReferences(p.view, p.kernels, p.counters, p.bounds, known, top);
}
KernelComparison one(const Profile& p, const std::vector<ReferenceSet>& known) {
  auto all = compare(p, known);
  EXPECT_EQ(all.kernels.size(), 1u);
  return all.kernels.at(0);
}

// Worked example "References" of docs/metrics.md: DRAM 66 % where copy has 3.96 of 4 TB/s = 99 %.
TEST(References, WorkedExample) {
  const auto k = one(profile({Bound::dram}), references());
  ASSERT_TRUE(k.reference);
  EXPECT_EQ(k.reference->program, "copy") << "the highest share of the class";
  EXPECT_EQ(k.access, Access::mixed);
  EXPECT_DOUBLE_EQ(k.referenceShare.pct, 99);
  EXPECT_EQ(k.referenceShare.of, "DRAM 4.00 TB/s");
  EXPECT_EQ(k.referenceShare.source, CeilingSource::calibrated);
  ASSERT_TRUE(k.reachedPct);
  EXPECT_NEAR(*k.reachedPct, 100 * 66.0 / 99, 1e-9);
  EXPECT_EQ(k.why, "");
}

TEST(References, AccessIsNineTenthsOfTheTraffic) {
  auto p = profile({Bound::dram});
  auto& c = p.counters.kernels[0];
  c.dramReadBytes = measured(90), c.dramWriteBytes = measured(10);
  EXPECT_EQ(one(p, references()).access, Access::read);
  EXPECT_EQ(one(p, references()).reference->program, "reduce");
  c.dramReadBytes = measured(89), c.dramWriteBytes = measured(11);
  EXPECT_EQ(one(p, references()).access, Access::mixed);
  c.dramReadBytes = measured(10), c.dramWriteBytes = measured(90);
  const auto writes = one(p, references());
  EXPECT_EQ(writes.access, Access::write);
  EXPECT_FALSE(writes.reference) << "no program of that class: not one of another class";
  EXPECT_THAT(writes.why, HasSubstr("DRAM, write"));
}

TEST(References, AnUnknownClassIsSaidAndNotGuessed) {
  auto p = profile({Bound::dram});
  p.counters.kernels[0].dramWriteBytes = Metric::missing(Reason::tooFewSamples);
  const auto k = one(p, references());
  EXPECT_FALSE(k.access);
  EXPECT_FALSE(k.reference);
  EXPECT_THAT(k.why, HasSubstr("not both measured"));
}

TEST(References, PrecisionOfAPipeAndTheTensorPipesUnknownOne) {
  const auto fp32 = one(profile({Bound::fp32}), references());
  ASSERT_TRUE(fp32.reference);
  EXPECT_EQ(fp32.reference->precision, "fp32") << "not fp16, which has the higher rate";
  EXPECT_DOUBLE_EQ(fp32.referenceShare.pct, 95);
  EXPECT_EQ(fp32.referenceShare.of, "FP32 60.0 TFLOP/s");
  const auto tensor = one(profile({Bound::tensor}), references());
  ASSERT_TRUE(tensor.reference);
  EXPECT_EQ(tensor.precision, "");
  EXPECT_EQ(tensor.reference->precision, "bf16") << "80 % of its ceiling, int8 60 % of its own";
  EXPECT_THAT(tensor.why, HasSubstr("counters do not tell"));
}

TEST(References, NoBoundNoComparison) {
  const auto all =
      compare(profile({Bound::notMeasured, Bound::dram, Bound::latency, Bound::l2}), references());
  EXPECT_EQ(all.withoutBound, 1u);
  ASSERT_EQ(all.kernels.size(), 3u);
  EXPECT_TRUE(all.kernels[0].reference);
  for (const auto i : {1u, 2u}) {
    EXPECT_FALSE(all.kernels[i].reference);
    EXPECT_FALSE(all.kernels[i].reachedPct);
    EXPECT_THAT(all.kernels[i].why, HasSubstr("no reference: "));
  }
}

TEST(References, TheTopOnesWithABound) {
  const std::vector<Bound> many(12, Bound::dram);
  EXPECT_EQ(compare(profile(many), references()).kernels.size(), 10u);
  const auto two =
      compare(profile({Bound::dram, Bound::notMeasured, Bound::dram, Bound::dram}), references(), 2);
  ASSERT_EQ(two.kernels.size(), 2u);
  EXPECT_EQ(two.kernels[0].function, 0u);
  EXPECT_EQ(two.kernels[1].function, 2u);
}

TEST(References, OwnResultsFirstThenTheModelsThenNone) {
  auto known = references();
  known.push_back({"GPU-other", "NVIDIA H200", "another GPU", {memory("foreign", Access::mixed, 3.99e12)}});
  EXPECT_EQ(one(profile({Bound::dram}), known).reference->program, "copy");
  known.push_back({"GPU-mine", "NVIDIA H200", "measured on this GPU", {memory("own", Access::mixed, 3e12)}});
  EXPECT_EQ(one(profile({Bound::dram}), known).reference->program, "own");
  EXPECT_EQ(compare(profile({Bound::dram}), known).from, std::vector<std::string>{"measured on this GPU"});
  const auto none = one(profile({Bound::dram}, "name=\"NVIDIA L4\" uuid=GPU-l4"), known);
  EXPECT_FALSE(none.reference);
  EXPECT_TRUE(none.noResults);
  EXPECT_THAT(none.why, HasSubstr("no results of NVIDIA L4; `warpmeter kernels run`"));
}

TEST(References, SharesNeedARateAndACeiling) {
  auto r = memory("copy", Access::mixed, 3e12);
  EXPECT_FALSE(shareOf(r, std::nullopt));
  r.ownCeiling = 4.8e12;
  const auto own = shareOf(r, std::nullopt);
  ASSERT_TRUE(own);
  EXPECT_DOUBLE_EQ(own->pct, 62.5);
  EXPECT_EQ(own->source, CeilingSource::theoretical);
  EXPECT_DOUBLE_EQ(shareOf(r, ceilings())->pct, 75) << "a measured ceiling comes first";
  r.bytesPerSec.reset();
  r.flopPerSec = 1e12;
  EXPECT_FALSE(shareOf(r, ceilings())) << "operations are no share of DRAM";
  const auto int8 = shareOf(compute(Bound::tensor, "int8", 1000e12, 2000e12), ceilings());
  ASSERT_TRUE(int8);
  EXPECT_DOUBLE_EQ(int8->pct, 50) << "not of the BF16 ceiling";
  EXPECT_EQ(int8->of, "INT8 2000 TFLOP/s");
}

}  // namespace
}  // namespace warpmeter::analyzer
