// SPDX-License-Identifier: Apache-2.0
// Real nsys exports: the numbers were taken with SQL, not with this code.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/view_of.h"
#include "warpmeter/analyzer/analysis.h"
#include "warpmeter/analyzer/cold_start.h"
#include "warpmeter/analyzer/concurrency.h"
#include "warpmeter/analyzer/copies.h"
#include "warpmeter/analyzer/kernel_summary.h"
#include "warpmeter/analyzer/nvtx_summary.h"
#include "warpmeter/analyzer/run_summary.h"

namespace warpmeter::analyzer {
namespace {

using support::must;

struct Export {
  const char* file;
  std::int64_t kernels, kernelNs;
};

class NsysExport : public testing::TestWithParam<Export> {
 protected:
  std::filesystem::path path() const {
    return std::filesystem::path(WARPMETER_DATA_DIR) / "nsys" / GetParam().file;
  }
  void SetUp() override {
    if (!std::filesystem::exists(path())) GTEST_SKIP() << "needs " << path().string();
  }
};

TEST_P(NsysExport, TotalsAndSumsAgree) {
  const ProfileView view = support::viewOfFile(path());
  const KernelSummary summary = must(summarizeKernels(view));
  EXPECT_EQ(summary.timed, GetParam().kernels);
  EXPECT_EQ(summary.kernelTimeNs, GetParam().kernelNs);
  std::int64_t calls = 0, distinctCalls = 0;
  for (const FunctionSummary& f : summary.functions) {
    calls += f.time.count;
    for (const DistinctSummary& d : f.distinct) distinctCalls += d.time.count;
  }
  EXPECT_EQ(calls, summary.timed);
  EXPECT_EQ(distinctCalls, summary.timed);
  for (const Concurrency& c : must(concurrencyOf(view))) {
    std::int64_t depth = 0, idle = 0;
    for (const std::int64_t ns : c.depthNs) depth += ns;
    for (const IdlePart& p : c.idle) idle += p.ns;
    EXPECT_EQ(depth, c.windowNs());
    EXPECT_EQ(c.busyNs + c.gapNs, c.windowNs());
    EXPECT_EQ(idle, c.gapNs);
    EXPECT_EQ(c.busyNs, c.kernelNs + c.copyNs - c.bothNs);
  }
  for (const ColdStart& c : must(coldStartsOf(view))) {
    std::int64_t bars = 0;
    for (const ColdBar& b : c.bars) bars += b.ns.value_or(0);
    EXPECT_EQ(bars, c.totalNs());
    EXPECT_EQ(c.bars[static_cast<std::size_t>(ColdPhase::cuInit)].ns, std::nullopt);
  }
  const TimeBuckets t = must(summarizeRun(view)).time;
  EXPECT_EQ(t.startUpNs + t.busyNs + t.idleNs + t.shutDownNs, t.wallNs());
  must(findAll(view));
}

INSTANTIATE_TEST_SUITE_P(Files, NsysExport,
                         testing::Values(Export{"h100_2gpu_1s.sqlite", 3442, 44829522},
                                         Export{"a100_cloverleaf.sqlite", 1312, 294404540},
                                         Export{"rtx4060ti_streams.sqlite", 4, 536542},
                                         Export{"unversioned_2021.sqlite", 12, 6128761}),
                         [](const auto& each) {
                           const std::string name = each.param.file;
                           return name.substr(0, name.find('.'));
                         });

ProfileView open(const char* file) {
  return support::viewOfFile(std::filesystem::path(WARPMETER_DATA_DIR) / "nsys" / file);
}
bool present(const char* file) {
  return std::filesystem::exists(std::filesystem::path(WARPMETER_DATA_DIR) / "nsys" / file);
}

TEST(NsysExportDetails, CudaDeviceIsNotTheIdOfTheGpu) {
  if (!present("a100_cloverleaf.sqlite")) GTEST_SKIP() << "needs nsys/a100_cloverleaf.sqlite";
  const ProfileView view = open("a100_cloverleaf.sqlite");
  ASSERT_EQ(view.streams().size(), 1u);
  const GpuInfo& gpu = view.gpus()[view.streams()[0].gpu].info;
  EXPECT_EQ(gpu.cuDevice, 0);
  EXPECT_EQ(gpu.id, 3);
  const auto occupancy = must(occupancyOfDistinct(view, 0));
  EXPECT_EQ(occupancy.maxWarpsPerSm, 64);
}

TEST(NsysExportDetails, TwoProcessesOnTwoGpus) {
  if (!present("h100_2gpu_1s.sqlite")) GTEST_SKIP() << "needs nsys/h100_2gpu_1s.sqlite";
  const ProfileView view = open("h100_2gpu_1s.sqlite");
  EXPECT_EQ(must(concurrencyOf(view)).size(), 2u);
  std::int64_t unlinked = 0;
  for (const StreamLane& lane : view.streams()) {
    for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
      unlinked += !view.apiCall(lane.process, lane.kernels.correlation[i]);
    }
  }
  // By SQL: 1799 without any call of that id, and 11 whose id only the other process has.
  EXPECT_EQ(unlinked, 1810);
  EXPECT_EQ(must(summarizeNvtx(view)).kernelsUnlinked, 1810);
}

}  // namespace
}  // namespace warpmeter::analyzer
