// SPDX-License-Identifier: Apache-2.0
// PC samples by stall reason and place, against counts and intervals worked out by hand.
#include "warpmeter/analyzer/stalls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/view_of.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using support::viewOf;
using ::testing::ElementsAre;

constexpr const char* kRun = R"(
process 1 name=a
process 2 name=b
gpu 0 cc=9.0 sms=132
kernel 1 gemm 0..1ms grid=100 block=128 mangled=_Z4gemmPf
kernel 1 gemm 1ms..2ms grid=200 block=128 mangled=_Z4gemmPf
kernel 2 gemm 2ms..3ms grid=200 block=128 mangled=_Z4gemmPf
kernel 1 tiny 3ms..4ms mangled=_Z4tinyv
kernel 1 never 4ms..5ms mangled=_Z5neverv
)";

// gemm: 1000 samples in all. Process 1: offset 416 at line 17, offset 32 without a line; process 2: line 17
// and 40.
constexpr const char* kPcs = R"(
pc 1 _Z4gemmPf 416 long_scoreboard             500 file=/src/deep/gemm.cu line=17
pc 1 _Z4gemmPf 416 long_scoreboard_not_issued  450 file=/src/deep/gemm.cu line=17
pc 1 _Z4gemmPf 416 selected                     40 file=/src/deep/gemm.cu line=17
pc 1 _Z4gemmPf  32 selected                     60
pc 1 _Z4gemmPf  32 wait                         90
pc 1 _Z4gemmPf  32 wait_not_issued              30
pc 2 _Z4gemmPf 416 long_scoreboard             110 file=/src/deep/gemm.cu line=40
pc 2 _Z4gemmPf 416 long_scoreboard_not_issued  110 file=/src/deep/gemm.cu line=40
pc 2 _Z4gemmPf 448 brand_new                   200 file=/src/deep/gemm.cu line=17
pc 1 _Z4tinyv    0 barrier                     399
pc 1 _Z6helperf 16 drain                        70
pc 1 _Z6helperf 16 drain_not_issued             70
)";

const KernelStalls& kernel(const ProfileView& view, const StallSummary& summary, std::string_view key) {
  for (std::size_t f = 0; f < view.functions().size(); ++f)
    if (view.name(view.functions()[f].key) == key) return summary.kernels[f];
  throw std::runtime_error("no such function");
}

TEST(Stalls, ReasonsAreCountedOnceAndAddUp) {
  const auto view = viewOf(std::string(kRun) + kPcs);
  const auto summary = must(summarizeStalls(view));
  EXPECT_TRUE(summary.any);
  EXPECT_FALSE(summary.reason);
  EXPECT_EQ(summary.samples, 1000 + 399 + 70);
  EXPECT_EQ(summary.elsewhere, 70) << "a called function";
  EXPECT_EQ(summary.measured, 1u);

  const KernelStalls& gemm = kernel(view, summary, "_Z4gemmPf");
  EXPECT_EQ(gemm.samples, 1000);
  EXPECT_FALSE(gemm.reason);
  std::vector<std::pair<std::string, std::int64_t>> counts;
  std::int64_t sum = 0;
  for (const StallShare& s : gemm.reasons) {
    counts.emplace_back(s.term, s.samples);
    sum += s.samples;
    EXPECT_DOUBLE_EQ(*s.sharePct.value, static_cast<double>(s.samples) / 10);
    EXPECT_EQ(s.sharePct.samples, 1000);
    EXPECT_EQ(s.sharePct.provenance, Provenance::pcSampled);
  }
  EXPECT_THAT(counts, ElementsAre(std::pair{"long scoreboard", 610}, std::pair{"brand new", 200},
                                  std::pair{"issuing", 100}, std::pair{"wait", 90}));
  EXPECT_EQ(sum, gemm.samples) << "not_issued is a part of its reason";
  EXPECT_EQ(gemm.reasons[0].words, "data from L1, L2 or DRAM");
  EXPECT_EQ(gemm.reasons[1].words, "") << "nobody knows what a new reason means";
  EXPECT_EQ(gemm.reasons[0].noIssue, 560);
  EXPECT_DOUBLE_EQ(*gemm.reasons[0].noIssuePct.value, 56);
  EXPECT_DOUBLE_EQ(*gemm.reasons[2].noIssuePct.value, 0) << "measured: CUPTI reports no zeros";
  EXPECT_EQ(gemm.issuing()->samples, 100);
  EXPECT_EQ(gemm.most()->id, "long_scoreboard");
}

TEST(Stalls, PlacesAreLinesAndElseInstructions) {
  const auto view = viewOf(std::string(kRun) + kPcs);
  const auto summary = must(summarizeStalls(view));
  const KernelStalls& gemm = kernel(view, summary, "_Z4gemmPf");
  std::vector<std::pair<std::string, std::int64_t>> places;
  for (const PcPlace& p : gemm.places) places.emplace_back(p.text(), p.samples);
  // Line 17: 540 of process 1 and 200 of process 2; the same offset is line 40 in that one's build.
  EXPECT_THAT(places, ElementsAre(std::pair{"gemm.cu:17", 740}, std::pair{"+0x20", 150},
                                  std::pair{"gemm.cu:40", 110}));
  EXPECT_EQ(gemm.allPlaces, 3u);
  EXPECT_EQ(gemm.places[0].mostly, "long scoreboard");
  EXPECT_EQ(gemm.places[1].mostly, "wait");
  EXPECT_DOUBLE_EQ(*gemm.places[0].sharePct.value, 74);
}

TEST(Stalls, ManyPlacesAreCutAndCounted) {
  std::string text = kRun;
  for (int i = 0; i < 30; ++i)
    text += "pc 1 _Z4gemmPf " + std::to_string(16 * i) + " wait " + std::to_string(100 + i) + "\n";
  const auto view = viewOf(text);
  const auto summary = must(summarizeStalls(view));
  const KernelStalls& gemm = kernel(view, summary, "_Z4gemmPf");
  ASSERT_EQ(gemm.places.size(), KernelStalls::kPlaces);
  EXPECT_EQ(gemm.allPlaces, 30u);
  EXPECT_EQ(gemm.places[0].samples, 129) << "the most first";
  EXPECT_EQ(gemm.samples, 30 * 100 + 29 * 30 / 2) << "of all places, not of those shown";
  ASSERT_FALSE(gemm.reasons.empty());
  EXPECT_EQ(gemm.reasons[0].noIssuePct.reason, Reason::notRecorded) << "no twin in the whole file";
}

TEST(Stalls, TooFewSamplesGiveCountsWithoutShares) {
  const auto view = viewOf(std::string(kRun) + kPcs);
  const auto summary = must(summarizeStalls(view));
  const KernelStalls& tiny = kernel(view, summary, "_Z4tinyv");
  EXPECT_EQ(tiny.samples, kPcSamplesMin - 1);
  EXPECT_EQ(tiny.reason, Reason::tooFewSamples);
  ASSERT_EQ(tiny.reasons.size(), 1u);
  EXPECT_FALSE(tiny.reasons[0].sharePct.value);
  EXPECT_EQ(tiny.reasons[0].sharePct.reason, Reason::tooFewSamples);
  EXPECT_EQ(tiny.reasons[0].samples, 399);
  EXPECT_EQ(kernel(view, summary, "_Z5neverv").reason, Reason::tooFewSamples);
  const auto one = must(summarizeStalls(viewOf(std::string(kRun) + kPcs + "pc 1 _Z4tinyv 0 wait 1\n")));
  EXPECT_EQ(one.measured, 2u) << "400 are enough";
}

TEST(Stalls, AFileThatKeptOnlyTheTwinIsNotCountedTwiceNorLost) {
  const auto view =
      viewOf(std::string(kRun) + "pc 1 _Z4gemmPf 16 wait_not_issued 500\npc 1 _Z4gemmPf 32 wait 100\n");
  const auto summary = must(summarizeStalls(view));
  EXPECT_EQ(kernel(view, summary, "_Z4gemmPf").samples, 600);
}

TEST(Stalls, CountsThatCannotBeAreLeftOutAndTold) {
  const auto view = viewOf(std::string(kRun) + kPcs +
                           "pc 1 _Z4gemmPf 32 wait 4611686018427387904\npc 1 _Z4gemmPf 48 wait -5\n"
                           "pcrun 1 0 period=1024 samples=1 dropped=9223372036854775807\n"
                           "pcrun 2 0 period=1024 samples=1 other=-3 dropped=7\n"
                           "pcrun 1 1 period=1024 samples=1 other=2 dropped=5\n");
  const auto summary = must(summarizeStalls(view));
  EXPECT_EQ(kernel(view, summary, "_Z4gemmPf").samples, 1000);
  EXPECT_EQ(summary.dropped, 5);
  EXPECT_EQ(summary.otherKernels, 2);
  ASSERT_EQ(view.losses().size(), 1u);
  EXPECT_EQ(view.losses()[0].kind, "implausible_counts");
  EXPECT_EQ(view.losses()[0].count, 2);
}

TEST(Stalls, WithoutPcSamplesThereIsAReason) {
  const auto none = must(summarizeStalls(viewOf(kRun)));
  EXPECT_FALSE(none.any);
  EXPECT_EQ(none.reason, Reason::notRequested);
  ASSERT_EQ(none.kernels.size(), 3u);
  EXPECT_EQ(none.kernels[0].reason, Reason::notRequested);
  const auto denied = must(summarizeStalls(viewOf(std::string("session counters=no_permission\n") + kRun)));
  EXPECT_EQ(denied.reason, Reason::noPermission);
}

TEST(Stalls, RunsSayHowOftenAndWhatWasDropped) {
  const std::string run = std::string(kRun) + kPcs;
  const auto none = must(summarizeStalls(viewOf(run)));
  EXPECT_FALSE(none.periodCycles);
  const auto same =
      must(summarizeStalls(viewOf(run + "pcrun 1 0 period=32768 samples=1500 other=20 dropped=11\npcrun 2 0 "
                                        "period=32768 samples=9 dropped=4\n")));
  EXPECT_EQ(same.periodCycles, 32768);
  EXPECT_EQ(same.dropped, 15);
  EXPECT_EQ(same.otherKernels, 20);
  const auto two = must(
      summarizeStalls(viewOf(run + "pcrun 1 0 period=32768 samples=1\npcrun 2 0 period=1024 samples=1\n")));
  EXPECT_FALSE(two.periodCycles) << "not the same everywhere";
  EXPECT_FALSE(must(summarizeStalls(viewOf(run + "pcrun 1 0 samples=1\n"))).periodCycles)
      << "CUPTI did not say";
}

// Wilson, z = 1.96: (p + z2/2n -+ z sqrt(p(1-p)/n + z2/4n2)) / (1 + z2/n). By hand for 61 of 100: z2
// = 3.8415, middle (0.61 + 0.019207) / 1.038415 = 0.605930; half 1.959964 sqrt(0.002379 + 0.00009604)
// / 1.038415 = 0.093900.
TEST(Stalls, IntervalsAreWilsons) {
  const Metric some = shareOfSamples(61, 100);
  EXPECT_DOUBLE_EQ(*some.value, 61);
  EXPECT_NEAR(*some.low, 51.203, 0.002);
  EXPECT_NEAR(*some.high, 69.983, 0.002);
  const Metric none = shareOfSamples(0, 400);  // z2 / (n + z2)
  EXPECT_EQ(*none.low, 0);
  EXPECT_NEAR(*none.high, 100 * 3.8415 / 403.8415, 1e-3);
  const Metric all = shareOfSamples(400, 400);
  EXPECT_NEAR(*all.low, 100 - 100 * 3.8415 / 403.8415, 1e-3);
  EXPECT_EQ(*all.high, 100);
  // What kPcSamplesMin promises: at most 10 points wide, and not with fewer by much.
  const Metric widest = shareOfSamples(kPcSamplesMin / 2, kPcSamplesMin);
  EXPECT_LE(*widest.high - *widest.low, 10);
  EXPECT_GT(*widest.high - *widest.low, 9.5);
}

}  // namespace
}  // namespace warpmeter::analyzer
