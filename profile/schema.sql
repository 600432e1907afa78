-- SPDX-License-Identifier: Apache-2.0
-- The tables of a profile. docs/format.md explains them; a test compares both, and another compares the core
-- tables with tests/profile/core_columns.txt. Part 1 has the names, types and order of `nsys export --type sqlite`,
-- schema 3.24.14. Part 2 is Warpmeter's own and starts with WM_. Contents of the ENUM_ tables: enums.sql.

PRAGMA application_id = 0x574d5046;  -- "WMPF"
PRAGMA user_version = 0x00010001;    -- major << 16 | minor

-- Part 1: core tables.

-- Activity of the GPU.
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER,
  cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
  gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
  staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
  localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
  sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER,
  qmdBulkReleaseDone INTEGER, qmdPreexitDone INTEGER, qmdLastCtaDone INTEGER, graphId INTEGER,
  clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER, clusterSchedulingPolicy INTEGER,
  maxPotentialClusterSize INTEGER, maxActiveClusters INTEGER, sharedMemoryRequestedPercentage INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER,
  dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER,
  migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  deprecatedSyncType INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL, eventSyncId INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (
  timestamp INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, eventId INTEGER NOT NULL,
  eventSyncId INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (
  start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  graphId INTEGER NOT NULL, graphExecId INTEGER NOT NULL
);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (
  start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
  address INTEGER NOT NULL, pc INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL,
  memoryOperationType INTEGER NOT NULL, name TEXT, correlationId INTEGER, localMemoryPoolAddress INTEGER,
  localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER,
  importedMemoryPoolAddress INTEGER, importedMemoryPoolProcessId INTEGER
);
CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS (
  start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, address INTEGER NOT NULL,
  operationType INTEGER NOT NULL, poolType INTEGER NOT NULL, correlationId INTEGER, minBytesToKeep INTEGER,
  localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER
);
CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (
  start INTEGER NOT NULL, globalPid INTEGER NOT NULL, address INTEGER NOT NULL, originalFaultPc INTEGER,
  CpuInstruction INTEGER NOT NULL, module INTEGER NOT NULL, unresolvedFaultPc INTEGER
);
CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (
  start INTEGER NOT NULL, end INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  address INTEGER NOT NULL, numberOfPageFaults INTEGER NOT NULL, faultAccessType INTEGER NOT NULL
);
CREATE TABLE GPU_METRICS (
  timestamp INTEGER, typeId INTEGER NOT NULL, metricId INTEGER NOT NULL, value INTEGER NOT NULL
);
CREATE TABLE TARGET_INFO_GPU_METRICS (
  typeId INTEGER NOT NULL, sourceId INTEGER NOT NULL, typeName TEXT NOT NULL, metricId INTEGER NOT NULL,
  metricName TEXT NOT NULL
);

-- Activity of the host.
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
  start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER
);
CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (
  start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  correlationId INTEGER, nameId INTEGER, overheadType INTEGER NOT NULL
);
CREATE TABLE PROFILER_OVERHEAD (
  start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, nameId INTEGER NOT NULL,
  overheadType INTEGER NOT NULL
);
CREATE TABLE CUDA_GRAPH_EVENTS (
  start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  nameId INTEGER NOT NULL, graphId INTEGER, originalGraphId INTEGER, graphExecId INTEGER
);
CREATE TABLE CUDA_GRAPH_NODE_EVENTS (
  start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
  nameId INTEGER NOT NULL, graphNodeId INTEGER NOT NULL, originalGraphNodeId INTEGER
);
CREATE TABLE CUDA_CALLCHAINS (
  id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, unresolved INTEGER,
  originalIP INTEGER, stackDepth INTEGER NOT NULL, PRIMARY KEY (id, stackDepth)
);
CREATE TABLE NVTX_EVENTS (
  start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
  color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER,
  uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER,
  floatValue REAL, jsonTextId INTEGER, jsonText TEXT, binaryData TEXT
);

-- Names, processes, threads.
CREATE TABLE StringIds (
  id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL
);
CREATE TABLE PROCESSES (
  globalPid INTEGER, pid INTEGER, name TEXT
);
CREATE TABLE ThreadNames (
  nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER
);

-- The machine and the session.
CREATE TABLE TARGET_INFO_GPU (
  vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, isDiscrete INTEGER,
  l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER,
  pwGpuId INTEGER, uuid TEXT, luid INTEGER, chipName TEXT, cuDevice INTEGER, ctxswDevPath TEXT,
  ctrlDevPath TEXT, revision INTEGER, nodeMask INTEGER, constantMemory INTEGER, maxIPC INTEGER,
  maxRegistersPerBlock INTEGER, maxShmemPerBlock INTEGER, maxShmemPerBlockOptin INTEGER,
  maxShmemPerSm INTEGER, maxRegistersPerSm INTEGER, threadsPerWarp INTEGER, asyncEngines INTEGER,
  maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER, maxThreadsPerBlock INTEGER, maxBlockDimX INTEGER,
  maxBlockDimY INTEGER, maxBlockDimZ INTEGER, maxGridDimX INTEGER, maxGridDimY INTEGER, maxGridDimZ INTEGER,
  computeMajor INTEGER, computeMinor INTEGER, smMajor INTEGER, smMinor INTEGER
);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (
  gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER
);
CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (
  nullStreamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, parentContextId INTEGER, isGreenContext INTEGER,
  numMultiprocessors INTEGER
);
CREATE TABLE TARGET_INFO_CUDA_STREAM (
  streamId INTEGER NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, priority INTEGER NOT NULL, flag INTEGER NOT NULL
);
CREATE TABLE TARGET_INFO_NVTX_CUDA_DEVICE (
  name TEXT NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, deviceId INTEGER NOT NULL
);
CREATE TABLE TARGET_INFO_NVTX_CUDA_CONTEXT (
  name TEXT NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL
);
CREATE TABLE TARGET_INFO_NVTX_CUDA_STREAM (
  name TEXT NOT NULL, hwId INTEGER NOT NULL, vmId INTEGER NOT NULL, processId INTEGER NOT NULL,
  deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL
);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (
  utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER
);
CREATE TABLE TARGET_INFO_SYSTEM_ENV (
  globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL,
  value TEXT NOT NULL
);
CREATE TABLE ANALYSIS_DETAILS (
  globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL,
  stopTime INTEGER NOT NULL
);
CREATE TABLE DIAGNOSTIC_EVENT (
  timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL,
  severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER
);
CREATE TABLE META_DATA_CAPTURE (
  name TEXT NOT NULL, value TEXT
);
CREATE TABLE META_DATA_EXPORT (
  name TEXT NOT NULL, value TEXT
);

-- Part 2: Warpmeter's own tables.

-- One row.
CREATE TABLE WM_SESSION (
  format TEXT NOT NULL, utcEpochNs INTEGER, monotonicNs INTEGER, boottimeNs INTEGER, started INTEGER,
  ended INTEGER, endedHow TEXT, hostname TEXT, warpmeterVersion TEXT, driverVersion TEXT, counters TEXT,
  countersText TEXT, nvtxRequested INTEGER NOT NULL, apiMode TEXT, finished INTEGER NOT NULL, overviewStart INTEGER,
  overviewBucketNs INTEGER
);

-- One row a second.
CREATE TABLE WM_LATENCY (
  correlationId INTEGER NOT NULL, globalPid INTEGER NOT NULL, queued INTEGER, submitted INTEGER
);
CREATE TABLE WM_CLOCK (
  realtimeNs INTEGER, monotonicNs INTEGER, boottimeNs INTEGER
);

-- One row per process of the recorded tree.
CREATE TABLE WM_PROCESS (
  globalPid INTEGER NOT NULL PRIMARY KEY, pid INTEGER NOT NULL, parentPid INTEGER, name TEXT, argv TEXT,
  start INTEGER, startUncertainty INTEGER, exit INTEGER, how TEXT, rank INTEGER, cuptiVersion INTEGER,
  cuptiPath TEXT, status TEXT
);

-- Points in the life of a process; kind refers to WM_MARK_KIND.
CREATE TABLE WM_MARK (
  t INTEGER, globalTid INTEGER, kind INTEGER NOT NULL, contextId INTEGER, moduleId INTEGER, bytes INTEGER,
  crc INTEGER
);

-- The closed list of mark kinds.
CREATE TABLE WM_MARK_KIND (
  id INTEGER NOT NULL PRIMARY KEY, name TEXT NOT NULL
);

-- What TARGET_INFO_GPU has no column for; gpuId = TARGET_INFO_GPU.id.
CREATE TABLE WM_GPU_LIMIT (
  gpuId INTEGER NOT NULL PRIMARY KEY, reservedShmemPerBlock INTEGER, memoryClockHz INTEGER,
  memoryBusBits INTEGER, limitSource TEXT
);

-- What is missing from the file; kind and why refer to StringIds, count NULL = unknown.
CREATE TABLE WM_LOSS (
  kind INTEGER NOT NULL, count INTEGER, fromNs INTEGER, toNs INTEGER, globalPid INTEGER, why INTEGER
);

-- Launches whose times were not recorded: the kernel table's columns, start and end NULL.
CREATE TABLE WM_UNTIMED (
  start INTEGER, end INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER,
  streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
  shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER,
  registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL,
  gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL,
  staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL,
  localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL,
  sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER,
  qmdBulkReleaseDone INTEGER, qmdPreexitDone INTEGER, qmdLastCtaDone INTEGER, graphId INTEGER,
  clusterX INTEGER, clusterY INTEGER, clusterZ INTEGER, clusterSchedulingPolicy INTEGER,
  maxPotentialClusterSize INTEGER, maxActiveClusters INTEGER, sharedMemoryRequestedPercentage INTEGER
);

-- What recording cost; what refers to StringIds.
CREATE TABLE WM_SELF_COST (
  globalPid INTEGER, what INTEGER NOT NULL, ns INTEGER, count INTEGER
);

-- Busy time per lane and 1/4096 of the run; shortName = the kernel with most time in the bucket.
CREATE TABLE WM_OVERVIEW (
  globalPid INTEGER, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL,
  bucket INTEGER NOT NULL, busyNs INTEGER NOT NULL, shortName INTEGER
);

-- Counters, sampled: one row per metric of a set, and one per batch of samples of a set, see sample_pack.h.
CREATE TABLE WM_SAMPLE_SET (
  setId INTEGER NOT NULL, gpuId INTEGER NOT NULL, chip TEXT, position INTEGER NOT NULL, metric TEXT NOT NULL,
  PRIMARY KEY (setId, position)
);
CREATE TABLE WM_SAMPLE (
  setId INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL, intervalNs INTEGER,
  samples INTEGER NOT NULL, data BLOB NOT NULL
);

-- Counters of single launches; metric refers to StringIds.
CREATE TABLE WM_RANGED (
  globalPid INTEGER, correlationId INTEGER, configuration INTEGER NOT NULL, metric INTEGER NOT NULL,
  value REAL NOT NULL
);

-- Stall reasons per instruction; function, stallReason, file refer to StringIds.
CREATE TABLE WM_PC (
  globalPid INTEGER, function INTEGER NOT NULL, pcOffset INTEGER NOT NULL, stallReason INTEGER NOT NULL,
  samples INTEGER NOT NULL, file INTEGER, line INTEGER
);

-- What PC sampling did on each GPU of each process.
CREATE TABLE WM_PC_RUN (
  globalPid INTEGER, deviceId INTEGER NOT NULL, chip TEXT, periodCycles INTEGER, samples INTEGER NOT NULL,
  otherKernels INTEGER NOT NULL, dropped INTEGER NOT NULL
);

-- What a GPU can reach.
CREATE TABLE WM_CEILING (
  gpuId INTEGER NOT NULL, kind TEXT NOT NULL, value REAL NOT NULL, source TEXT NOT NULL,
  PRIMARY KEY (gpuId, kind)
);

INSERT INTO WM_MARK_KIND VALUES
  (1, 'process_start'), (2, 'injection_entered'), (3, 'injection_done'), (4, 'cu_init_finished'),
  (5, 'context_created'), (6, 'context_destroyed'), (7, 'module_loaded'), (8, 'module_unloaded'),
  (9, 'jit_started'), (10, 'process_exit');

INSERT INTO META_DATA_EXPORT VALUES
  ('EXPORT_PRODUCT_NAME', 'Warpmeter'), ('EXPORT_PRODUCT_VERSION', '@PROJECT_VERSION@'),
  ('EXPORT_SCHEMA_VERSION', '3.24.14'), ('EXPORT_SCHEMA_VERSION_MAJOR', '3'),
  ('EXPORT_SCHEMA_VERSION_MINOR', '24'), ('EXPORT_SCHEMA_VERSION_MICRO', '14');
INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE', 'Node');
