// SPDX-License-Identifier: Apache-2.0
#include "row_tables.h"

#include <array>
#include <type_traits>

namespace warpmeter {

namespace {

constexpr std::array kKernelColumns = {"start",
                                       "end",
                                       "deviceId",
                                       "contextId",
                                       "greenContextId",
                                       "streamId",
                                       "correlationId",
                                       "globalPid",
                                       "demangledName",
                                       "shortName",
                                       "mangledName",
                                       "launchType",
                                       "cacheConfig",
                                       "registersPerThread",
                                       "gridX",
                                       "gridY",
                                       "gridZ",
                                       "blockX",
                                       "blockY",
                                       "blockZ",
                                       "staticSharedMemory",
                                       "dynamicSharedMemory",
                                       "localMemoryPerThread",
                                       "localMemoryTotal",
                                       "gridId",
                                       "sharedMemoryExecuted",
                                       "graphNodeId",
                                       "sharedMemoryLimitConfig",
                                       "qmdBulkReleaseDone",
                                       "qmdPreexitDone",
                                       "qmdLastCtaDone",
                                       "graphId",
                                       "clusterX",
                                       "clusterY",
                                       "clusterZ",
                                       "clusterSchedulingPolicy",
                                       "maxPotentialClusterSize",
                                       "maxActiveClusters",
                                       "sharedMemoryRequestedPercentage"};
constexpr std::array kApiColumns = {"start",         "end",    "eventClass",  "globalTid",
                                    "correlationId", "nameId", "returnValue", "callchainId"};
constexpr std::array kMemcpyColumns = {
    "start",           "end",           "deviceId",       "contextId",   "greenContextId",
    "streamId",        "correlationId", "globalPid",      "bytes",       "copyKind",
    "deprecatedSrcId", "srcKind",       "dstKind",        "srcDeviceId", "srcContextId",
    "dstDeviceId",     "dstContextId",  "migrationCause", "graphNodeId", "virtualAddress",
    "copyCount"};
constexpr std::array kMemsetColumns = {"start",          "end",      "deviceId",      "contextId",
                                       "greenContextId", "streamId", "correlationId", "globalPid",
                                       "value",          "bytes",    "graphNodeId",   "memKind"};
constexpr std::array kSyncColumns = {
    "start",         "end",       "deviceId",           "contextId", "greenContextId", "streamId",
    "correlationId", "globalPid", "deprecatedSyncType", "syncType",  "eventId",        "eventSyncId"};
constexpr std::array kCudaEventColumns = {"timestamp",      "deviceId", "contextId",
                                          "greenContextId", "streamId", "correlationId",
                                          "globalPid",      "eventId",  "eventSyncId"};
constexpr std::array kOverheadColumns = {"start",         "end",    "eventClass",  "globalTid",
                                         "correlationId", "nameId", "overheadType"};
constexpr std::array kNvtxColumns = {"start",        "end",      "eventType",   "rangeId",
                                     "category",     "color",    "textId",      "globalTid",
                                     "endGlobalTid", "domainId", "uint64Value", "int64Value"};
constexpr std::array kMemoryColumns = {
    "start", "globalPid", "deviceId", "contextId",           "address",
    "pc",    "bytes",     "memKind",  "memoryOperationType", "correlationId"};
constexpr std::array kMarkColumns = {"t", "globalTid", "kind", "contextId", "moduleId", "bytes", "crc"};
constexpr std::array kLossColumns = {"kind", "count", "fromNs", "toNs", "globalPid", "why"};
constexpr std::array kSelfCostColumns = {"globalPid", "what", "ns", "count"};
constexpr std::array kStreamColumns = {"streamId", "processId", "contextId", "priority", "flag"};
constexpr std::array kContextColumns = {"nullStreamId",    "processId",      "deviceId",          "contextId",
                                        "parentContextId", "isGreenContext", "numMultiprocessors"};
constexpr std::array kThreadColumns = {"nameId", "priority", "globalTid"};
constexpr std::array kGraphNodeColumns = {"start",  "end",         "eventClass",         "globalTid",
                                          "nameId", "graphNodeId", "originalGraphNodeId"};
constexpr std::array kLatencyColumns = {"correlationId", "globalPid", "queued", "submitted"};
constexpr std::array kGpuMetricColumns = {"timestamp", "typeId", "metricId", "value"};
constexpr std::array kClockColumns = {"realtimeNs", "monotonicNs", "boottimeNs"};

template <class Row, std::size_t N>
constexpr TableInfo describe(const char* name, const std::array<const char*, N>& columns,
                             const char* constantColumns = "", const char* constantValues = "") {
  static_assert(std::is_standard_layout_v<Row> && std::is_trivially_copyable_v<Row>);
  static_assert(kColumnsOf<Row> == N, "members and columns differ");
  return {name, columns, constantColumns, constantValues};
}

// hwId 0 and vmId 1: one host, no virtual machines, as nsys writes it.
constexpr std::array<TableInfo, kTableCount> kTables = {
    describe<KernelRow>("CUPTI_ACTIVITY_KIND_KERNEL", kKernelColumns),
    describe<KernelRow>("WM_UNTIMED", kKernelColumns),
    describe<ApiRow>("CUPTI_ACTIVITY_KIND_RUNTIME", kApiColumns),
    describe<MemcpyRow>("CUPTI_ACTIVITY_KIND_MEMCPY", kMemcpyColumns),
    describe<MemsetRow>("CUPTI_ACTIVITY_KIND_MEMSET", kMemsetColumns),
    describe<SyncRow>("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", kSyncColumns),
    describe<CudaEventRow>("CUPTI_ACTIVITY_KIND_CUDA_EVENT", kCudaEventColumns),
    describe<OverheadRow>("CUPTI_ACTIVITY_KIND_OVERHEAD", kOverheadColumns),
    describe<NvtxRow>("NVTX_EVENTS", kNvtxColumns),
    describe<MemoryRow>("CUDA_GPU_MEMORY_USAGE_EVENTS", kMemoryColumns),
    describe<MarkRow>("WM_MARK", kMarkColumns),
    describe<LossRow>("WM_LOSS", kLossColumns),
    describe<SelfCostRow>("WM_SELF_COST", kSelfCostColumns),
    describe<StreamRow>("TARGET_INFO_CUDA_STREAM", kStreamColumns, ", hwId, vmId", ", 0, 1"),
    describe<ContextRow>("TARGET_INFO_CUDA_CONTEXT_INFO", kContextColumns, ", hwId, vmId", ", 0, 1"),
    describe<ThreadRow>("ThreadNames", kThreadColumns),
    describe<GraphNodeRow>("CUDA_GRAPH_NODE_EVENTS", kGraphNodeColumns),
    describe<ClockRow>("WM_CLOCK", kClockColumns),
    describe<LatencyRow>("WM_LATENCY", kLatencyColumns),
    describe<GpuMetricRow>("GPU_METRICS", kGpuMetricColumns),
};

}  // namespace

const TableInfo& tableInfo(Table table) { return kTables[static_cast<std::size_t>(table)]; }

}  // namespace warpmeter
