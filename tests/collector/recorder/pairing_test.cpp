// SPDX-License-Identifier: Apache-2.0
// Correlation ids, NVTX pairing, nested driver calls, capture windows.
#include <cuda.h>
#include <cupti_driver_cbid.h>
#include <gtest/gtest.h>

#include "api_nesting.h"
#include "capture_windows.h"
#include "correlation.h"
#include "loss_table.h"
#include "nvtx_pairing.h"

namespace warpmeter::recorder {
namespace {

TEST(CorrelationIds, aSingleProcessKeepsCuptisOwn) {
  std::uint32_t next = 0;
  CorrelationIds ids([&next] { return next++; });
  EXPECT_EQ(ids.fileId(17), 17);
  EXPECT_EQ(ids.fileId(4'000'000'000), 4'000'000'000);
  EXPECT_TRUE(isNull(ids.fileId(0)));
  CorrelationIds second([&next] { return next++; });
  EXPECT_EQ(second.fileId(17), (std::int64_t{1} << 32) + 17);
}

TEST(CorrelationIds, aWrappedCounterStaysUnique) {
  std::uint32_t next = 0;
  CorrelationIds ids([&next] { return next++; });
  CorrelationIds other([&next] { return next++; });
  EXPECT_EQ(ids.fileId(0xfffffff0), 0xfffffff0);
  EXPECT_EQ(ids.fileId(5), (std::int64_t{2} << 32) + 5);  // index 1 is the other process
  EXPECT_EQ(ids.fileId(0xfffffff5), 0xfffffff5);           // late, from before the wrap
  EXPECT_EQ(ids.fileId(5), (std::int64_t{2} << 32) + 5);  // equal ids stay equal
  EXPECT_EQ(other.fileId(5), (std::int64_t{1} << 32) + 5);
}

TEST(CorrelationIds, idsBelowTheFirstOneAreNoWrap) {
  std::uint32_t next = 0;
  CorrelationIds ids([&next] { return next++; });
  EXPECT_EQ(ids.fileId(100), 100);
  EXPECT_EQ(ids.fileId(3), 3);
  EXPECT_EQ(next, 1u);
}

NvtxRow pushed(std::int64_t thread, std::int64_t domain, std::int64_t start, std::int64_t text) {
  NvtxRow row;
  row.globalTid = thread;
  row.domainId = domain;
  row.start = start;
  row.textId = text;
  return row;
}

TEST(NvtxPairing, pairsPerThreadAndDomain) {
  NvtxPairing nvtx;
  std::vector<NvtxRow> out;
  nvtx.push(pushed(1, 0, 10, 100));
  nvtx.push(pushed(1, 7, 11, 101));
  nvtx.push(pushed(2, 0, 12, 102));
  nvtx.push(pushed(1, 0, 13, 103));
  nvtx.pop(1, 0, 20, out);
  nvtx.pop(1, 0, 21, out);
  nvtx.pop(1, 7, 22, out);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0].textId, 103);
  EXPECT_EQ(out[0].end, 20);
  EXPECT_EQ(out[0].eventType, nvtx_event::kPushPop);
  EXPECT_EQ(out[1].textId, 100);
  EXPECT_EQ(out[2].textId, 101);
  EXPECT_EQ(nvtx.open(), 1u);
}

TEST(NvtxPairing, endsOpenRangesWithTheProcess) {
  NvtxPairing nvtx;
  std::vector<NvtxRow> out;
  nvtx.push(pushed(1, 0, 10, 100));
  NvtxRow started = pushed(2, 0, 15, 101);
  started.rangeId = 9;
  nvtx.start(started, out);
  EXPECT_EQ(nvtx.closeAll(50, out), 2);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].end, 50);
  EXPECT_EQ(out[1].end, 50);
  EXPECT_EQ(nvtx.closeAll(60, out), 0);
}

TEST(NvtxPairing, countsEndsWithoutBeginning) {
  NvtxPairing nvtx;
  std::vector<NvtxRow> out;
  nvtx.pop(1, 0, 20, out);
  nvtx.end(77, 1, 20, out);
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(nvtx.takeOrphans(), 1);
  EXPECT_EQ(nvtx.closeAll(50, out), 0);
  EXPECT_EQ(nvtx.takeOrphans(), 1);  // no beginning came any more
  EXPECT_EQ(nvtx.takeOrphans(), 0);
}

TEST(NvtxPairing, startAndEndMayBeOnTwoThreads) {
  NvtxPairing nvtx;
  std::vector<NvtxRow> out;
  NvtxRow started = pushed(2, 0, 15, 101);
  started.rangeId = 9;
  nvtx.start(started, out);
  nvtx.end(9, 3, 30, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].eventType, nvtx_event::kStartEnd);
  EXPECT_EQ(out[0].globalTid, 2);
  EXPECT_EQ(out[0].endGlobalTid, 3);
}

TEST(NvtxPairing, aRangeOfOneThreadNamesNoEndingThread) {
  NvtxPairing nvtx;
  std::vector<NvtxRow> out;
  nvtx.push(pushed(2, 0, 10, 100));
  nvtx.pop(2, 0, 20, out);
  NvtxRow started = pushed(2, 0, 15, 101);
  started.rangeId = 9;
  nvtx.start(started, out);
  nvtx.end(9, 2, 30, out);
  nvtx.push(pushed(2, 0, 40, 102));
  EXPECT_EQ(nvtx.closeAll(50, out), 1);
  ASSERT_EQ(out.size(), 3u);
  for (const NvtxRow& row : out) EXPECT_EQ(row.endGlobalTid, kNull);
}

TEST(NvtxPairing, anEndMayArriveBeforeItsBeginning) {
  NvtxPairing nvtx;
  std::vector<NvtxRow> out;
  nvtx.end(9, 3, 30, out);
  NvtxRow started = pushed(2, 0, 15, 101);
  started.rangeId = 9;
  nvtx.start(started, out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].start, 15);
  EXPECT_EQ(out[0].end, 30);
  EXPECT_EQ(nvtx.open(), 0u);
  EXPECT_EQ(nvtx.takeOrphans(), 0);
}

ApiRow call(std::int64_t thread, std::int64_t start, std::int64_t end) {
  ApiRow row;
  row.globalTid = thread;
  row.start = start;
  row.end = end;
  return row;
}
constexpr std::uint32_t kLaunch = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;

TEST(ApiNesting, dropsADriverCallInsideARuntimeCallOfItsThread) {
  ApiNesting nesting;
  std::vector<ApiRow> out;
  nesting.driverCall(call(1, 12, 18), kLaunch, 0, out);
  nesting.driverCall(call(2, 12, 18), kLaunch, 0, out);
  EXPECT_TRUE(out.empty());
  nesting.runtimeCall(call(1, 10, 20), out);
  EXPECT_EQ(out.size(), 1u);
  nesting.flush(out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1].globalTid, 2);  // another thread's call was inside nothing
}

TEST(ApiNesting, keepsModuleLibraryAndContextCalls) {
  ApiNesting nesting;
  std::vector<ApiRow> out;
  nesting.driverCall(call(1, 12, 18), CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData, 0, out);
  nesting.driverCall(call(1, 18, 19), CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain, 0, out);
  nesting.runtimeCall(call(1, 10, 20), out);
  EXPECT_EQ(out.size(), 3u);
  EXPECT_FALSE(isKeptInsideRuntimeCall(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize));
  EXPECT_FALSE(isKeptInsideRuntimeCall(kLaunch));
}

TEST(ApiNesting, knowsARuntimeCallThatCameFirst) {
  ApiNesting nesting;
  std::vector<ApiRow> out;
  nesting.runtimeCall(call(1, 10, 20), out);
  nesting.runtimeCall(call(1, 30, 40), out);
  nesting.driverCall(call(1, 12, 18), kLaunch, 0, out);
  EXPECT_EQ(nesting.held(), 0u);
  nesting.driverCall(call(1, 22, 28), kLaunch, 0, out);
  nesting.flush(out);
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[2].start, 22);
}

TEST(ApiNesting, decidesByTimeAndByRoom) {
  ApiNesting nesting;
  std::vector<ApiRow> out;
  nesting.driverCall(call(1, 12, 18), kLaunch, 0, out);
  nesting.expire(ApiNesting::kHoldNs, out);
  EXPECT_TRUE(out.empty());
  nesting.expire(ApiNesting::kHoldNs + 1, out);
  EXPECT_EQ(out.size(), 1u);
  for (std::int64_t i = 0; i <= static_cast<std::int64_t>(ApiNesting::kMaxHeld); ++i) {
    nesting.driverCall(call(1, 100 * i, 100 * i + 5), kLaunch, 0, out);
  }
  EXPECT_EQ(out.size(), 2u);
  EXPECT_EQ(nesting.held(), ApiNesting::kMaxHeld);
}

KernelRow kernel(std::int64_t start, std::int64_t end) {
  KernelRow row;
  row.start = start;
  row.end = end;
  return row;
}

TEST(CaptureWindows, storesWhatTouchesTheTimeWindow) {
  CaptureOptions options;
  options.delayNs = 100;
  options.durationNs = 50;
  CaptureWindows windows(options);
  EXPECT_FALSE(windows.overlaps(10, 99));
  EXPECT_TRUE(windows.overlaps(10, 100));
  EXPECT_TRUE(windows.overlaps(150, 900));
  EXPECT_FALSE(windows.overlaps(151, 900));
}

TEST(CaptureWindows, profilerApiOpensAndCloses) {
  CaptureOptions options;
  options.profilerApi = true;
  CaptureWindows windows(options);
  EXPECT_FALSE(windows.overlaps(10, 20));
  windows.profilerStart(1, 100);
  EXPECT_TRUE(windows.overlaps(200, 300));
  windows.profilerStop(1, 250);
  windows.profilerStop(1, 260);
  EXPECT_TRUE(windows.overlaps(240, 300));
  EXPECT_FALSE(windows.overlaps(251, 300));
  windows.profilerStart(1, 400);
  windows.processEnded(1, 500);
  EXPECT_TRUE(windows.overlaps(450, 460));
  EXPECT_FALSE(windows.overlaps(501, 510));
}

TEST(CaptureWindows, nvtxRangesOfAnyThreadAndNested) {
  CaptureOptions options;
  options.nvtxRange = "step";
  CaptureWindows windows(options);
  windows.nvtxPush({1, 5, 0}, false, 10);
  windows.nvtxPush({1, 5, 0}, true, 20);
  windows.nvtxPush({1, 5, 0}, false, 30);
  windows.nvtxPop({1, 5, 0}, 40);
  EXPECT_TRUE(windows.overlaps(100, 110));  // still open
  windows.nvtxPop({1, 5, 0}, 50);
  EXPECT_FALSE(windows.overlaps(100, 110));
  windows.nvtxStart(1, 3, true, 200);
  windows.nvtxEnd(1, 3, 300);
  EXPECT_TRUE(windows.overlaps(299, 400));
  EXPECT_FALSE(windows.overlaps(51, 199));
  EXPECT_TRUE(windows.overlaps(45, 46));
  windows.nvtxEnd(1, 4, 700);
  windows.nvtxStart(1, 4, true, 600);
  EXPECT_TRUE(windows.overlaps(650, 651));
  EXPECT_FALSE(windows.overlaps(701, 702));
}

TEST(CaptureWindows, overlappingRangesAreOneWindow) {
  CaptureOptions options;
  options.nvtxRange = "step";
  CaptureWindows windows(options);
  for (const std::int64_t thread : {1, 2, 3}) windows.nvtxPush({1, thread, 0}, true, 10 * thread);
  windows.nvtxPop({1, 2, 0}, 40);
  windows.nvtxPop({1, 3, 0}, 50);
  windows.nvtxPop({1, 1, 0}, 100);
  EXPECT_TRUE(windows.overlaps(60, 70));
  EXPECT_TRUE(windows.overlaps(12, 13));
  EXPECT_FALSE(windows.overlaps(101, 110));
  EXPECT_FALSE(windows.overlaps(1, 9));
}

TEST(CaptureWindows, filterKeepsRowsAboutTheProcess) {
  CaptureOptions options;
  options.nvtxRange = "step";
  CaptureWindows windows(options);
  windows.nvtxPush({1, 5, 0}, true, 100);
  windows.nvtxPop({1, 5, 0}, 200);
  RowBatch from, to;
  from.kernels = {kernel(10, 20), kernel(150, 160), kernel(190, 500)};
  from.untimed = {KernelRow{}};
  from.marks.resize(1);
  NvtxRow domain;
  domain.start = 1;
  domain.eventType = nvtx_event::kDomainCreate;
  NvtxRow mark = domain;
  mark.eventType = nvtx_event::kMark;
  from.nvtx = {domain, mark};
  windows.filter(from, to);
  EXPECT_EQ(to.kernels.size(), 2u);
  EXPECT_EQ(to.untimed.size(), 1u);
  EXPECT_EQ(to.marks.size(), 1u);
  ASSERT_EQ(to.nvtx.size(), 1u);
  EXPECT_EQ(to.nvtx[0].eventType, nvtx_event::kDomainCreate);
  EXPECT_EQ(from.rows(), 0u);
}

TEST(LossTable, addsUpAndKeepsUnknownUnknown) {
  LossTable losses;
  losses.add(loss::kPoolEmpty, "no buffer", 3, 10, 10, makeGlobalPid(1));
  losses.add(loss::kPoolEmpty, "no buffer", 4, 5, 20, makeGlobalPid(1));
  losses.add(loss::kPoolEmpty, "no buffer", 0, 99, 99, makeGlobalPid(1));
  EXPECT_EQ(losses.recordsLost(), 7);
  losses.add(loss::kNvtxOpen, "open", 2, 1, 1, makeGlobalPid(1));
  EXPECT_EQ(losses.recordsLost(), 7);
  auto entries = losses.take();
  ASSERT_EQ(entries.size(), 2u);
  const LossEntry& pool = entries[0].kind == loss::kPoolEmpty ? entries[0] : entries[1];
  EXPECT_EQ(pool.count, 7);
  EXPECT_EQ(pool.fromNs, 5);
  EXPECT_EQ(pool.toNs, 20);
  losses.add(loss::kBlocked, "nsys holds CUPTI", kNull, kNull, kNull, makeGlobalPid(4711));
  EXPECT_TRUE(isNull(losses.recordsLost()));
  EXPECT_EQ(losses.headline(), "process 4711: nsys holds CUPTI");
  EXPECT_EQ(losses.take().size(), 1u);
  EXPECT_TRUE(losses.take().empty());
}

TEST(LossTable, unbalancedNvtxIsNoLossOfOurs) {
  LossTable losses;
  losses.add(loss::kNvtxOpen, "open", 2, 1, 1, {});
  EXPECT_FALSE(losses.incomplete());
  losses.add(loss::kInFlight, "killed", 2, 1, 1, {});
  EXPECT_TRUE(losses.incomplete());
}

}  // namespace
}  // namespace warpmeter::recorder
