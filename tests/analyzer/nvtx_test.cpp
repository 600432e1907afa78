// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "support/view_of.h"
#include "warpmeter/analyzer/nvtx_summary.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using support::viewOf;

const NvtxSummaryRow& row(const ProfileView& view, const NvtxSummary& summary, std::string_view text) {
  for (const NvtxSummaryRow& r : summary.rows) {
    if (view.name(r.text) == text) return r;
  }
  throw std::runtime_error("no row " + std::string(text));
}

// docs/metrics.md, "NVTX ranges": the worked example.
TEST(NvtxSummary, WorkedExample) {
  const ProfileView view = viewOf(R"(
    domain 1 3 lib
    nvtx 1 step 0..100
    nvtx 1 step 200..320
    nvtx 1 inner 10..50
    nvtx 1 step 10..50 domain=3
    nvtx 1 here 60 mark
    api 1 cudaLaunchKernel_v7000 20..25 corr=1
    kernel 1 a 90..110 corr=1
    api 1 cudaLaunchKernel_v7000 60..65 corr=2
    kernel 1 b 120..150 corr=2
    api 1 cudaLaunchKernel_v7000 150..155 corr=3
    kernel 1 a 160..165 corr=3
    api 1/2 cudaLaunchKernel_v7000 30..35 corr=4
    kernel 1 a 40..41 corr=4 stream=8
    kernel 1 a 400..401 corr=99
  )");
  const NvtxSummary s = must(summarizeNvtx(view));
  const NvtxSummaryRow& step = s.rows.front();
  EXPECT_EQ(view.name(step.text), "step");
  EXPECT_EQ(step.domain, 0u);
  EXPECT_EQ(step.time.count, 2);
  EXPECT_EQ(step.time.totalNs, 220);
  EXPECT_EQ(step.time.medianNs, 110);
  EXPECT_EQ(step.kernels, 2);
  EXPECT_EQ(step.kernelNs, 50);
  EXPECT_EQ(step.projectedNs, 60);  // 90 to 150
  EXPECT_EQ(row(view, s, "inner").kernels, 1);
  EXPECT_EQ(row(view, s, "inner").projectedNs, 20);
  EXPECT_EQ(row(view, s, "here").marks, 1);
  EXPECT_EQ(row(view, s, "here").time.count, 0);
  EXPECT_EQ(s.rows.size(), 4u) << "the same text in another domain is another row";
  EXPECT_EQ(s.kernelsOutside, 2);
  EXPECT_EQ(s.kernelsUnlinked, 1);
}

TEST(NvtxSummary, AKernelCountsOnceInRecursiveRanges) {
  const ProfileView view = viewOf(R"(
    nvtx 1 f 0..100
    nvtx 1 f 10..90
    api 1 cudaLaunchKernel_v7000 20..25 corr=1
    kernel 1 a 30..40 corr=1
  )");
  const NvtxSummary s = must(summarizeNvtx(view));
  EXPECT_EQ(s.rows.at(0).kernels, 1);
  EXPECT_EQ(s.rows.at(0).kernelNs, 10);
}

TEST(NvtxSummary, StartEndRangesHoldTheWorkOfAllThreadsOfTheProcess) {
  const ProfileView view = viewOf(R"(
    nvtx 1 async 0..100 startend
    api 1/2 cudaLaunchKernel_v7000 20..25 corr=1
    kernel 1 a 30..40 corr=1
    api 2 cudaLaunchKernel_v7000 20..25 corr=1
    kernel 2 a 50..60 corr=1
  )");
  const NvtxSummary s = must(summarizeNvtx(view));
  EXPECT_EQ(s.rows.at(0).kernels, 1);
  EXPECT_EQ(s.rows.at(0).projectedNs, 10);
  EXPECT_EQ(s.kernelsOutside, 1);
}

// Against every range and every launch.
TEST(NvtxSummary, EqualsBruteForceOnRandomNests) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    std::mt19937 random(seed);
    std::string text;
    std::vector<std::array<int, 3>> ranges;    // text, begin, end
    std::vector<std::array<int, 3>> launches;  // call, begin, end
    std::vector<std::array<int, 2>> todo{{0, 1000}};
    while (!todo.empty() && ranges.size() < 60) {
      const auto [begin, end] = todo.back();
      todo.pop_back();
      const int name = static_cast<int>(random() % 5);
      ranges.push_back({name, begin, end});
      text += fmt::format("nvtx 1 n{} {}..{}\n", name, begin, end);
      const int middle = (begin + end) / 2;
      if (end - begin > 20 && random() % 4 != 0) todo.push_back({begin + 1, middle});
      if (end - begin > 20 && random() % 4 != 0) todo.push_back({middle, end - 1});
    }
    for (int i = 1; i <= 40; ++i) {
      const int call = static_cast<int>(random() % 1100), begin = call + static_cast<int>(random() % 50);
      launches.push_back({call, begin, begin + static_cast<int>(random() % 20)});
      text += fmt::format("api 1 cudaLaunchKernel_v7000 {}..{} corr={}\nkernel 1 k {}..{} corr={}\n", call,
                          call, i, begin, launches.back()[2], i);
    }
    const ProfileView view = viewOf(text);
    const NvtxSummary s = must(summarizeNvtx(view));
    for (int name = 0; name < 5; ++name) {
      std::int64_t total = 0, count = 0, kernels = 0, kernelNs = 0, projected = 0;
      std::vector<bool> counted(launches.size());
      for (const auto& r : ranges) {
        if (r[0] != name) continue;
        ++count;
        total += r[2] - r[1];
        int first = 1 << 30, last = -1;
        for (std::size_t l = 0; l < launches.size(); ++l) {
          if (launches[l][0] < r[1] || launches[l][0] >= r[2]) continue;
          first = std::min(first, launches[l][1]), last = std::max(last, launches[l][2]);
          if (counted[l]) continue;
          counted[l] = true;
          ++kernels;
          kernelNs += launches[l][2] - launches[l][1];
        }
        if (last >= 0) projected += last - first;
      }
      if (count == 0) continue;
      const NvtxSummaryRow& r = row(view, s, fmt::format("n{}", name));
      EXPECT_EQ(r.time.count, count);
      EXPECT_EQ(r.time.totalNs, total);
      EXPECT_EQ(r.kernels, kernels) << "seed " << seed;
      EXPECT_EQ(r.kernelNs, kernelNs);
      EXPECT_EQ(r.projectedNs, projected);
    }
  }
}

}  // namespace
}  // namespace warpmeter::analyzer
