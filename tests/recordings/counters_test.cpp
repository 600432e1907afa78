// SPDX-License-Identifier: Apache-2.0
// Recordings with counters of bundled programs, made on an H200 (scripts/gpu/verify_counters.py), against
// what ncu said of the same programs there: tests/data/counters/ncu.txt.
#include "warpmeter/analyzer/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>

#include "support/recordings.h"
#include "warpmeter/analyzer/bound.h"
#include "warpmeter/analyzer/kernel_summary.h"

namespace warpmeter::analyzer {
namespace {

using tests::UnpackedRecording;

struct Truth {
  std::string recording, kernel;
  double occupancyPct = 0, dramRead = 0, dramWrite = 0, instructions = 0;
  bool exact() const { return recording.starts_with("exact."); }
};
void PrintTo(const Truth& truth, std::ostream* out) { *out << truth.recording; }

std::vector<Truth> truths() {
  std::ifstream in(tests::recordingsFolder() / "../counters/ncu.txt");
  std::vector<Truth> out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Truth t;
    words >> t.recording >> t.kernel >> t.occupancyPct >> t.dramRead >> t.dramWrite >> t.instructions;
    out.push_back(t);
  }
  return out;
}

// The distinct kernel of that name with most launches.
struct Found {
  std::shared_ptr<const UnpackedRecording> file;
  ProfileView view;
  KernelCounters counters;
  CounterQuality quality;
  double medianNs = 0;
};
Found find(const Truth& truth) {
  const auto file = std::make_shared<const UnpackedRecording>("../counters/" + truth.recording);
  Found out{file, file->view(), {}, {}, 0};
  const auto counters = summarizeCounters(out.view);
  const auto kernels = summarizeKernels(out.view);
  if (!counters || !kernels) throw std::runtime_error("the recording cannot be summarized");
  out.quality = counters->quality;
  for (const FunctionSummary& f : kernels->functions) {
    if (f.shortName != truth.kernel) continue;
    out.counters = counters->kernels[f.distinct.front().distinct];
    out.medianNs = static_cast<double>(f.distinct.front().time.medianNs);
    return out;
  }
  throw std::runtime_error("no kernel " + truth.kernel);
}

// Reasons: docs/accuracy.md, "What differs and why".
double allowedPoints(const Truth& truth) {
  if (truth.recording == "transpose.naive") return 1.6;  // another kernel beside CUPTI's tracing
  if (truth.recording == "fma.fp32") return 3;           // few bursts of a long kernel with a long tail
  return truth.exact() ? 0.5 : 1;
}

class AgainstNcu : public testing::TestWithParam<Truth> {};

TEST_P(AgainstNcu, OccupancyTrafficAndInstructions) {
  const Truth& truth = GetParam();
  const Found found = find(truth);
  const KernelCounters& c = found.counters;
  ASSERT_TRUE(c.occupancyPct.value.has_value());
  EXPECT_NEAR(*c.occupancyPct.value, truth.occupancyPct, allowedPoints(truth));
  EXPECT_LE(*c.occupancyPct.low, *c.occupancyPct.value);
  EXPECT_GE(*c.occupancyPct.high, *c.occupancyPct.value);
  if (truth.exact()) {
    EXPECT_EQ(c.occupancyPct.provenance, Provenance::ranged);
  } else {
    EXPECT_NE(c.occupancyPct.provenance, Provenance::ranged);
  }
  ASSERT_TRUE(c.instructions.value.has_value());
  EXPECT_NEAR(*c.instructions.value / truth.instructions, 1, truth.exact() ? 0.001 : 0.01);
  // 1 % of what the H200 copies in that time, or 3 %.
  const double slack = 0.01 * 4.26e12 * found.medianNs * 1e-9;
  ASSERT_TRUE(c.dramReadBytes.value.has_value());
  EXPECT_NEAR(*c.dramReadBytes.value, truth.dramRead, std::max(slack, 0.03 * truth.dramRead));
  if (c.dramWriteBytes.value) {
    // A range's own writes come on top: 2-9 MB.
    const double own = truth.exact() ? 10e6 : 0;
    EXPECT_NEAR(*c.dramWriteBytes.value, truth.dramWrite, std::max(slack, 0.03 * truth.dramWrite) + own);
  }
}
INSTANTIATE_TEST_SUITE_P(Recorded, AgainstNcu, testing::ValuesIn(truths()), [](const auto& test) {
  std::string name = test.param.recording;
  std::ranges::replace_if(
      name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

TEST(RecordedCounters, BoundsThatAShortRunCanProve) {
  const std::vector<std::pair<std::string, Bound>> expected = {
      {"copy.vector", Bound::dram},          {"small_grid.small", Bound::launch},
      {"latency.one-warp", Bound::latency},  {"exact.transpose.padded", Bound::dram},
      {"exact.reduce.shuffle", Bound::dram}, {"exact.fma.fp64", Bound::fp64}};
  for (const auto& [name, bound] : expected) {
    const auto all = truths();
    const auto truth = std::ranges::find(all, name, &Truth::recording);
    ASSERT_NE(truth, all.end()) << name;
    const Found found = find(*truth);
    const auto ceilings = ceilingsOf(found.view, 0);
    ASSERT_TRUE(ceilings.has_value());
    EXPECT_EQ(boundOf(found.view, found.counters, found.medianNs, ceilings).bound, bound) << name;
  }
}

// Another process copied all the time: its work must not become this kernel's.
TEST(RecordedCounters, ASharedGpuGivesNoNumbers) {
  const Found found = find({.recording = "shared", .kernel = "followKernel"});
  EXPECT_TRUE(found.quality.gpuShared);
  EXPECT_GT(found.quality.foreignPct, 90);
  EXPECT_FALSE(found.counters.occupancyPct.value.has_value());
  EXPECT_EQ(found.counters.occupancyPct.reason, Reason::gpuShared);
}

}  // namespace
}  // namespace warpmeter::analyzer
