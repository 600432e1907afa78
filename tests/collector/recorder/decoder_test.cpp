// SPDX-License-Identifier: Apache-2.0
// CUPTI's records of all kinds and of old sizes -> rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "collector/recorder/guest_simulator.h"
#include "collector/recorder/records.h"
#include "cupti_records.h"
#include "proc_info.h"

namespace warpmeter::recorder {
namespace {

class Decoder : public testing::Test {
 protected:
  Decoder() {
    session_.startRealtimeNs = start_;
    session_.intern = [this](std::string_view text) {
      const auto at = std::find(strings_.begin(), strings_.end(), text);
      if (at != strings_.end()) return static_cast<std::int64_t>(at - strings_.begin()) + 1;
      strings_.emplace_back(text);
      return static_cast<std::int64_t>(strings_.size());
    };
    auto memory = GuestMemory::view(guest_.base(), guest_.bytes());
    EXPECT_TRUE(memory.ok());
    context_ = std::make_unique<ProcessContext>(session_, std::move(*memory), 4711);
    decoder_ = std::make_unique<CuptiRecords>(*context_);
  }

  template <class Record>
  bool decode(const Record& record, std::size_t size = sizeof(Record)) {
    std::vector<std::byte> bytes;
    appendRecord(bytes, record, size);  // exactly as long as the record: reading beyond would be seen by ASan
    bytes.shrink_to_fit();
    return decoder_->decode(bytes.data(), bytes.size(), 0, rows_);
  }
  std::string text(std::int64_t id) const { return strings_.at(static_cast<std::size_t>(id - 1)); }
  std::uint64_t at(std::int64_t sessionNs) const { return static_cast<std::uint64_t>(start_ + sessionNs); }

  const std::int64_t start_ = realtimeNs();
  GuestSimulator guest_;
  std::vector<std::string> strings_;
  Session session_;
  std::unique_ptr<ProcessContext> context_;
  std::unique_ptr<CuptiRecords> decoder_;
  RowBatch rows_;
};

TEST_F(Decoder, kernelFillsEveryColumn) {
  auto k = kernelRecord(12, guest_.name("_ZN2ns5saxpyIfEEvT_"), at(1000), at(3500));
  k.launchType = CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE;
  k.cacheConfig.config.executed = 1;
  k.staticSharedMemory = 128;
  k.dynamicSharedMemory = 4096;
  k.sharedMemoryExecuted = 65536;
  k.graphId = 5;
  k.graphNodeId = (std::uint64_t{5} << 32) | 9;
  k.isSharedMemoryCarveoutRequested = 1;
  k.sharedMemoryCarveoutRequested = 50;
  k.clusterX = 2;
  k.localMemoryTotal = 1;
  k.localMemoryTotal_v2 = std::uint64_t{5} << 32;
  k.maxPotentialClusterSize = 8;
  ASSERT_TRUE(decode(k));
  ASSERT_EQ(rows_.kernels.size(), 1u);
  const KernelRow& row = rows_.kernels[0];
  EXPECT_EQ(row.start, 1000);
  EXPECT_EQ(row.end, 3500);
  EXPECT_EQ(row.correlationId, 12);  // the first process has index 0
  EXPECT_EQ(row.globalPid, makeGlobalPid(4711).value);
  EXPECT_EQ(text(row.mangledName), "_ZN2ns5saxpyIfEEvT_");
  EXPECT_EQ(text(row.demangledName), "void ns::saxpy<float>(float)");
  EXPECT_EQ(text(row.shortName), "saxpy");
  EXPECT_EQ(row.launchType, 2);
  EXPECT_EQ(row.cacheConfig, 1);
  EXPECT_EQ(row.registersPerThread, 40);
  EXPECT_EQ(row.gridX, 528);
  EXPECT_EQ(row.gridY, 2);
  EXPECT_EQ(row.blockX, 256);
  EXPECT_EQ(row.staticSharedMemory, 128);
  EXPECT_EQ(row.dynamicSharedMemory, 4096);
  EXPECT_EQ(row.sharedMemoryExecuted, 65536);
  EXPECT_EQ(row.graphId, 5);
  EXPECT_EQ(row.graphNodeId, (std::int64_t{5} << 32) | 9);
  EXPECT_EQ(row.sharedMemoryRequestedPercentage, 50);
  EXPECT_EQ(row.clusterX, 2);
  EXPECT_EQ(row.localMemoryTotal, std::int64_t{5} << 32);
  EXPECT_EQ(row.maxPotentialClusterSize, 8);
  EXPECT_TRUE(isNull(row.qmdLastCtaDone));
}

TEST_F(Decoder, kernelOfAnOldVersionHasNullForWhatItLacks) {
  auto k = kernelRecord(12, guest_.name("k"), at(1000), at(3500));
  k.localMemoryTotal = 77;
  k.clusterX = 99;  // behind the end of the record
  k.graphId = 5;
  ASSERT_TRUE(decode(k, 160));  // Kernel5
  ASSERT_EQ(rows_.kernels.size(), 1u);
  const KernelRow& row = rows_.kernels[0];
  EXPECT_EQ(row.gridX, 528);
  EXPECT_EQ(row.graphId, 5);
  EXPECT_EQ(row.localMemoryTotal, 77);
  EXPECT_TRUE(isNull(row.clusterX));
  EXPECT_TRUE(isNull(row.maxActiveClusters));
}

TEST_F(Decoder, kernelWithoutTimesIsUntimed) {
  ASSERT_TRUE(decode(kernelRecord(1, guest_.name("k"), 0, 0)));
  ASSERT_TRUE(decode(kernelRecord(2, guest_.name("k"), at(5), 0)));
  EXPECT_TRUE(rows_.kernels.empty());
  ASSERT_EQ(rows_.untimed.size(), 2u);
  EXPECT_TRUE(isNull(rows_.untimed[0].start));
  EXPECT_TRUE(isNull(rows_.untimed[1].start));
  EXPECT_EQ(rows_.untimed[1].correlationId, 2);
}

TEST_F(Decoder, latencyTimestampsAreRowsOfTheirOwnAndOnlyWhereTheyAreKnown) {
  auto k = kernelRecord(7, guest_.name("k"), at(1000), at(3500));
  k.queued = at(400);
  k.submitted = at(900);
  ASSERT_TRUE(decode(k));
  k.correlationId = 8;
  k.submitted = 0;
  ASSERT_TRUE(decode(k));
  ASSERT_TRUE(decode(kernelRecord(9, guest_.name("k"), at(4000), at(4500))));
  ASSERT_EQ(rows_.kernels.size(), 3u);
  ASSERT_EQ(rows_.latencies.size(), 2u);
  EXPECT_EQ(rows_.latencies[0].correlationId, rows_.kernels[0].correlationId);
  EXPECT_EQ(rows_.latencies[0].globalPid, rows_.kernels[0].globalPid);
  EXPECT_EQ(rows_.latencies[0].queued, 400);
  EXPECT_EQ(rows_.latencies[0].submitted, 900);
  EXPECT_EQ(rows_.latencies[1].correlationId, rows_.kernels[1].correlationId);
  EXPECT_TRUE(isNull(rows_.latencies[1].submitted));
}

TEST_F(Decoder, nameThatWasNeverAnnouncedIsLostAndCounted) {
  const auto pointer = std::uint64_t{0x7f00deadb000};
  ASSERT_TRUE(decode(kernelRecord(1, pointer, at(1), at(2))));
  EXPECT_EQ(text(rows_.kernels[0].shortName), "(name lost)");
  const auto losses = session_.losses.take();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].kind, loss::kNames);
  EXPECT_EQ(losses[0].count, 1);
}

TEST_F(Decoder, rawPointerFindsTheNewestNameAnnouncedForIt) {
  const auto pointer = std::uint64_t{0x7f00deadb000};
  guest_.name("old", wire::StringKind::name, pointer);
  guest_.name("new", wire::StringKind::name, pointer);
  ASSERT_TRUE(decode(kernelRecord(1, pointer, at(1), at(2))));
  EXPECT_EQ(text(rows_.kernels[0].shortName), "new");
  EXPECT_TRUE(session_.losses.take().empty());
}

TEST_F(Decoder, copyConvertsMemoryKinds) {
  CUpti_ActivityMemcpy6 c;
  std::memset(static_cast<void*>(&c), 0, sizeof c);
  c.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  c.copyKind = 1;
  c.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  c.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  c.bytes = std::uint64_t{6} << 30;
  c.start = at(10);
  c.end = at(20);
  c.copyCount = 3;
  ASSERT_TRUE(decode(c));
  ASSERT_TRUE(decode(c, 88));
  ASSERT_EQ(rows_.copies.size(), 2u);
  EXPECT_EQ(rows_.copies[0].srcKind, 0);
  EXPECT_EQ(rows_.copies[0].dstKind, 2);
  EXPECT_EQ(rows_.copies[0].bytes, std::int64_t{6} << 30);
  EXPECT_EQ(rows_.copies[0].copyCount, 3);
  EXPECT_TRUE(isNull(rows_.copies[0].graphNodeId));
  EXPECT_TRUE(isNull(rows_.copies[1].copyCount));
  EXPECT_EQ(memoryKindOf(CUPTI_ACTIVITY_MEMORY_KIND_UNKNOWN), 7);
  EXPECT_EQ(memoryKindOf(CUPTI_ACTIVITY_MEMORY_KIND_PINNED), 1);
  EXPECT_EQ(memoryKindOf(CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC), 6);
}

TEST_F(Decoder, peerCopyKeepsBothEnds) {
  CUpti_ActivityMemcpyPtoP4 c;
  std::memset(static_cast<void*>(&c), 0, sizeof c);
  c.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  c.copyKind = 10;
  c.start = at(10);
  c.end = at(20);
  c.srcDeviceId = 1;
  c.srcContextId = 2;
  c.dstDeviceId = 3;
  c.dstContextId = 4;
  ASSERT_TRUE(decode(c));
  ASSERT_EQ(rows_.copies.size(), 1u);
  EXPECT_EQ(rows_.copies[0].srcDeviceId, 1);
  EXPECT_EQ(rows_.copies[0].srcContextId, 2);
  EXPECT_EQ(rows_.copies[0].dstDeviceId, 3);
  EXPECT_EQ(rows_.copies[0].dstContextId, 4);
}

TEST_F(Decoder, copyWithoutTimesIsALossNotARow) {
  CUpti_ActivityMemcpy6 c;
  std::memset(static_cast<void*>(&c), 0, sizeof c);
  c.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  ASSERT_TRUE(decode(c));
  EXPECT_TRUE(rows_.copies.empty());
  const auto losses = session_.losses.take();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].kind, loss::kNoTimes);
}

TEST_F(Decoder, memset) {
  CUpti_ActivityMemset4 m;
  std::memset(static_cast<void*>(&m), 0, sizeof m);
  m.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  m.value = 255;
  m.bytes = 64;
  m.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  m.start = at(1);
  m.end = at(2);
  ASSERT_TRUE(decode(m));
  ASSERT_EQ(rows_.memsets.size(), 1u);
  EXPECT_EQ(rows_.memsets[0].value, 255);
  EXPECT_EQ(rows_.memsets[0].memKind, 2);
}

TEST_F(Decoder, apiNamesComeFromTheAnnouncedTable) {
  session_.keepNestedDriverCalls = true;
  ASSERT_TRUE(decode(apiRecord(false, 211, 1, 4711, 99, at(1), at(2))));
  guest_.name("cudaLaunchKernel_v7000", wire::StringKind::runtimeApi, 211);
  guest_.name("cuLaunchKernel", wire::StringKind::driverApi, 211);
  ASSERT_TRUE(decode(apiRecord(false, 211, 2, 4711, 99, at(3), at(4))));
  ASSERT_TRUE(decode(apiRecord(true, 211, 2, 4711, 99, at(3), at(4))));
  ASSERT_EQ(rows_.apis.size(), 3u);
  EXPECT_EQ(text(rows_.apis[0].nameId), "runtime cbid 211");
  EXPECT_EQ(text(rows_.apis[1].nameId), "cudaLaunchKernel_v7000");
  EXPECT_EQ(text(rows_.apis[2].nameId), "cuLaunchKernel");
  EXPECT_EQ(rows_.apis[1].eventClass, 0);
  EXPECT_EQ(rows_.apis[2].eventClass, 1);
  EXPECT_EQ(rows_.apis[1].globalTid, makeGlobalTid(4711, 99).value);
  EXPECT_EQ(context_->takeNewThreads().size(), 1u);
}

TEST_F(Decoder, apiNoneStoresNoCalls) {
  session_.storeApi = false;
  ASSERT_TRUE(decode(apiRecord(false, 211, 1, 4711, 99, at(1), at(2))));
  EXPECT_TRUE(rows_.apis.empty());
}

TEST_F(Decoder, synchronizationTakesItsDeviceFromTheContext) {
  CUpti_ActivityContext3 c;
  std::memset(static_cast<void*>(&c), 0, sizeof c);
  c.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  c.contextId = 3;
  c.deviceId = 1;
  c.nullStreamId = 7;
  c.numMultiprocessors = 132;
  ASSERT_TRUE(decode(c));
  CUpti_ActivitySynchronization2 s;
  std::memset(static_cast<void*>(&s), 0, sizeof s);
  s.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  s.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
  s.contextId = 3;
  s.streamId = 0xffffffff;
  s.cudaEventSyncId = 8;
  s.start = at(1);
  s.end = at(2);
  ASSERT_TRUE(decode(s));
  ASSERT_TRUE(decode(s, 40));
  ASSERT_EQ(rows_.syncs.size(), 2u);
  EXPECT_EQ(rows_.syncs[0].deviceId, 1);
  EXPECT_EQ(rows_.syncs[0].syncType, 3);
  EXPECT_EQ(rows_.syncs[0].streamId, 4294967295);
  EXPECT_EQ(rows_.syncs[0].eventSyncId, 8);
  EXPECT_TRUE(isNull(rows_.syncs[1].eventSyncId));
  ASSERT_EQ(rows_.contexts.size(), 1u);
  EXPECT_EQ(rows_.contexts[0].processId, 4711);
  EXPECT_EQ(rows_.contexts[0].numMultiprocessors, 132);
  EXPECT_TRUE(isNull(rows_.contexts[0].parentContextId));
}

TEST_F(Decoder, eventStreamOverheadMemoryJit) {
  CUpti_ActivityCudaEvent2 e;
  std::memset(static_cast<void*>(&e), 0, sizeof e);
  e.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  e.eventId = 4;
  e.cudaEventSyncId = 6;
  ASSERT_TRUE(decode(e));
  EXPECT_TRUE(isNull(rows_.events.at(0).timestamp));
  EXPECT_EQ(rows_.events[0].eventSyncId, 6);

  CUpti_ActivityStream s;
  std::memset(static_cast<void*>(&s), 0, sizeof s);
  s.kind = CUPTI_ACTIVITY_KIND_STREAM;
  s.priority = 0xfffffffb;
  s.flag = CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING;
  ASSERT_TRUE(decode(s));
  EXPECT_EQ(rows_.streams.at(0).priority, 4294967291);
  EXPECT_EQ(rows_.streams[0].flag, 2);

  CUpti_ActivityOverhead3 o;
  std::memset(static_cast<void*>(&o), 0, sizeof o);
  o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  o.overheadKind = CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST;
  o.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  o.objectId.pt.threadId = 5;
  o.start = at(0);
  o.end = at(40);
  ASSERT_TRUE(decode(o));
  EXPECT_EQ(rows_.overheads.at(0).overheadType, 1);
  EXPECT_EQ(text(rows_.overheads[0].nameId), "CUPTI activity buffer request");
  EXPECT_EQ(rows_.overheads[0].globalTid, makeGlobalTid(4711, 5).value);
  EXPECT_EQ(decoder_->counts().bufferRequestOverheadNs, 40);
  EXPECT_EQ(overheadTypeOf(CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING), 7);
  EXPECT_EQ(overheadTypeOf(CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL), 8);

  CUpti_ActivityMemory4 m;
  std::memset(static_cast<void*>(&m), 0, sizeof m);
  m.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  m.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  m.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED;
  m.timestamp = at(9);
  m.address = 0xffffffffff000000;
  ASSERT_TRUE(decode(m));
  EXPECT_EQ(rows_.memory.at(0).memoryOperationType, 1);
  EXPECT_EQ(rows_.memory[0].memKind, 4);
  EXPECT_EQ(rows_.memory[0].start, 9);

  CUpti_ActivityJit2 j;
  std::memset(static_cast<void*>(&j), 0, sizeof j);
  j.kind = CUPTI_ACTIVITY_KIND_JIT;
  j.jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_COMPILE;
  j.start = at(100);
  j.end = at(500);
  ASSERT_TRUE(decode(j));
  j.jitOperationType = CUPTI_ACTIVITY_JIT_OPERATION_CACHE_LOAD;
  ASSERT_TRUE(decode(j));
  ASSERT_EQ(rows_.marks.size(), 1u);
  EXPECT_EQ(rows_.marks[0].kind, static_cast<std::int64_t>(MarkKind::jitStarted));
  EXPECT_EQ(rows_.marks[0].bytes, 400);
}

TEST_F(Decoder, deviceScalesUnits) {
  CUpti_ActivityDevice5 d;
  std::memset(static_cast<void*>(&d), 0, sizeof d);
  d.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  d.globalMemoryBandwidth = 4'800'000'000;  // kB/s
  d.coreClockRate = 1'980'000;              // kHz
  d.computeCapabilityMajor = 9;
  d.maxIPC = 0xffffffff;
  d.uuid.bytes[0] = static_cast<char>(0xab);
  d.name = reinterpret_cast<const char*>(guest_.name("NVIDIA H200", wire::StringKind::deviceName));
  GpuInfo gpu;
  decoder_->onDevice = [&gpu](const CuptiRecords::Device& device) { gpu = device.gpu; };
  ASSERT_TRUE(decode(d));
  EXPECT_EQ(gpu.memoryBandwidth, 4'800'000'000'000);
  EXPECT_EQ(gpu.clockRate, 1'980'000'000);
  EXPECT_EQ(gpu.name, "NVIDIA H200");
  EXPECT_EQ(gpu.uuid, "ab000000-0000-0000-0000-000000000000");
  EXPECT_TRUE(isNull(gpu.maxShmemPerBlockOptin));
  EXPECT_TRUE(isNull(gpu.maxIpc));
}

TEST_F(Decoder, unknownKindIsNotStored) {
  std::uint32_t record[4] = {CUPTI_ACTIVITY_KIND_PCIE, 0, 0, 0};
  EXPECT_FALSE(decode(record));
  EXPECT_EQ(rows_.rows(), 0u);
}

TEST_F(Decoder, otherClockIsMovedByThePairTakenAtStart) {
  guest_.header().cuptiTimestampNs = 5'000'000'000;  // a clock that began at boot
  guest_.header().cuptiTimestampRealtimeNs = start_;
  ASSERT_TRUE(decode(kernelRecord(1, guest_.name("k"), 5'000'000'100, 5'000'000'200)));
  EXPECT_EQ(rows_.kernels.at(0).start, 100);
  EXPECT_EQ(rows_.kernels[0].end, 200);
}

}  // namespace
}  // namespace warpmeter::recorder
