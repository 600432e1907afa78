// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/concurrency.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "support/view_of.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using support::viewOf;
using testing::ElementsAre;

Concurrency only(const ProfileView& view, const Limits& limits = {}) {
  auto all = must(concurrencyOf(view, limits));
  EXPECT_EQ(all.size(), 1u);
  return std::move(all.at(0));
}

// docs/metrics.md, "Concurrency": the worked example.
//   stream 7:  [0, 100)            [150, 200)
//   stream 8:       [50, 120)                  [230, 240) (copy)
TEST(Concurrency, WorkedExample) {
  const Concurrency c = only(viewOf(R"(
    kernel 10 a 0..100 stream=7
    kernel 10 b 50..120 stream=8
    kernel 10 a 150..200 stream=7
    memcpy 10 HtoD 230..240 bytes=4 stream=8
  )"));
  EXPECT_EQ(c.windowBeginNs, 0);
  EXPECT_EQ(c.windowNs(), 240);
  EXPECT_EQ(c.busyNs, 180);
  EXPECT_THAT(c.depthNs, ElementsAre(60, 130, 50));
  EXPECT_EQ(c.kernelNs, 170);
  EXPECT_EQ(c.copyNs, 10);
  EXPECT_EQ(c.bothNs, 0);
  ASSERT_EQ(c.streams.size(), 2u);
  EXPECT_EQ(c.streams[0].busyNs, 150);
  EXPECT_EQ(c.streams[1].busyNs, 80);
  EXPECT_EQ(c.overlapNs(0, 0), 150);
  EXPECT_EQ(c.overlapNs(0, 1), 50);
  EXPECT_EQ(c.overlapNs(1, 0), 50);
  EXPECT_EQ(c.overlapNs(1, 1), 80);
  EXPECT_EQ(c.gapCount, 2);
  EXPECT_EQ(c.gapNs, 60);
  EXPECT_TRUE(c.gaps.empty()) << "listed from 10 us only";
}

TEST(Concurrency, HalfOpenIntervalsThatTouchLeaveNoGapAndNoOverlap) {
  const Concurrency c = only(viewOf("kernel 1 a -20..10 stream=1\nkernel 1 a 10..20 stream=2"));
  EXPECT_EQ(c.windowNs(), 40);
  EXPECT_THAT(c.depthNs, ElementsAre(0, 40));
  EXPECT_EQ(c.gapCount, 0);
  EXPECT_EQ(c.overlapNs(0, 1), 0);
}

TEST(Concurrency, EmptyIntervalEndsNoGap) {
  const Concurrency c = only(viewOf("kernel 1 a 0..10\nkernel 1 a 50..50\nkernel 1 a 90..100"));
  EXPECT_EQ(c.gapCount, 1);
  EXPECT_EQ(c.gapNs, 80);
  EXPECT_EQ(c.operations, 3);
}

TEST(Concurrency, KernelsOfOneStreamMayOverlap) {
  const Concurrency c = only(viewOf("kernel 1 a 0..10 stream=3\nkernel 1 b 5..20 stream=3"));
  EXPECT_THAT(c.depthNs, ElementsAre(0, 15, 5));
  EXPECT_EQ(c.streams.at(0).busyNs, 20);
  EXPECT_EQ(c.overlapNs(0, 0), 20);
}

TEST(Concurrency, GpusAreApartAndProcessesTogether) {
  const ProfileView view = viewOf(R"(
    gpu 0 name=A
    gpu 1 name=B
    kernel 1 a 0..10 gpu=0
    kernel 2 a 5..20 gpu=0
    kernel 1 a 0..40 gpu=1
    untimed 1 a gpu=1
  )");
  const auto all = must(concurrencyOf(view));
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].busyNs, 20);
  EXPECT_EQ(all[0].overlapNs(0, 1), 5);
  EXPECT_EQ(all[0].untimed, 0);
  EXPECT_EQ(all[1].busyNs, 40);
  EXPECT_EQ(all[1].untimed, 1);
  EXPECT_EQ(must(concurrencyOfAll(view))->busyNs, 40);
}

// More streams than the matrix takes, all running at once: each gets its own time.
TEST(Concurrency, BusyTimeOfManyStreamsThatRunTogether) {
  std::string profile = "process 1 name=app start=0 exit=1s\n";
  constexpr int kStreams = static_cast<int>(kMaxMatrixStreams) + 88;
  for (int i = 0; i < kStreams; ++i) {
    profile += "kernel 1 k " + std::to_string(i) + ".." + std::to_string(10'000 + 2 * i) + " stream=" + std::to_string(i + 7) + "\n";
    if (i % 2) profile += "kernel 1 k 20000..20010 stream=" + std::to_string(i + 7) + "\n";
  }
  const auto all = must(concurrencyOf(viewOf(profile)));
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].streams.size(), static_cast<std::size_t>(kStreams));
  EXPECT_TRUE(all[0].matrixNs.empty());
  for (int i = 0; i < kStreams; ++i) EXPECT_EQ(all[0].streams[static_cast<std::size_t>(i)].busyNs, 10'000 + i + (i % 2) * 10) << i;
}

TEST(Concurrency, NothingRanIsNoEntry) {
  const ProfileView view = viewOf("api 1 cudaFree_v3020 0..10 corr=1");
  EXPECT_TRUE(must(concurrencyOf(view)).empty());
  EXPECT_FALSE(must(concurrencyOfAll(view)).has_value());
}

// The thread that brings the next kernel: in cudaStreamSynchronize until 130, in no call until 150, in
// cudaMalloc until 170, in no call until 180, launching until the kernel starts at 200. The gap begins at
// 100.
TEST(Concurrency, IdleTimeIsSharedOutByWhatTheLaunchingThreadDid) {
  Limits limits;
  limits.gapListedNs = 50;
  const ProfileView view = viewOf(R"(
    api 1 cudaLaunchKernel_v7000 0..5 corr=1
    kernel 1 a 10..100 corr=1
    api 1 cudaStreamSynchronize_v3020 20..130 corr=2
    api 1/2 cudaDeviceSynchronize_v3020 100..200 corr=9
    api 1 cudaMalloc_v3020 150..170 corr=3
    api 1 cuMemAlloc_v2 152..168 corr=3 driver
    api 1 cudaLaunchKernel_v7000 180..190 corr=4
    kernel 1 a 200..210 corr=4
  )");
  const Concurrency c = only(view, limits);
  std::map<std::string, std::int64_t> idle;
  for (const IdlePart& p : c.idle) idle[fmt::format("{} {}", idOf(p.cause), view.name(p.api))] = p.ns;
  EXPECT_EQ(idle, (std::map<std::string, std::int64_t>{{"sync cudaStreamSynchronize_v3020", 30},
                                                       {"host ", 30},
                                                       {"api cudaMalloc_v3020", 20},
                                                       {"launching ", 20}}));
  ASSERT_EQ(c.gaps.size(), 1u);
  EXPECT_EQ(c.gaps[0].startNs, 100);
  EXPECT_EQ(c.gaps[0].endNs, 200);
}

TEST(Concurrency, WorkLaunchedBeforeTheGapWasQueuedAndAnUnrecordedCallIsUnknown) {
  const Concurrency c = only(viewOf(R"(
    api 1 cudaLaunchKernel_v7000 0..5 corr=1
    kernel 1 a 10..100 corr=1
    api 1 cudaLaunchKernel_v7000 5..110 corr=2
    kernel 1 a 140..150 corr=2
    kernel 1 a 170..180 corr=3
  )"));
  ASSERT_EQ(c.idle.size(), 3u);
  EXPECT_EQ(c.idle[0].cause, IdleCause::queued);
  EXPECT_EQ(c.idle[0].ns, 30);
  EXPECT_EQ(c.idle[1].cause, IdleCause::unknown);
  EXPECT_EQ(c.idle[1].ns, 20);
  EXPECT_EQ(c.idle[2].cause, IdleCause::launching);
  EXPECT_EQ(c.idle[2].ns, 10);
}

// Against one nanosecond after the other.
TEST(Concurrency, EqualsBruteForceOnRandomData) {
  constexpr int kStreams = 4, kHorizon = 400;
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    std::string text;
    std::vector<std::array<int, 4>> ops;  // begin, end, stream, copy
    for (int i = 0; i < 30; ++i) {
      const int begin = static_cast<int>(random() % (kHorizon - 60)),
                length = static_cast<int>(random() % 30);
      const int stream = static_cast<int>(random() % kStreams), copy = random() % 4 == 0;
      ops.push_back({begin, begin + length, stream, copy});
      text += copy ? fmt::format("memset 1 {}..{} bytes=1 stream={}\n", begin, begin + length, stream)
                   : fmt::format("kernel 1 k {}..{} stream={}\n", begin, begin + length, stream);
    }
    const Concurrency c = only(viewOf(text));
    int first = kHorizon, last = 0;
    for (const auto& op : ops) first = std::min(first, op[0]), last = std::max(last, op[1]);
    std::vector<std::int64_t> depth;
    std::array<std::array<std::int64_t, kStreams>, kStreams> matrix{};
    std::int64_t busy = 0, kernels = 0, copies = 0, both = 0, gaps = 0;
    bool idleBefore = false;
    for (int t = first; t < last; ++t) {
      std::array<int, kStreams> running{};
      std::size_t n = 0;
      int k = 0, m = 0;
      for (const auto& op : ops) {
        if (op[0] > t || t >= op[1]) continue;
        ++running[static_cast<std::size_t>(op[2])];
        ++n;
        (op[3] ? m : k) = 1;
      }
      if (depth.size() <= n) depth.resize(n + 1);
      ++depth[n];
      busy += n > 0, kernels += k, copies += m, both += k && m;
      gaps += n == 0 && !idleBefore;
      idleBefore = n == 0;
      for (std::size_t i = 0; i < kStreams; ++i) {
        for (std::size_t j = 0; j < kStreams; ++j) matrix[i][j] += running[i] && running[j];
      }
    }
    ASSERT_EQ(c.windowBeginNs, first);
    ASSERT_EQ(c.windowEndNs, last);
    ASSERT_EQ(c.depthNs, depth) << "seed " << seed;
    ASSERT_EQ(std::accumulate(c.depthNs.begin(), c.depthNs.end(), std::int64_t{0}), c.windowNs());
    ASSERT_EQ(c.busyNs, busy);
    ASSERT_EQ(c.kernelNs, kernels);
    ASSERT_EQ(c.copyNs, copies);
    ASSERT_EQ(c.bothNs, both);
    ASSERT_EQ(c.gapCount, gaps);
    ASSERT_EQ(c.gapNs, c.windowNs() - busy);
    ASSERT_EQ(c.streams.size(), static_cast<std::size_t>(kStreams));
    for (std::size_t i = 0; i < kStreams; ++i) {
      for (std::size_t j = 0; j < kStreams; ++j) ASSERT_EQ(c.overlapNs(i, j), matrix[i][j]) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace warpmeter::analyzer
