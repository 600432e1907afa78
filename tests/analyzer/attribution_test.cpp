// SPDX-License-Identifier: Apache-2.0
// Whether values and intervals are right, on simulated GPUs with fixed seeds. The long run:
// benchmarks/attribution_accuracy.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "support/attribution_cases.h"
#include "support/view_of.h"

namespace warpmeter::support {
namespace {

// Each schedule a few times; made once for all tests of this file.
const std::vector<Outcome>& outcomes() {
  static const std::vector<Outcome> all = [] {
    std::vector<Outcome> out;
    for (int s = 0; s < kSchedules; ++s) {
      for (std::uint64_t c = 0; c < 8; ++c) {
        const auto more = evaluate(static_cast<Schedule>(s), 100 * static_cast<std::uint64_t>(s) + c, 0.5);
        out.insert(out.end(), more.begin(), more.end());
      }
    }
    return out;
  }();
  return all;
}

template <class Keep>
std::vector<Outcome> where(Keep keep) {
  std::vector<Outcome> out;
  for (const Outcome& o : outcomes()) {
    if (keep(o)) out.push_back(o);
  }
  return out;
}

std::string describe(const Outcome& o) {
  return std::string(nameOf(o.schedule)) + ", " + std::string(nameOf(o.quantity)) + " of a kernel of " +
         std::to_string(o.kernelUs) + " us: error " + std::to_string(o.error) + ", interval " +
         std::to_string(o.width) + " wide, truth " + std::to_string(o.truth);
}

// Bounds that intervals of half or twice the width do not meet.
TEST(Attribution, IntervalsHoldTheTruthInNinetyToNinetyEightPercent) {
  const Coverage c = coverageOf(outcomes());
  ASSERT_GE(c.measured, 600u);
  EXPECT_GE(c.pct(c.covered), 90.0);
  EXPECT_LE(c.pct(c.covered), 98.0);
  EXPECT_LT(c.pct(c.byHalf), 90.0);
  EXPECT_GT(c.pct(c.byDouble), 98.0);
}

TEST(Attribution, NoQuantityHasIntervalsThatAreMuchTooNarrow) {
  for (const Quantity q : {Quantity::occupancy, Quantity::instructions, Quantity::dramRead}) {
    const Coverage c = coverageOf(where([&](const Outcome& o) { return o.quantity == q; }));
    EXPECT_GE(c.pct(c.covered), 88.0) << nameOf(q);
    EXPECT_LE(c.pct(c.covered), 99.0) << nameOf(q);
  }
}

TEST(Attribution, KernelsFromTwentyMicrosecondsOnWithinOnePointAndThreePercent) {
  const auto longer =
      where([](const Outcome& o) { return o.kernelUs >= 20 && o.schedule != Schedule::streams; });
  ASSERT_GE(longer.size(), 200u);
  for (const Outcome& o : longer) {
    ASSERT_TRUE(o.measured) << describe(o);
    EXPECT_LE(std::abs(o.error), o.quantity == Quantity::occupancy ? 1.0 : 3.0) << describe(o);
  }
}

TEST(Attribution, ShortKernelsWithinThreePointsAndFivePercentOrTheirInterval) {
  const auto shorter = where([](const Outcome& o) {
    return o.kernelUs >= 5 && o.kernelUs < 20 && o.schedule != Schedule::streams && o.launches >= 1000;
  });
  ASSERT_GE(shorter.size(), 100u);
  std::size_t narrow = 0;
  for (const Outcome& o : shorter) {
    ASSERT_TRUE(o.measured) << describe(o);
    const double most = o.quantity == Quantity::occupancy ? 3.0 : 5.0;
    EXPECT_TRUE(std::abs(o.error) <= most || o.covered()) << describe(o);
    narrow += o.width <= 10;
  }
  EXPECT_GE(static_cast<double>(narrow), 0.8 * static_cast<double>(shorter.size()));
}

TEST(Attribution, OverlappingStreamsHaveAmountsThatAddUp) {
  const auto amounts = where([](const Outcome& o) {
    return o.schedule == Schedule::streams && o.quantity == Quantity::instructions;
  });
  ASSERT_GE(amounts.size(), 40u);
  std::size_t measured = 0;
  for (const Outcome& o : amounts) {
    measured += o.measured;
    if (!o.measured) continue;
    EXPECT_TRUE(std::abs(o.error) <= 5 || o.covered(2)) << describe(o);
  }
  EXPECT_GE(measured * 10, amounts.size() * 9);
}

// Launches longer than a burst that end slowly: where a burst falls decides what it sees.
TEST(Attribution, FewShortBurstsOfLongLaunchesHaveWideIntervalsOrNone) {
  std::size_t measured = 0, covered = 0, none = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SampleSimulator sim(seed);
    SimKernel kernel;
    kernel.name = "declining";
    kernel.us = 545, kernel.tailUs = 450, kernel.tailTo = 0.1;
    sim.add(kernel);
    while (sim.endOf(0) < 200'000'000) sim.launch(0, 0, 1);
    const std::vector<SimSet> sets{{{SimCounter::cycles, SimCounter::warps, SimCounter::inst}, 2000}};
    SimOptions options;
    options.burstMs = 0.3;
    options.pauseMs = std::array{100.0, 60.0, 25.0, 10.0}[seed % 4] + sim.uniform(0, 1);  // 2 to 20 bursts
    const auto batches = sim.sample(sets, options);
    const TempDir dir;
    writeSimulated(dir.path() / "long.wm.sqlite", sim, sets, batches);
    const auto summary = must(analyzer::summarizeCounters(viewOfFile(dir.path() / "long.wm.sqlite")));
    const analyzer::Metric& instructions = summary.kernels[0].instructions;
    if (!instructions.value) {
      EXPECT_EQ(instructions.reason, analyzer::Reason::tooFewSamples);
      ++none;
      continue;
    }
    ++measured;
    covered += *instructions.low <= sim.truth(0).inst && sim.truth(0).inst <= *instructions.high;
  }
  EXPECT_GE(measured, 20u);
  EXPECT_GE(none, 5u);
  EXPECT_GE(static_cast<double>(covered), 0.9 * static_cast<double>(measured))
      << covered << " of " << measured;
}

}  // namespace
}  // namespace warpmeter::support
