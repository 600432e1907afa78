-- SPDX-License-Identifier: Apache-2.0
-- ENUM_ tables: numbers and symbols that tools for nsys exports look up. Of the event types and classes only
-- those of CUDA and NVTX stand here.

CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES
  (0, 'CUDA_MEMCPY_KIND_UNKNOWN', 'Unknown'), (1, 'CUDA_MEMCPY_KIND_HTOD', 'Host-to-Device'),
  (2, 'CUDA_MEMCPY_KIND_DTOH', 'Device-to-Host'), (3, 'CUDA_MEMCPY_KIND_HTOA', 'Host-to-Array'),
  (4, 'CUDA_MEMCPY_KIND_ATOH', 'Array-to-Host'), (5, 'CUDA_MEMCPY_KIND_ATOA', 'Array-to-Array'),
  (6, 'CUDA_MEMCPY_KIND_ATOD', 'Array-to-Device'), (7, 'CUDA_MEMCPY_KIND_DTOA', 'Device-to-Array'),
  (8, 'CUDA_MEMCPY_KIND_DTOD', 'Device-to-Device'), (9, 'CUDA_MEMCPY_KIND_HTOH', 'Host-to-Host'),
  (10, 'CUDA_MEMCPY_KIND_PTOP', 'Peer-to-Peer'), (11, 'CUDA_MEMCPY_KIND_UVM_HTOD', 'Unified Host-to-Device'),
  (12, 'CUDA_MEMCPY_KIND_UVM_DTOH', 'Unified Device-to-Host'),
  (13, 'CUDA_MEMCPY_KIND_UVM_DTOD', 'Unified Device-to-Device');

CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEM_KIND VALUES
  (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'), (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned'),
  (2, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE', 'Device'), (3, 'CUDA_MEMOPR_MEMORY_KIND_ARRAY', 'Array'),
  (4, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED', 'Managed'),
  (5, 'CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC', 'Device Static'),
  (6, 'CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC', 'Managed Static'),
  (7, 'CUDA_MEMOPR_MEMORY_KIND_UNKNOWN', 'Unknown');

CREATE TABLE ENUM_CUDA_MEMPOOL_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMPOOL_TYPE VALUES
  (0, 'CUPTI_ACTIVITY_MEMORY_POOL_TYPE_INVALID', 'Invalid'),
  (1, 'CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL', 'Local'),
  (2, 'CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED', 'Imported');

CREATE TABLE ENUM_CUDA_MEMPOOL_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMPOOL_OPER VALUES
  (0, 'CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_INVALID', 'Invalid'),
  (1, 'CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED', 'Created'),
  (2, 'CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED', 'Destroyed'),
  (3, 'CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED', 'Trimmed');

CREATE TABLE ENUM_CUDA_DEV_MEM_EVENT_OPER (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_DEV_MEM_EVENT_OPER VALUES
  (0, 'CUDA_DEV_MEM_EVENT_OPR_ALLOCATION', 'Allocation'),
  (1, 'CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION', 'Deallocation');

CREATE TABLE ENUM_CUDA_KERNEL_LAUNCH_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_KERNEL_LAUNCH_TYPE VALUES
  (0, 'CUDA_KERNEL_LAUNCH_TYPE_UNKNOWN', 'Unknown'), (1, 'CUDA_KERNEL_LAUNCH_TYPE_REGULAR', 'Regular'),
  (2, 'CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE', 'Coop Single Device'),
  (3, 'CUDA_KERNEL_LAUNCH_TYPE_COOPERATIVE_MULTI_DEVICE', 'Coop Multi Device');

CREATE TABLE ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG VALUES
  (0, 'CUDA_SHARED_MEM_LIMIT_DEFAULT', 'Default'), (1, 'CUDA_SHARED_MEM_LIMIT_OPTIN', 'Opt in');

CREATE TABLE ENUM_CUDA_UNIF_MEM_MIGRATION (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_UNIF_MEM_MIGRATION VALUES
  (0, 'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_UNKNOWN', 'Unknown'),
  (1, 'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_USER', 'User prefetch'),
  (2, 'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_COHERENCE', 'Page fault'),
  (3, 'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_PREFETCH', 'Speculative prefetch'),
  (4, 'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_EVICTION', 'Eviction'),
  (5, 'CUDA_UNIFIED_MEMORY_MIGRATION_CAUSE_ACCESS_COUNTERS', 'Access counters');

CREATE TABLE ENUM_CUDA_UNIF_MEM_ACCESS_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_UNIF_MEM_ACCESS_TYPE VALUES
  (0, 'CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_UNKNOWN', 'Unknown'),
  (1, 'CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_READ', 'Read'),
  (2, 'CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_WRITE', 'Write'),
  (3, 'CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_ATOMIC', 'Atomic'),
  (4, 'CUPTI_ACTIVITY_UNIFIED_MEMORY_ACCESS_TYPE_PREFETCH', 'Prefetch');

CREATE TABLE ENUM_CUDA_FUNC_CACHE_CONFIG (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_FUNC_CACHE_CONFIG VALUES
  (0, 'CU_FUNC_CACHE_PREFER_NONE', 'None'), (1, 'CU_FUNC_CACHE_PREFER_SHARED', 'Shared'),
  (2, 'CU_FUNC_CACHE_PREFER_L1', 'L1'), (3, 'CU_FUNC_CACHE_PREFER_EQUAL', 'Equal');

CREATE TABLE ENUM_CUPTI_STREAM_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUPTI_STREAM_TYPE VALUES
  (0, 'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_UNKNOWN', 'Unknown stream type'),
  (1, 'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT', 'Default stream'),
  (2, 'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING', 'Non-blocking stream'),
  (3, 'CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL', 'Null stream');

CREATE TABLE ENUM_CUPTI_SYNC_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES
  (0, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN', 'Unknown'),
  (1, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE', 'Event sync'),
  (2, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT', 'Stream wait sync'),
  (3, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE', 'Stream sync'),
  (4, 'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE', 'Context sync');

CREATE TABLE ENUM_CUPTI_OVERHEAD_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUPTI_OVERHEAD_TYPE VALUES
  (0, 'OVERHEAD_UNDEFINED', 'Undefined'), (1, 'OVERHEAD_UNKNOWN', 'Unknown'),
  (2, 'OVERHEAD_DRIVER_COMPILER', 'Driver JIT compiler (CUDA)'),
  (3, 'OVERHEAD_CUPTI_BUFFER_FLUSH', 'Buffer flush (Profiler)'),
  (4, 'OVERHEAD_CUPTI_INSTRUMENTATION', 'Instrumentation (Profiler)'),
  (5, 'OVERHEAD_CUPTI_RESOURCE', 'Resource creation/destruction (Profiler)'),
  (6, 'OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING', 'Runtime module loading (CUDA)'),
  (7, 'OVERHEAD_LAZY_FUNCTION_LOADING', 'Lazy function loading (CUDA)'),
  (8, 'OVERHEAD_COMMAND_BUFFER_FULL', 'Command buffer full (CUDA)');

CREATE TABLE ENUM_DIAGNOSTIC_SEVERITY_LEVEL (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_DIAGNOSTIC_SEVERITY_LEVEL VALUES
  (0, 'UnknownLevel', 'Unknown'), (1, 'Info', 'Info'), (2, 'Warning', 'Warning'), (3, 'Error', 'Error'),
  (4, 'Verbose', 'Verbose');

CREATE TABLE ENUM_DIAGNOSTIC_SOURCE_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_DIAGNOSTIC_SOURCE_TYPE VALUES
  (0, 'UnknownSource', 'Unknown source'), (1, 'Injection', 'Injection'), (2, 'Daemon', 'Daemon'),
  (3, 'Analysis', 'Analysis');

CREATE TABLE ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE VALUES
  (0, 'UnknownTimestamp', 'Unknown timestamp'), (1, 'TargetTimestamp', 'Target timestamp'),
  (2, 'HostTimestamp', 'Host timestamp');

CREATE TABLE ENUM_NSYS_EVENT_TYPE (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES
  (0, 'Unknown', 'Unknown'), (32, 'NvtxEvents', 'NvtxEvents'), (33, 'NvtxCategory', 'NvtxCategory'),
  (34, 'NvtxMark', 'NvtxMark'), (35, 'NvtxPushRange', 'NvtxPushRange'), (36, 'NvtxPopRange', 'NvtxPopRange'),
  (37, 'NvtxStartRange', 'NvtxStartRange'), (38, 'NvtxEndRange', 'NvtxEndRange'), (39, 'NvtxThread', 'NvtxThread'),
  (45, 'Cuda', 'Cuda'), (46, 'CudaDevice', 'CudaDevice'), (48, 'TraceFunctions', 'TraceFunctions'),
  (59, 'NvtxPushPopRange', 'NvtxPushPopRange'), (60, 'NvtxStartEndRange', 'NvtxStartEndRange'),
  (64, 'NvtxtCategory', 'NvtxtCategory'), (65, 'NvtxtMark', 'NvtxtMark'), (66, 'NvtxtPushRange', 'NvtxtPushRange'),
  (67, 'NvtxtPopRange', 'NvtxtPopRange'), (68, 'NvtxtStartRange', 'NvtxtStartRange'),
  (69, 'NvtxtEndRange', 'NvtxtEndRange'), (70, 'NvtxtPushPopRange', 'NvtxtPushPopRange'),
  (71, 'NvtxtStartEndRange', 'NvtxtStartEndRange'), (72, 'NvtxtMetaThread', 'NvtxtMetaThread'),
  (73, 'NvtxtMetaProcess', 'NvtxtMetaProcess'), (74, 'NvtxtMetaFileDisplay', 'NvtxtMetaFileDisplay'),
  (75, 'NvtxDomainCreate', 'NvtxDomainCreate'), (76, 'NvtxDomainDestroy', 'NvtxDomainDestroy'),
  (79, 'CudaDeviceKernel', 'CudaDeviceKernel'), (80, 'CudaDeviceMemory', 'CudaDeviceMemory'),
  (97, 'NvtxNameCudaDevice', 'NvtxNameCudaDevice'), (98, 'NvtxNameCudaContext', 'NvtxNameCudaContext'),
  (99, 'NvtxNameCudaStream', 'NvtxNameCudaStream'), (106, 'CudaSyncEvent', 'CudaSyncEvent'),
  (108, 'CudaBacktrace', 'CudaBacktrace'), (113, 'CudaGraphNodeCreation', 'CudaGraphNodeCreation'),
  (117, 'CudaDeviceMemoryUsage', 'CudaDeviceMemoryUsage'),
  (119, 'CudaUvmCpuPageFaultEvent', 'CudaUvmCpuPageFaultEvent'),
  (120, 'CudaUvmGpuPageFaultEvent', 'CudaUvmGpuPageFaultEvent'), (127, 'CudaEventRecord', 'CudaEventRecord'),
  (129, 'CudaDeviceMemoryPool', 'CudaDeviceMemoryPool'), (130, 'CudaDeviceGraph', 'CudaDeviceGraph'),
  (131, 'CudaGraphExecCreation', 'CudaGraphExecCreation'), (132, 'CudaGraphCreation', 'CudaGraphCreation'),
  (133, 'CudaGraphClone', 'CudaGraphClone'), (142, 'CudaDeviceMemcpy', 'CudaDeviceMemcpy'),
  (148, 'CudaConfidentialComputeKeyRotation', 'CudaConfidentialComputeKeyRotation'),
  (149, 'CudaGraphExecNodeSetParams', 'CudaGraphExecNodeSetParams'), (151, 'CudaHostFunc', 'CudaHostFunc'),
  (152, 'CudaApi', 'CudaApi'), (154, 'CudaOverhead', 'CudaOverhead');

CREATE TABLE ENUM_NSYS_EVENT_CLASS (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_NSYS_EVENT_CLASS VALUES
  (0, 'TRACE_PROCESS_EVENT_CUDA_RUNTIME', 'CUDA runtime'), (1, 'TRACE_PROCESS_EVENT_CUDA_DRIVER', 'CUDA driver'),
  (6, 'TRACE_PROCESS_EVENT_NVTX_START', 'NVTX start'), (7, 'TRACE_PROCESS_EVENT_NVTX_FINISH', 'NVTX finish'),
  (10, 'TRACE_PROCESS_EVENT_CUDA_START', 'CUDA start'), (11, 'TRACE_PROCESS_EVENT_CUDA_FINISH', 'CUDA finish'),
  (12, 'TRACE_PROCESS_EVENT_CUDA_INIT_ERROR', 'CUDA init error'),
  (13, 'TRACE_PROCESS_EVENT_CUDA_EGL_DRIVER', 'CUDA EGL driver'),
  (26, 'TRACE_PROCESS_EVENT_CUDA_API', 'CUDA API'), (28, 'TRACE_PROCESS_EVENT_CUDNN', 'cuDNN'),
  (29, 'TRACE_PROCESS_EVENT_CUBLAS', 'cuBLAS'), (67, 'TRACE_PROCESS_EVENT_CUDABACKTRACE', 'CUDA backtrace'),
  (68, 'TRACE_PROCESS_EVENT_CUDABACKTRACE_START', 'CUDA backtrace start'),
  (69, 'TRACE_PROCESS_EVENT_CUDABACKTRACE_FINISH', 'CUDA backtrace finish'),
  (77, 'TRACE_PROCESS_EVENT_CUDA_GRAPH_NODE_CREATION', 'CUDA graph node creation'),
  (94, 'TRACE_PROCESS_EVENT_CUDA_GRAPHEXEC_CREATION', 'CUDA graph exec creation'),
  (95, 'TRACE_PROCESS_EVENT_CUDA_GRAPH_CREATION', 'CUDA graph creation'),
  (96, 'TRACE_PROCESS_EVENT_CUDA_GRAPH_CLONE', 'CUDA graph clone'),
  (102, 'TRACE_PROCESS_EVENT_CUDA_JIT', 'CUDA JIT'), (103, 'TRACE_PROCESS_EVENT_CUDA_OVERHEAD', 'CUDA overhead'),
  (111, 'TRACE_PROCESS_EVENT_CUDA_GRAPH_EXEC_NODE_SET_PARAMS', 'CUDA graph exec-node set params');
