// SPDX-License-Identifier: Apache-2.0
// One struct per table with many rows. Members stand in the order of the table's columns in schema.sql and are
// all std::int64_t (kNull = SQL NULL), so that writer and reader move rows as arrays of integers.
// Times: ns since session start, may be negative. Sizes: bytes. String columns hold StringIds.id.
// Enumerations: the numbers of the nsys schema (ENUM_ tables), not CUPTI's; the recorder converts.
#pragma once

#include <cstdint>

#include "warpmeter/profile/ids.h"

namespace warpmeter {

// CUPTI_ACTIVITY_KIND_KERNEL. WM_UNTIMED has the same columns with start and end NULL.
struct KernelRow {
  std::int64_t start = kNull, end = kNull, deviceId = kNull, contextId = kNull, greenContextId = kNull,
               streamId = kNull, correlationId = kNull, globalPid = kNull;
  std::int64_t demangledName = kNull, shortName = kNull, mangledName = kNull, launchType = kNull,
               cacheConfig = kNull, registersPerThread = kNull;
  std::int64_t gridX = kNull, gridY = kNull, gridZ = kNull, blockX = kNull, blockY = kNull, blockZ = kNull;
  std::int64_t staticSharedMemory = kNull, dynamicSharedMemory = kNull, localMemoryPerThread = kNull,
               localMemoryTotal = kNull, gridId = kNull, sharedMemoryExecuted = kNull, graphNodeId = kNull,
               sharedMemoryLimitConfig = kNull;
  std::int64_t qmdBulkReleaseDone = kNull, qmdPreexitDone = kNull, qmdLastCtaDone = kNull, graphId = kNull;
  std::int64_t clusterX = kNull, clusterY = kNull, clusterZ = kNull, clusterSchedulingPolicy = kNull,
               maxPotentialClusterSize = kNull, maxActiveClusters = kNull,
               sharedMemoryRequestedPercentage = kNull;
};

// CUPTI_ACTIVITY_KIND_RUNTIME: runtime (eventClass 0) and driver (1) API calls.
struct ApiRow {
  std::int64_t start = kNull, end = kNull, eventClass = kNull, globalTid = kNull, correlationId = kNull,
               nameId = kNull, returnValue = kNull, callchainId = kNull;
};

// CUPTI_ACTIVITY_KIND_MEMCPY
struct MemcpyRow {
  std::int64_t start = kNull, end = kNull, deviceId = kNull, contextId = kNull, greenContextId = kNull,
               streamId = kNull, correlationId = kNull, globalPid = kNull;
  std::int64_t bytes = kNull, copyKind = kNull, deprecatedSrcId = kNull, srcKind = kNull, dstKind = kNull,
               srcDeviceId = kNull, srcContextId = kNull, dstDeviceId = kNull, dstContextId = kNull,
               migrationCause = kNull, graphNodeId = kNull, virtualAddress = kNull, copyCount = kNull;
};

// CUPTI_ACTIVITY_KIND_MEMSET
struct MemsetRow {
  std::int64_t start = kNull, end = kNull, deviceId = kNull, contextId = kNull, greenContextId = kNull,
               streamId = kNull, correlationId = kNull, globalPid = kNull;
  std::int64_t value = kNull, bytes = kNull, graphNodeId = kNull, memKind = kNull;
};

// CUPTI_ACTIVITY_KIND_SYNCHRONIZATION
struct SyncRow {
  std::int64_t start = kNull, end = kNull, deviceId = kNull, contextId = kNull, greenContextId = kNull,
               streamId = kNull, correlationId = kNull, globalPid = kNull;
  std::int64_t deprecatedSyncType = kNull, syncType = kNull, eventId = kNull, eventSyncId = kNull;
};

// CUPTI_ACTIVITY_KIND_CUDA_EVENT
struct CudaEventRow {
  std::int64_t timestamp = kNull, deviceId = kNull, contextId = kNull, greenContextId = kNull,
               streamId = kNull, correlationId = kNull, globalPid = kNull, eventId = kNull,
               eventSyncId = kNull;
};

// CUPTI_ACTIVITY_KIND_OVERHEAD
struct OverheadRow {
  std::int64_t start = kNull, end = kNull, eventClass = kNull, globalTid = kNull, correlationId = kNull,
               nameId = kNull, overheadType = kNull;
};

// NVTX_EVENTS. The file's text column is filled from textId by the writer; the reader gives textId for a row
// that has only text (it interns the text itself). The value and JSON columns of the table stay NULL.
struct NvtxRow {
  std::int64_t start = kNull, end = kNull, eventType = kNull, rangeId = kNull, category = kNull,
               color = kNull, textId = kNull, globalTid = kNull, endGlobalTid = kNull, domainId = kNull,
               uint64Value = kNull, int64Value = kNull;
};

// CUDA_GPU_MEMORY_USAGE_EVENTS
struct MemoryRow {
  std::int64_t start = kNull, globalPid = kNull, deviceId = kNull, contextId = kNull, address = kNull,
               pc = kNull, bytes = kNull, memKind = kNull, memoryOperationType = kNull, correlationId = kNull;
};

// WM_MARK: points in a process's life, the ground of the cold-start analysis. kind: MarkKind.
enum class MarkKind : std::int64_t {
  processStart = 1,       // from /proc, resolution 10 ms (bytes holds the uncertainty in ns)
  injectionEntered = 2,   // InitializeInjection called (inside cuInit)
  injectionDone = 3,
  cuInitFinished = 4,
  contextCreated = 5,
  contextDestroyed = 6,
  moduleLoaded = 7,       // bytes = image size
  moduleUnloaded = 8,
  jitStarted = 9,         // a JIT record: t = start, bytes = end - start in ns
  processExit = 10,
};
struct MarkRow {
  std::int64_t t = kNull, globalTid = kNull, kind = kNull, contextId = kNull, moduleId = kNull,
               bytes = kNull, crc = kNull;
};

// WM_LOSS: something is missing from the file. kind and why are strings of the file. count NULL = unknown.
struct LossRow {
  std::int64_t kind = kNull, count = kNull, fromNs = kNull, toNs = kNull, globalPid = kNull, why = kNull;
};

// WM_SELF_COST: what recording cost. what is a string id (see docs/format.md), ns and count are totals.
struct SelfCostRow {
  std::int64_t globalPid = kNull, what = kNull, ns = kNull, count = kNull;
};

// WM_LATENCY: when a launch reached the driver's queue and when it was handed to the GPU; only with launch latency
// recorded. Belongs to the kernel row with the same correlationId and globalPid (its start is the third moment).
struct LatencyRow {
  std::int64_t correlationId = kNull, globalPid = kNull, queued = kNull, submitted = kNull;
};

// GPU_METRICS: the samples thinned for people who plot them, percentages as 0..100 (WM_SAMPLE has all of them).
// What the two ids mean: GpuMetricInfo. typeId & 0xff = TARGET_INFO_GPU.id.
struct GpuMetricRow {
  std::int64_t timestamp = kNull, typeId = kNull, metricId = kNull, value = kNull;
};

// TARGET_INFO_CUDA_STREAM (without the constant hwId, vmId)
struct StreamRow {
  std::int64_t streamId = kNull, processId = kNull, contextId = kNull, priority = kNull, flag = kNull;
};

// TARGET_INFO_CUDA_CONTEXT_INFO (without the constant hwId, vmId)
struct ContextRow {
  std::int64_t nullStreamId = kNull, processId = kNull, deviceId = kNull, contextId = kNull,
               parentContextId = kNull, isGreenContext = kNull, numMultiprocessors = kNull;
};

// ThreadNames
struct ThreadRow {
  std::int64_t nameId = kNull, priority = kNull, globalTid = kNull;
};

// CUDA_GRAPH_NODE_EVENTS: graph node -> the node it was cloned from
struct GraphNodeRow {
  std::int64_t start = kNull, end = kNull, eventClass = kNull, globalTid = kNull, nameId = kNull,
               graphNodeId = kNull, originalGraphNodeId = kNull;
};

}  // namespace warpmeter
