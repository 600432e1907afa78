// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "warpmeter/analyzer/api_kinds.h"
#include "warpmeter/analyzer/names.h"
#include "warpmeter/analyzer/statistics.h"

namespace warpmeter::analyzer {
namespace {

TEST(Format, ThreeDigitsAndAUnit) {
  EXPECT_EQ(formatTime(0), "0 ns");
  EXPECT_EQ(formatTime(999), "999 ns");
  EXPECT_EQ(formatTime(1000), "1.00 us");
  EXPECT_EQ(formatTime(999'999), "1.00 ms");
  EXPECT_EQ(formatTime(266'400), "266 us");
  EXPECT_EQ(formatTime(3'190'000'000), "3.19 s");
  EXPECT_EQ(formatTime(4'000'000'000'000), "4000 s");
  EXPECT_EQ(formatTime(-1500), "-1.50 us");
  EXPECT_EQ(formatBytes(4'100'000'000), "4.10 GB");
  EXPECT_EQ(formatBytes(12), "12 B");
  EXPECT_EQ(formatRate(9.96e9), "9.96 GB/s");
  EXPECT_EQ(formatRate(9.999e9), "10.0 GB/s");
  EXPECT_EQ(formatCount(85240), "85 240");
  EXPECT_EQ(formatCount(999), "999");
  EXPECT_EQ(formatCount(-1234567), "-1 234 567");
}

TEST(Format, OnlyAllIsHundredPercent) {
  EXPECT_EQ(formatPercent(99.99), "99.9 %");
  EXPECT_EQ(formatPercent(100), "100 %");
  EXPECT_EQ(formatPercent(41.24), "41.2 %");
}

TEST(ShortKernelName, IsTheIdentifier) {
  EXPECT_EQ(shortKernelName("void at::native::elementwise_kernel<4, at::Op<int>>(int, at::Op<int>)"),
            "elementwise_kernel");
  EXPECT_EQ(shortKernelName("saxpy(int, float, float const*, float*)"), "saxpy");
  EXPECT_EQ(shortKernelName("void (anonymous namespace)::softmax<float>(float*)"), "softmax");
  EXPECT_EQ(shortKernelName("void at::(anonymous namespace)::topk<float, 1>(int)"), "topk");
  EXPECT_EQ(shortKernelName("triton_poi_fused_add_0"), "triton_poi_fused_add_0");
  EXPECT_EQ(shortKernelName("sm90_xmma_gemm_bf16"), "sm90_xmma_gemm_bf16");
  EXPECT_EQ(shortKernelName(""), "");
  EXPECT_EQ(shortKernelName("weird name, with [things]"), "weird name, with [things]");
}

TEST(ApiNames, BaseAndKind) {
  EXPECT_EQ(apiBaseName("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
  EXPECT_EQ(apiBaseName("cuMemAlloc_v2"), "cuMemAlloc");
  EXPECT_EQ(apiBaseName("cuInit"), "cuInit");
  EXPECT_EQ(apiBaseName("my_value"), "my_value");
  EXPECT_EQ(apiKindOf("cudaLaunchKernelExC_v11060"), ApiKind::launch);
  EXPECT_EQ(apiKindOf("cudaGraphLaunch_v10000"), ApiKind::launch);
  EXPECT_EQ(apiKindOf("cudaGraphInstantiate_v12000"), ApiKind::graph);
  EXPECT_EQ(apiKindOf("cudaStreamSynchronize_v3020"), ApiKind::sync);
  EXPECT_EQ(apiKindOf("cudaStreamCreate_v3020"), ApiKind::stream);
  EXPECT_EQ(apiKindOf("cudaMemcpyAsync_v3020"), ApiKind::copy);
  EXPECT_EQ(apiKindOf("cuMemsetD8_v2"), ApiKind::memset);
  EXPECT_EQ(apiKindOf("cuMemAlloc_v2"), ApiKind::memory);
  EXPECT_EQ(apiKindOf("cuLibraryLoadData"), ApiKind::moduleLoad);
  EXPECT_EQ(apiKindOf("cuDevicePrimaryCtxRetain"), ApiKind::context);
}

TEST(Statistics, EqualSortedOrderStatistics) {
  std::mt19937 random(1);
  for (std::size_t n = 1; n <= 60; ++n) {
    std::vector<std::int64_t> values(n);
    for (auto& v : values) v = static_cast<std::int64_t>(random() % 100);
    std::vector<std::int64_t> sorted = values;
    std::ranges::sort(sorted);
    const DurationStats s = statsOf(values);
    EXPECT_EQ(s.minNs, sorted.front());
    EXPECT_EQ(s.maxNs, sorted.back());
    EXPECT_EQ(s.medianNs, n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2);
    std::size_t rank = 1;
    while (static_cast<double>(rank) < 0.95 * static_cast<double>(n) - 1e-9) ++rank;
    EXPECT_EQ(s.p95Ns, sorted[rank - 1]) << n;
  }
  std::vector<std::int64_t> none;
  EXPECT_EQ(statsOf(none).count, 0);
}

template <class List>
void expectUnique(const List& list) {
  std::set<std::string_view> ids;
  for (const NamedText& n : list) {
    EXPECT_TRUE(ids.insert(n.id).second) << n.id;
    EXPECT_FALSE(n.text.empty()) << n.id;
  }
}

TEST(Names, ListsAreCompleteAndUnique) {
  expectUnique(kBounds);
  expectUnique(kLimiters);
  expectUnique(kProvenances);
  expectUnique(kReasons);
  expectUnique(kFindings);
  EXPECT_EQ(named(FindingId::copyPageable).id, "copy.pageable");
  EXPECT_EQ(named(FindingId::commExposed).id, "comm.exposed");
  EXPECT_EQ(named(FindingId::qualityUnknownLoss).id, "quality.unknown-loss");
  EXPECT_EQ(named(Bound::notMeasured).id, "not_measured");
  EXPECT_EQ(named(Limiter::sharedMemory).id, "shared_memory");
  EXPECT_EQ(reasonFromId("never_alone"), Reason::neverAlone);
  EXPECT_EQ(reasonFromId("nonsense"), std::nullopt);
  EXPECT_EQ(findingFromId("graph.candidate"), FindingId::graphCandidate);
}

}  // namespace
}  // namespace warpmeter::analyzer
