// SPDX-License-Identifier: Apache-2.0
#include "fake_records.h"

#include <cupti.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "fake_buffers.h"

namespace warpmeter::fake {
namespace {

// The kind is written last, as by a writer that may be killed half way.
template <class T>
void put(void* to, const T& record) {
  const std::size_t bytes = std::min(sizeof record, recordBytes(record.kind));
  auto* out = static_cast<char*>(to);
  std::memcpy(out + 8, reinterpret_cast<const char*>(&record) + 8, bytes - 8);
  std::memcpy(out, &record, 8);
}

std::vector<std::string> numberedNames(const char* prefix, std::uint32_t count,
                                       const std::map<std::uint32_t, const char*>& known) {
  std::vector<std::string> names(count);
  for (std::uint32_t i = 1; i < count; ++i) {
    const auto it = known.find(i);
    names[i] = it != known.end() ? it->second : prefix + std::to_string(i);
  }
  return names;
}

const char* nameIn(const std::vector<std::string>& names, std::uint32_t cbid) {
  return cbid == 0 || cbid >= names.size() ? nullptr : names[cbid].c_str();
}

}  // namespace

std::uint32_t threadId() {
  static thread_local const auto kId = static_cast<std::uint32_t>(syscall(SYS_gettid));
  return kId;
}

const char* runtimeName(std::uint32_t cbid) {
  static const auto* const kNames = new auto(numberedNames(
      "cudaFakeCall", CUPTI_RUNTIME_TRACE_CBID_SIZE,
      {{CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel_v7000"},
       {CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020, "cudaDeviceSynchronize_v3020"},
       {CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000, "cudaProfilerStart_v4000"},
       {CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000, "cudaProfilerStop_v4000"},
       {CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020, "cudaDeviceReset_v3020"}}));
  return nameIn(*kNames, cbid);
}

const char* driverName(std::uint32_t cbid) {
  static const auto* const kNames = new auto(numberedNames(
      "cuFakeCall", CUPTI_DRIVER_TRACE_CBID_SIZE,
      {{CUPTI_DRIVER_TRACE_CBID_cuInit, "cuInit"},
       {CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v4, "cuCtxCreate_v4"},
       {CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2, "cuCtxDestroy_v2"},
       {CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData, "cuModuleLoadData"},
       {CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, "cuModuleUnload"},
       {CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2"},
       {CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, "cuMemFree_v2"},
       {CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2, "cuMemcpyHtoD_v2"},
       {CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2, "cuMemcpyDtoH_v2"},
       {CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2, "cuMemsetD8_v2"},
       {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, "cuCtxSynchronize"},
       {CUPTI_DRIVER_TRACE_CBID_cuStreamCreate, "cuStreamCreate"},
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"},
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, "cuLaunchKernelEx"},
       {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, "cuStreamBeginCapture_v2"},
       {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, "cuStreamEndCapture"},
       {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, "cuProfilerStart"},
       {CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, "cuProfilerStop"}}));
  return nameIn(*kNames, cbid);
}

std::size_t recordBytes(std::uint32_t kind) {
#ifdef WARPMETER_FAKE_OLD
  constexpr bool kOld = true;
#else
  constexpr bool kOld = false;
#endif
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY: return kOld ? sizeof(CUpti_ActivityMemcpy5) : sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return kOld ? sizeof(CUpti_ActivityKernel9) : sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_DEVICE: return sizeof(CUpti_ActivityDevice5);
    case CUPTI_ACTIVITY_KIND_CONTEXT: return kOld ? sizeof(CUpti_ActivityContext2) : sizeof(CUpti_ActivityContext3);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: return kOld ? sizeof(CUpti_ActivityCudaEvent) : sizeof(CUpti_ActivityCudaEvent2);
    case CUPTI_ACTIVITY_KIND_STREAM: return sizeof(CUpti_ActivityStream);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return kOld ? sizeof(CUpti_ActivitySynchronization) : sizeof(CUpti_ActivitySynchronization2);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return kOld ? sizeof(CUpti_ActivityMemory3) : sizeof(CUpti_ActivityMemory4);
    case CUPTI_ACTIVITY_KIND_JIT: return sizeof(CUpti_ActivityJit2);
    default: return 0;
  }
}

namespace {
std::atomic<std::int64_t> gBusyUntilNs{0};
}

std::int64_t busyUntilNs() { return gBusyUntilNs; }

std::int64_t nextFreeNs(std::uint32_t streamId, std::int64_t durationNs) {
  static std::mutex mutex;
  static auto* free = new std::map<std::uint32_t, std::int64_t>;
  const std::lock_guard lock(mutex);
  std::int64_t& at = (*free)[streamId];
  const std::int64_t start = std::max(at, nowNs() + 2000);  // a launch takes 2 us to reach the GPU
  at = start + durationNs;
  gBusyUntilNs = std::max<std::int64_t>(gBusyUntilNs, at);
  return start;
}

void fillApi(void* record, std::uint32_t kind, std::uint32_t cbid, std::int64_t start, std::int64_t end,
             std::uint32_t tid, std::uint32_t correlationId) {
  CUpti_ActivityAPI api{};
  api.kind = static_cast<CUpti_ActivityKind>(kind);
  api.cbid = cbid;
  api.start = static_cast<std::uint64_t>(start);
  api.end = static_cast<std::uint64_t>(end);
  api.processId = static_cast<std::uint32_t>(getpid());
  api.threadId = tid;
  api.correlationId = correlationId;
  put(record, api);
}

namespace {

void fillKernel(void* record, const Call& call, std::int64_t start, bool finished) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.registersPerThread = 32;
  kernel.start = finished ? static_cast<std::uint64_t>(start) : 0;
  kernel.end = finished ? static_cast<std::uint64_t>(call.endNs) : 0;
  kernel.contextId = call.contextId;
  kernel.streamId = call.streamId;
  kernel.gridX = static_cast<std::int32_t>(call.grid[0]);
  kernel.gridY = static_cast<std::int32_t>(call.grid[1]);
  kernel.gridZ = static_cast<std::int32_t>(call.grid[2]);
  kernel.blockX = static_cast<std::int32_t>(call.block[0]);
  kernel.blockY = static_cast<std::int32_t>(call.block[1]);
  kernel.blockZ = static_cast<std::int32_t>(call.block[2]);
  kernel.correlationId = call.correlationId;
  kernel.gridId = call.correlationId;
  kernel.name = call.name;
  kernel.sharedMemoryExecuted = 8192;
  kernel.clusterX = kernel.clusterY = kernel.clusterZ = 0;
  put(record, kernel);
}

void fillCopy(void* record, const Call& call, std::int64_t start, bool finished) {
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = static_cast<std::uint8_t>(call.copyKind);
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = call.bytes;
  copy.start = finished ? static_cast<std::uint64_t>(start) : 0;
  copy.end = finished ? static_cast<std::uint64_t>(call.endNs) : 0;
  copy.contextId = call.contextId;
  copy.streamId = call.streamId;
  copy.correlationId = call.correlationId;
  copy.copyCount = 1;
  put(record, copy);
}

void fillSet(void* record, const Call& call, std::int64_t start, bool finished) {
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.bytes = call.bytes;
  set.start = finished ? static_cast<std::uint64_t>(start) : 0;
  set.end = finished ? static_cast<std::uint64_t>(call.endNs) : 0;
  set.contextId = call.contextId;
  set.streamId = call.streamId;
  set.correlationId = call.correlationId;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  put(record, set);
}

void fillSynchronization(void* record, const Call& call, std::int64_t start) {
  CUpti_ActivitySynchronization2 wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
  wait.start = static_cast<std::uint64_t>(start);
  wait.end = static_cast<std::uint64_t>(nowNs());
  wait.correlationId = call.correlationId;
  wait.contextId = call.contextId;
  wait.streamId = static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  wait.cudaEventId = static_cast<std::uint32_t>(CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  put(record, wait);
}

void fillMemory(void* record, const Call& call, std::int64_t start) {
  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = call.work == Work::allocate ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION
                                                           : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.correlationId = call.correlationId;
  memory.address = call.address;
  memory.bytes = call.bytes;
  memory.timestamp = static_cast<std::uint64_t>(start);
  memory.processId = static_cast<std::uint32_t>(getpid());
  memory.contextId = call.contextId;
  memory.name = "someVariable";
  put(record, memory);
}

}  // namespace

void fillWork(void* record, std::uint32_t kind, const Call& call, std::int64_t start, bool finished) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return fillKernel(record, call, start, finished);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return fillCopy(record, call, start, finished);
    case CUPTI_ACTIVITY_KIND_MEMSET: return fillSet(record, call, start, finished);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return fillSynchronization(record, call, start);
    case CUPTI_ACTIVITY_KIND_MEMORY2: return fillMemory(record, call, start);
    default: return;
  }
}

void fillOverhead(void* record, std::int64_t start, std::uint32_t tid, std::uint32_t correlationId) {
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
  overhead.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  overhead.objectId.pt.processId = static_cast<std::uint32_t>(getpid());
  overhead.objectId.pt.threadId = tid;
  overhead.start = static_cast<std::uint64_t>(start);
  overhead.end = static_cast<std::uint64_t>(start + 1000);
  overhead.correlationId = correlationId;
  overhead.overheadData = std::malloc(sizeof(CUpti_ActivityOverheadCommandBufferFullData));
  put(record, overhead);
}

void fillDevice(void* record) {
  CUpti_ActivityDevice5 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.numMultiprocessors = 132;
  device.maxWarpsPerMultiprocessor = 64;
  device.maxBlocksPerMultiprocessor = 32;
  device.maxSharedMemoryPerMultiprocessor = 228 * 1024;
  device.maxRegistersPerMultiprocessor = device.maxRegistersPerBlock = 65536;
  device.maxSharedMemoryPerBlock = 48 * 1024;
  device.maxThreadsPerBlock = 1024;
  device.numThreadsPerWarp = 32;
  device.computeCapabilityMajor = 9;
  device.globalMemorySize = 80ull << 30;
  device.globalMemoryBandwidth = 3000000000;
  device.coreClockRate = 1980000;
  device.l2CacheSize = 50 << 20;
  std::memcpy(device.uuid.bytes, "warpmeter-fake-0", 16);
  device.name = strdup("Fake GPU");
  device.isCudaVisible = 1;
  put(record, device);
}

void fillContext(void* record, std::uint32_t contextId) {
  CUpti_ActivityContext3 context{};
  context.kind = CUPTI_ACTIVITY_KIND_CONTEXT;
  context.contextId = contextId;
  context.computeApiKind = CUPTI_ACTIVITY_COMPUTE_API_CUDA;
  context.nullStreamId = 7;
  context.numMultiprocessors = 132;
  put(record, context);
}

void fillStream(void* record, std::uint32_t contextId, std::uint32_t streamId) {
  CUpti_ActivityStream stream{};
  stream.kind = CUPTI_ACTIVITY_KIND_STREAM;
  stream.contextId = contextId;
  stream.streamId = streamId;
  put(record, stream);
}

}  // namespace warpmeter::fake
