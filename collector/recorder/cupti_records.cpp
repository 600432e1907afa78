// SPDX-License-Identifier: Apache-2.0
#include "cupti_records.h"

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace warpmeter::recorder {
namespace {

// The newest layout, filled as far as the record goes.
template <class Record>
Record load(const std::byte* record, std::size_t size) {
  Record r;
  std::memset(static_cast<void*>(&r), 0, sizeof r);
  std::memcpy(static_cast<void*>(&r), record, std::min(size, sizeof r));
  return r;
}

// NULL where the record is too old to have the field.
#define WARPMETER_FIELD(Record, r, member) \
  (offsetof(Record, member) + sizeof((r).member) <= size ? static_cast<std::int64_t>((r).member) : kNull)

std::int64_t nullIfZero(std::uint64_t value) { return value == 0 ? kNull : static_cast<std::int64_t>(value); }

// Columns that kernels, copies and memsets share.
template <class Row, class Record>
void place(Row& row, const Record& r, ProcessContext& context) {
  row.deviceId = r.deviceId;
  row.contextId = r.contextId;
  row.streamId = r.streamId;
  row.correlationId = context.correlation(r.correlationId);
  row.globalPid = context.globalPid().value;
}

std::string uuidText(const CUuuid& uuid) {
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

std::int64_t memoryKindOf(std::uint32_t kind) {
  constexpr std::int64_t kUnknown = 7;
  return kind >= 1 && kind <= 7 ? std::int64_t{kind} - 1 : kUnknown;
}

std::int64_t overheadTypeOf(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER: return 2;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH: return 3;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION: return 4;
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE: return 5;
    case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING: return 6;
    case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING: return 7;
    case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL: return 8;
    default: return 1;  // unknown; nameId says what it is
  }
}

std::string_view nameOfKind(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return "kernels";
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMCPY2: return "copies";
    case CUPTI_ACTIVITY_KIND_MEMSET: return "memsets";
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return "API calls";
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return "synchronizations";
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: return "CUDA events";
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return "overhead records";
    case CUPTI_ACTIVITY_KIND_MEMORY2: return "allocations";
    default: return "other records";
  }
}

bool CuptiRecords::decode(const std::byte* record, std::size_t size, std::int64_t nowNs, RowBatch& out) {
  std::uint32_t kind = 0;
  std::memcpy(&kind, record, sizeof kind);
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: kernel(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_MEMCPY: copy(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_MEMCPY2: peerCopy(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_MEMSET: memset(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_RUNTIME: api(record, size, false, nowNs, out); return true;
    case CUPTI_ACTIVITY_KIND_DRIVER: api(record, size, true, nowNs, out); return true;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: sync(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: event(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: overhead(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_MEMORY2: memory(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_JIT: jit(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_DEVICE: device(record, size); return true;
    case CUPTI_ACTIVITY_KIND_CONTEXT: context(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_STREAM: stream(record, size, out); return true;
    case CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE:
    case CUPTI_ACTIVITY_KIND_NAME: return true;  // nothing that the file wants
    default: return false;
  }
}

void CuptiRecords::kernel(const std::byte* record, std::size_t size, RowBatch& out) {
  using Kernel = CUpti_ActivityKernel10;
  const auto k = load<Kernel>(record, size);
  KernelRow row;
  place(row, k, context_);
  const KernelNames& names = context_.kernelNames(reinterpret_cast<std::uintptr_t>(k.name));
  row.demangledName = names.demangled;
  row.shortName = names.shortName;
  row.mangledName = names.mangled;
  row.launchType = k.launchType <= CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE ? k.launchType + 1 : 0;
  row.cacheConfig = k.cacheConfig.config.executed;
  row.registersPerThread = k.registersPerThread;
  row.gridX = k.gridX;
  row.gridY = k.gridY;
  row.gridZ = k.gridZ;
  row.blockX = k.blockX;
  row.blockY = k.blockY;
  row.blockZ = k.blockZ;
  row.staticSharedMemory = k.staticSharedMemory;
  row.dynamicSharedMemory = k.dynamicSharedMemory;
  row.localMemoryPerThread = k.localMemoryPerThread;
  const std::int64_t total = WARPMETER_FIELD(Kernel, k, localMemoryTotal_v2);
  row.localMemoryTotal = isNull(total) || total == 0 ? std::int64_t{k.localMemoryTotal} : total;
  row.gridId = k.gridId;
  row.sharedMemoryExecuted = WARPMETER_FIELD(Kernel, k, sharedMemoryExecuted);
  row.graphNodeId = nullIfZero(k.graphNodeId);
  row.graphId = nullIfZero(k.graphId);
  row.sharedMemoryLimitConfig = WARPMETER_FIELD(Kernel, k, shmemLimitConfig);
  row.clusterX = WARPMETER_FIELD(Kernel, k, clusterX);
  row.clusterY = WARPMETER_FIELD(Kernel, k, clusterY);
  row.clusterZ = WARPMETER_FIELD(Kernel, k, clusterZ);
  row.clusterSchedulingPolicy = WARPMETER_FIELD(Kernel, k, clusterSchedulingPolicy);
  row.maxPotentialClusterSize = WARPMETER_FIELD(Kernel, k, maxPotentialClusterSize);
  row.maxActiveClusters = WARPMETER_FIELD(Kernel, k, maxActiveClusters);
  if (k.isSharedMemoryCarveoutRequested != 0) row.sharedMemoryRequestedPercentage = k.sharedMemoryCarveoutRequested;
  if (k.end == 0 || k.start == 0) {  // CUPTI's way to say that the times are not known
    out.untimed.push_back(row);
    return;
  }
  row.start = context_.time(k.start);
  row.end = context_.time(k.end);
  if (k.queued != 0 || k.submitted != 0) {  // 0 = latency timestamps are off, or not known
    out.latencies.push_back({row.correlationId, row.globalPid, k.queued == 0 ? kNull : context_.time(k.queued),
                             k.submitted == 0 ? kNull : context_.time(k.submitted)});
  }
  if (isNull(counts_.firstKernelNs) || row.start < counts_.firstKernelNs) counts_.firstKernelNs = row.start;
  out.kernels.push_back(row);
}

// Copies and memsets have no table for untimed ones: their columns start and end are NOT NULL.
bool CuptiRecords::timed(std::uint64_t start, std::uint64_t end, std::string_view what) {
  if (start != 0 && end != 0) return true;
  context_.countLoss(loss::kNoTimes, fmt::format("{} without times", what), 1);
  return false;
}

void CuptiRecords::copy(const std::byte* record, std::size_t size, RowBatch& out) {
  using Copy = CUpti_ActivityMemcpy6;
  const auto c = load<Copy>(record, size);
  if (!timed(c.start, c.end, "copies")) return;
  MemcpyRow row;
  place(row, c, context_);
  row.start = context_.time(c.start);
  row.end = context_.time(c.end);
  row.bytes = static_cast<std::int64_t>(c.bytes);
  row.copyKind = c.copyKind;
  row.srcKind = memoryKindOf(c.srcKind);
  row.dstKind = memoryKindOf(c.dstKind);
  row.graphNodeId = nullIfZero(c.graphNodeId);
  row.copyCount = WARPMETER_FIELD(Copy, c, copyCount);
  out.copies.push_back(row);
}

void CuptiRecords::peerCopy(const std::byte* record, std::size_t size, RowBatch& out) {
  const auto c = load<CUpti_ActivityMemcpyPtoP4>(record, size);
  if (!timed(c.start, c.end, "copies")) return;
  MemcpyRow row;
  place(row, c, context_);
  row.start = context_.time(c.start);
  row.end = context_.time(c.end);
  row.bytes = static_cast<std::int64_t>(c.bytes);
  row.copyKind = c.copyKind;
  row.srcKind = memoryKindOf(c.srcKind);
  row.dstKind = memoryKindOf(c.dstKind);
  row.srcDeviceId = c.srcDeviceId;
  row.srcContextId = c.srcContextId;
  row.dstDeviceId = c.dstDeviceId;
  row.dstContextId = c.dstContextId;
  row.graphNodeId = nullIfZero(c.graphNodeId);
  out.copies.push_back(row);
}

void CuptiRecords::memset(const std::byte* record, std::size_t size, RowBatch& out) {
  const auto m = load<CUpti_ActivityMemset4>(record, size);
  if (!timed(m.start, m.end, "memsets")) return;
  MemsetRow row;
  place(row, m, context_);
  row.start = context_.time(m.start);
  row.end = context_.time(m.end);
  row.value = m.value;
  row.bytes = static_cast<std::int64_t>(m.bytes);
  row.graphNodeId = nullIfZero(m.graphNodeId);
  row.memKind = memoryKindOf(m.memoryKind);
  out.memsets.push_back(row);
}

void CuptiRecords::api(const std::byte* record, std::size_t size, bool driver, std::int64_t nowNs, RowBatch& out) {
  if (!context_.session().storeApi) return;
  const auto a = load<CUpti_ActivityAPI>(record, size);
  if (!timed(a.start, a.end, "API calls")) return;
  ApiRow row;
  row.start = context_.time(a.start);
  row.end = context_.time(a.end);
  row.eventClass = driver ? 1 : 0;
  row.globalTid = context_.thread(a.threadId);
  row.correlationId = context_.correlation(a.correlationId);
  row.nameId = context_.apiName(driver, a.cbid);
  row.returnValue = a.returnValue;
  if (context_.session().keepNestedDriverCalls) {
    out.apis.push_back(row);
  } else if (driver) {
    nesting_.driverCall(row, a.cbid, nowNs, out.apis);
  } else {
    nesting_.runtimeCall(row, out.apis);
  }
}

void CuptiRecords::sync(const std::byte* record, std::size_t size, RowBatch& out) {
  using Sync = CUpti_ActivitySynchronization2;
  const auto s = load<Sync>(record, size);
  if (!timed(s.start, s.end, "synchronizations")) return;
  SyncRow row;
  row.start = context_.time(s.start);
  row.end = context_.time(s.end);
  row.deviceId = context_.deviceOf(s.contextId);
  row.contextId = s.contextId;
  row.streamId = s.streamId;
  row.correlationId = context_.correlation(s.correlationId);
  row.globalPid = context_.globalPid().value;
  row.syncType = s.type <= CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE ? std::int64_t{s.type} : 0;
  row.eventId = s.cudaEventId;
  row.eventSyncId = WARPMETER_FIELD(Sync, s, cudaEventSyncId);
  out.syncs.push_back(row);
}

void CuptiRecords::event(const std::byte* record, std::size_t size, RowBatch& out) {
  using Event = CUpti_ActivityCudaEvent2;
  const auto e = load<Event>(record, size);
  CudaEventRow row;
  row.timestamp = e.deviceTimestamp == 0 ? kNull : context_.time(e.deviceTimestamp);
  const std::int64_t device = WARPMETER_FIELD(Event, e, deviceId);
  row.deviceId = isNull(device) ? context_.deviceOf(e.contextId) : device;
  row.contextId = e.contextId;
  row.streamId = e.streamId;
  row.correlationId = context_.correlation(e.correlationId);
  row.globalPid = context_.globalPid().value;
  row.eventId = e.eventId;
  row.eventSyncId = WARPMETER_FIELD(Event, e, cudaEventSyncId);
  out.events.push_back(row);
}

void CuptiRecords::overhead(const std::byte* record, std::size_t size, RowBatch& out) {
  const auto o = load<CUpti_ActivityOverhead3>(record, size);
  if (!timed(o.start, o.end, "overhead records")) return;
  OverheadRow row;
  row.start = context_.time(o.start);
  row.end = context_.time(o.end);
  row.eventClass = 103;
  if (o.objectKind == CUPTI_ACTIVITY_OBJECT_THREAD) row.globalTid = context_.thread(o.objectId.pt.threadId);
  row.correlationId = context_.correlation(o.correlationId);
  row.overheadType = overheadTypeOf(o.overheadKind);
  const std::int64_t ns = std::max<std::int64_t>(row.end - row.start, 0);
  switch (static_cast<std::uint32_t>(o.overheadKind)) {
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
    case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE: counts_.profilerOverheadNs += ns; break;
    case CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST:
      counts_.bufferRequestOverheadNs += ns;
      row.nameId = context_.session().intern("CUPTI activity buffer request");
      break;
    case CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT:
      row.nameId = context_.session().intern("CUPTI unified memory initialization");
      break;
    default: break;
  }
  out.overheads.push_back(row);
}

void CuptiRecords::memory(const std::byte* record, std::size_t size, RowBatch& out) {
  const auto m = load<CUpti_ActivityMemory4>(record, size);
  if (m.memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION &&
      m.memoryOperationType != CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE) {
    return;
  }
  if (!timed(m.timestamp, m.timestamp, "allocations")) return;
  MemoryRow row;
  row.start = context_.time(m.timestamp);
  row.globalPid = context_.globalPid().value;
  row.deviceId = m.deviceId;
  row.contextId = m.contextId;
  row.address = static_cast<std::int64_t>(m.address);
  row.pc = static_cast<std::int64_t>(m.PC);
  row.bytes = static_cast<std::int64_t>(m.bytes);
  row.memKind = memoryKindOf(m.memoryKind);
  row.memoryOperationType = m.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION ? 0 : 1;
  row.correlationId = context_.correlation(m.correlationId);
  out.memory.push_back(row);
}

void CuptiRecords::jit(const std::byte* record, std::size_t size, RowBatch& out) {
  const auto j = load<CUpti_ActivityJit2>(record, size);
  // A load from the compile cache is no compilation: the module-load call shows its cost.
  if (j.jitOperationType != CUPTI_ACTIVITY_JIT_OPERATION_COMPILE || !timed(j.start, j.end, "compilations")) return;
  MarkRow row;
  row.t = context_.time(j.start);
  row.globalTid = context_.thread(j.threadId);
  row.kind = static_cast<std::int64_t>(MarkKind::jitStarted);
  row.bytes = static_cast<std::int64_t>(j.end - j.start);
  out.marks.push_back(row);
}

void CuptiRecords::device(const std::byte* record, std::size_t size) {
  const auto d = load<CUpti_ActivityDevice5>(record, size);
  GpuInfo gpu;
  gpu.id = d.id;
  gpu.cuDevice = d.id;
  gpu.name = context_.text(reinterpret_cast<std::uintptr_t>(d.name));
  gpu.uuid = uuidText(d.uuid);
  gpu.l2CacheSize = d.l2CacheSize;
  gpu.totalMemory = static_cast<std::int64_t>(d.globalMemorySize);
  gpu.memoryBandwidth = static_cast<std::int64_t>(d.globalMemoryBandwidth) * 1000;  // kB/s
  gpu.clockRate = std::int64_t{d.coreClockRate} * 1000;                             // kHz
  gpu.smCount = d.numMultiprocessors;
  gpu.constantMemory = d.constantMemorySize;
  if (d.maxIPC != 0xffffffff) gpu.maxIpc = d.maxIPC;  // -1 on GPUs of today: not known
  gpu.maxRegistersPerBlock = d.maxRegistersPerBlock;
  gpu.maxShmemPerBlock = d.maxSharedMemoryPerBlock;
  gpu.maxShmemPerSm = d.maxSharedMemoryPerMultiprocessor;
  gpu.maxRegistersPerSm = d.maxRegistersPerMultiprocessor;
  gpu.threadsPerWarp = d.numThreadsPerWarp;
  gpu.asyncEngines = d.numMemcpyEngines;
  gpu.maxWarpsPerSm = d.maxWarpsPerMultiprocessor;
  gpu.maxBlocksPerSm = d.maxBlocksPerMultiprocessor;
  gpu.maxThreadsPerBlock = d.maxThreadsPerBlock;
  gpu.maxBlockDim[0] = d.maxBlockDimX;
  gpu.maxBlockDim[1] = d.maxBlockDimY;
  gpu.maxBlockDim[2] = d.maxBlockDimZ;
  gpu.maxGridDim[0] = d.maxGridDimX;
  gpu.maxGridDim[1] = d.maxGridDimY;
  gpu.maxGridDim[2] = d.maxGridDimZ;
  gpu.computeMajor = d.computeCapabilityMajor;
  gpu.computeMinor = d.computeCapabilityMinor;
  gpu.limitSource = "cupti";
  if (onDevice) onDevice({std::move(gpu)});
}

void CuptiRecords::context(const std::byte* record, std::size_t size, RowBatch& out) {
  using Context = CUpti_ActivityContext3;
  const auto c = load<Context>(record, size);
  context_.setContextDevice(c.contextId, c.deviceId);
  ContextRow row;
  row.nullStreamId = c.nullStreamId;
  row.processId = context_.pid();
  row.deviceId = c.deviceId;
  row.contextId = c.contextId;
  const std::int64_t green = WARPMETER_FIELD(Context, c, isGreenContext);
  row.isGreenContext = green;
  if (!isNull(green) && green != 0) row.parentContextId = c.parentContextId;
  row.numMultiprocessors = WARPMETER_FIELD(Context, c, numMultiprocessors);
  out.contexts.push_back(row);
}

void CuptiRecords::stream(const std::byte* record, std::size_t size, RowBatch& out) {
  const auto s = load<CUpti_ActivityStream>(record, size);
  StreamRow row;
  row.streamId = s.streamId;
  row.processId = context_.pid();
  row.contextId = s.contextId;
  row.priority = s.priority;
  row.flag = s.flag <= CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL ? std::int64_t{s.flag} : 0;
  out.streams.push_back(row);
}

ProfilerCall profilerCallIn(const std::byte* record, std::size_t size, std::uint64_t& startNs, std::uint64_t& endNs) {
  const auto a = load<CUpti_ActivityAPI>(record, size);
  startNs = a.start;
  endNs = a.end;
  const bool runtime = a.kind == CUPTI_ACTIVITY_KIND_RUNTIME, driver = a.kind == CUPTI_ACTIVITY_KIND_DRIVER;
  if ((runtime && a.cbid == CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000) ||
      (driver && a.cbid == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart)) {
    return ProfilerCall::start;
  }
  if ((runtime && a.cbid == CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000) ||
      (driver && a.cbid == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop)) {
    return ProfilerCall::stop;
  }
  return ProfilerCall::none;
}

}  // namespace warpmeter::recorder
