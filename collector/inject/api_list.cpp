// SPDX-License-Identifier: Apache-2.0
#include "api_list.h"

namespace warpmeter::inject {
namespace {

#define R(name) static_cast<std::uint16_t>(CUPTI_RUNTIME_TRACE_CBID_##name)
#define D(name) static_cast<std::uint16_t>(CUPTI_DRIVER_TRACE_CBID_##name)

// What `--api work` records. Left out: queries of properties and of the current device or context, error strings.
constexpr std::uint16_t kRuntimeWork[] = {
    // launches
    R(cudaLaunch_v3020), R(cudaLaunchKernel_v7000), R(cudaLaunch_ptsz_v7000), R(cudaLaunchKernel_ptsz_v7000),
    R(cudaLaunchCooperativeKernel_v9000), R(cudaLaunchCooperativeKernel_ptsz_v9000),
    R(cudaLaunchCooperativeKernelMultiDevice_v9000), R(cudaLaunchHostFunc_v10000),
    R(cudaLaunchHostFunc_ptsz_v10000), R(cudaGraphLaunch_v10000), R(cudaGraphLaunch_ptsz_v10000),
    R(cudaLaunchKernelExC_v11060), R(cudaLaunchKernelExC_ptsz_v11060), R(__cudaLaunchKernel_v13000),
    R(__cudaLaunchKernel_ptsz_v13000),
    // copies
    R(cudaMemcpy_v3020), R(cudaMemcpy2D_v3020), R(cudaMemcpyToArray_v3020), R(cudaMemcpy2DToArray_v3020),
    R(cudaMemcpyFromArray_v3020), R(cudaMemcpy2DFromArray_v3020), R(cudaMemcpyArrayToArray_v3020),
    R(cudaMemcpy2DArrayToArray_v3020), R(cudaMemcpyToSymbol_v3020), R(cudaMemcpyFromSymbol_v3020),
    R(cudaMemcpyAsync_v3020), R(cudaMemcpyToArrayAsync_v3020), R(cudaMemcpyFromArrayAsync_v3020),
    R(cudaMemcpy2DAsync_v3020), R(cudaMemcpy2DToArrayAsync_v3020), R(cudaMemcpy2DFromArrayAsync_v3020),
    R(cudaMemcpyToSymbolAsync_v3020), R(cudaMemcpyFromSymbolAsync_v3020), R(cudaMemcpy3D_v3020),
    R(cudaMemcpy3DAsync_v3020), R(cudaMemcpyPeer_v4000), R(cudaMemcpyPeerAsync_v4000),
    R(cudaMemcpy3DPeer_v4000), R(cudaMemcpy3DPeerAsync_v4000), R(cudaMemcpy_ptds_v7000),
    R(cudaMemcpy2D_ptds_v7000), R(cudaMemcpyToArray_ptds_v7000), R(cudaMemcpy2DToArray_ptds_v7000),
    R(cudaMemcpyFromArray_ptds_v7000), R(cudaMemcpy2DFromArray_ptds_v7000),
    R(cudaMemcpyArrayToArray_ptds_v7000), R(cudaMemcpy2DArrayToArray_ptds_v7000),
    R(cudaMemcpyToSymbol_ptds_v7000), R(cudaMemcpyFromSymbol_ptds_v7000), R(cudaMemcpyAsync_ptsz_v7000),
    R(cudaMemcpyToArrayAsync_ptsz_v7000), R(cudaMemcpyFromArrayAsync_ptsz_v7000),
    R(cudaMemcpy2DAsync_ptsz_v7000), R(cudaMemcpy2DToArrayAsync_ptsz_v7000),
    R(cudaMemcpy2DFromArrayAsync_ptsz_v7000), R(cudaMemcpyToSymbolAsync_ptsz_v7000),
    R(cudaMemcpyFromSymbolAsync_ptsz_v7000), R(cudaMemcpy3D_ptds_v7000), R(cudaMemcpy3DAsync_ptsz_v7000),
    R(cudaMemcpy3DPeer_ptds_v7000), R(cudaMemcpy3DPeerAsync_ptsz_v7000), R(cudaMemPrefetchAsync_v8000),
    R(cudaMemPrefetchAsync_ptsz_v8000), R(cudaMemPrefetchAsync_v12020), R(cudaMemPrefetchAsync_ptsz_v12020),
    R(cudaMemcpyBatchAsync_v12080), R(cudaMemcpyBatchAsync_ptsz_v12080), R(cudaMemcpy3DBatchAsync_v12080),
    R(cudaMemcpy3DBatchAsync_ptsz_v12080), R(cudaMemPrefetchBatchAsync_v13000),
    R(cudaMemPrefetchBatchAsync_ptsz_v13000), R(cudaMemDiscardBatchAsync_v13000),
    R(cudaMemDiscardBatchAsync_ptsz_v13000), R(cudaMemDiscardAndPrefetchBatchAsync_v13000),
    R(cudaMemDiscardAndPrefetchBatchAsync_ptsz_v13000), R(cudaMemcpyBatchAsync_v13000),
    R(cudaMemcpyBatchAsync_ptsz_v13000), R(cudaMemcpy3DBatchAsync_v13000),
    R(cudaMemcpy3DBatchAsync_ptsz_v13000),
    // memsets
    R(cudaMemset_v3020), R(cudaMemset2D_v3020), R(cudaMemsetAsync_v3020), R(cudaMemset2DAsync_v3020),
    R(cudaMemset3D_v3020), R(cudaMemset3DAsync_v3020), R(cudaMemset_ptds_v7000), R(cudaMemset2D_ptds_v7000),
    R(cudaMemsetAsync_ptsz_v7000), R(cudaMemset2DAsync_ptsz_v7000), R(cudaMemset3D_ptds_v7000),
    R(cudaMemset3DAsync_ptsz_v7000),
    // allocations
    R(cudaMalloc_v3020), R(cudaMallocPitch_v3020), R(cudaFree_v3020), R(cudaMallocArray_v3020),
    R(cudaFreeArray_v3020), R(cudaMallocHost_v3020), R(cudaFreeHost_v3020), R(cudaHostAlloc_v3020),
    R(cudaMalloc3D_v3020), R(cudaMalloc3DArray_v3020), R(cudaHostRegister_v4000), R(cudaHostUnregister_v4000),
    R(cudaIpcOpenMemHandle_v4010), R(cudaIpcCloseMemHandle_v4010), R(cudaMallocMipmappedArray_v5000),
    R(cudaFreeMipmappedArray_v5000), R(cudaMallocManaged_v6000), R(cudaMemAdvise_v8000),
    R(cudaMallocAsync_v11020), R(cudaMallocAsync_ptsz_v11020), R(cudaFreeAsync_v11020),
    R(cudaFreeAsync_ptsz_v11020), R(cudaMemPoolTrimTo_v11020), R(cudaMemPoolCreate_v11020),
    R(cudaMemPoolDestroy_v11020), R(cudaMallocFromPoolAsync_v11020), R(cudaMallocFromPoolAsync_ptsz_v11020),
    R(cudaMemAdvise_v12020),
    // synchronization
    R(cudaThreadSynchronize_v3020), R(cudaStreamSynchronize_v3020), R(cudaStreamQuery_v3020),
    R(cudaEventSynchronize_v3020), R(cudaEventQuery_v3020), R(cudaStreamWaitEvent_v3020),
    R(cudaDeviceSynchronize_v3020), R(cudaStreamSynchronize_ptsz_v7000), R(cudaStreamQuery_ptsz_v7000),
    R(cudaStreamWaitEvent_ptsz_v7000), R(cudaSignalExternalSemaphoresAsync_v10000),
    R(cudaSignalExternalSemaphoresAsync_ptsz_v10000), R(cudaWaitExternalSemaphoresAsync_v10000),
    R(cudaWaitExternalSemaphoresAsync_ptsz_v10000), R(cudaSignalExternalSemaphoresAsync_v11020),
    R(cudaSignalExternalSemaphoresAsync_ptsz_v11020), R(cudaWaitExternalSemaphoresAsync_v11020),
    R(cudaWaitExternalSemaphoresAsync_ptsz_v11020),
    // streams
    R(cudaStreamCreate_v3020), R(cudaStreamDestroy_v3020), R(cudaStreamAddCallback_v5000),
    R(cudaStreamCreateWithFlags_v5000), R(cudaStreamDestroy_v5050), R(cudaStreamCreateWithPriority_v5050),
    R(cudaStreamAttachMemAsync_v6000), R(cudaStreamAttachMemAsync_ptsz_v7000),
    R(cudaStreamAddCallback_ptsz_v7000),
    // events
    R(cudaEventCreate_v3020), R(cudaEventCreateWithFlags_v3020), R(cudaEventRecord_v3020),
    R(cudaEventDestroy_v3020), R(cudaEventElapsedTime_v3020), R(cudaEventRecord_ptsz_v7000),
    R(cudaEventCreateFromEGLSync_v9000), R(cudaEventRecordWithFlags_v11010),
    R(cudaEventRecordWithFlags_ptsz_v11010), R(cudaEventElapsedTime_v12080),
    // graphs
    R(cudaGraphCreate_v10000), R(cudaGraphAddKernelNode_v10000), R(cudaGraphAddMemcpyNode_v10000),
    R(cudaGraphAddMemsetNode_v10000), R(cudaGraphAddHostNode_v10000), R(cudaGraphAddChildGraphNode_v10000),
    R(cudaGraphClone_v10000), R(cudaGraphDestroyNode_v10000), R(cudaGraphInstantiate_v10000),
    R(cudaGraphExecDestroy_v10000), R(cudaGraphDestroy_v10000), R(cudaStreamBeginCapture_v10000),
    R(cudaStreamBeginCapture_ptsz_v10000), R(cudaStreamEndCapture_v10000),
    R(cudaStreamEndCapture_ptsz_v10000), R(cudaGraphExecKernelNodeSetParams_v10010),
    R(cudaGraphExecMemcpyNodeSetParams_v10020), R(cudaGraphExecMemsetNodeSetParams_v10020),
    R(cudaGraphExecHostNodeSetParams_v10020), R(cudaGraphExecUpdate_v10020), R(cudaGraphUpload_v10000),
    R(cudaGraphUpload_ptsz_v10000), R(cudaGraphAddMemcpyNodeToSymbol_v11010),
    R(cudaGraphAddMemcpyNodeFromSymbol_v11010), R(cudaGraphAddMemcpyNode1D_v11010),
    R(cudaGraphExecMemcpyNodeSetParamsToSymbol_v11010), R(cudaGraphExecMemcpyNodeSetParamsFromSymbol_v11010),
    R(cudaGraphExecMemcpyNodeSetParams1D_v11010), R(cudaGraphExecChildGraphNodeSetParams_v11010),
    R(cudaGraphExecExternalSemaphoresSignalNodeSetParams_v11020),
    R(cudaGraphExecExternalSemaphoresWaitNodeSetParams_v11020), R(cudaGraphInstantiateWithFlags_v11040),
    R(cudaGraphAddMemAllocNode_v11040), R(cudaGraphAddMemFreeNode_v11040), R(cudaDeviceGraphMemTrim_v11040),
    R(cudaGraphInstantiateWithParams_v12000), R(cudaGraphInstantiateWithParams_ptsz_v12000),
    R(cudaGraphInstantiate_v12000), R(cudaGraphAddNode_v12020), R(cudaGraphExecNodeSetParams_v12020),
    R(cudaStreamBeginCaptureToGraph_v12030), R(cudaStreamBeginCaptureToGraph_ptsz_v12030),
    R(cudaGraphAddNode_v12030),
    // modules, libraries, contexts
    R(cudaFuncGetAttributes_v3020), R(cudaSetDevice_v3020), R(cudaThreadExit_v3020),
    R(cudaDeviceEnablePeerAccess_v4000), R(cudaDeviceDisablePeerAccess_v4000), R(cudaDeviceReset_v3020),
    R(cudaFuncSetAttribute_v9000), R(cudaGetKernel_v12000), R(cudaInitDevice_v12000),
    R(cudaLibraryLoadData_v12060), R(cudaLibraryLoadFromFile_v12060), R(cudaLibraryUnload_v12060),
    R(cudaLibraryGetKernel_v12060), R(cudaLibraryGetKernelCount_v12060), R(__cudaRegisterFatBinary_v13000),
    R(__cudaRegisterFatBinaryEnd_v13000), R(__cudaInitModule_v13000),
    // any of these may be the first to need the context, and then takes as long as its creation (PyTorch: the first one)
    R(cudaDeviceGetStreamPriorityRange_v5050), R(cudaMemGetInfo_v3020), R(cudaDeviceSetLimit_v3020),
    R(cudaDeviceGetDefaultMemPool_v11020), R(cudaIpcOpenMemHandle_v4010), R(cudaIpcOpenEventHandle_v4010),
};

constexpr std::uint16_t kDriverWork[] = {
    // launches
    D(cuLaunch), D(cuLaunchGrid), D(cuLaunchGridAsync), D(cuLaunchKernel), D(cuLaunchKernel_ptsz),
    D(cuLaunchCooperativeKernel), D(cuLaunchCooperativeKernel_ptsz), D(cuLaunchCooperativeKernelMultiDevice),
    D(cuGraphLaunch), D(cuGraphLaunch_ptsz), D(cuLaunchHostFunc), D(cuLaunchHostFunc_ptsz),
    D(cuLaunchKernelEx), D(cuLaunchKernelEx_ptsz),
    // copies
    D(cuMemcpyHtoD), D(cu64MemcpyHtoD), D(cuMemcpyDtoH), D(cu64MemcpyDtoH), D(cuMemcpyDtoD),
    D(cu64MemcpyDtoD), D(cuMemcpyDtoA), D(cu64MemcpyDtoA), D(cuMemcpyAtoD), D(cu64MemcpyAtoD),
    D(cuMemcpyHtoA), D(cuMemcpyAtoH), D(cuMemcpyAtoA), D(cuMemcpy2D), D(cuMemcpy2DUnaligned), D(cuMemcpy3D),
    D(cu64Memcpy3D), D(cuMemcpyHtoDAsync), D(cu64MemcpyHtoDAsync), D(cuMemcpyDtoHAsync),
    D(cu64MemcpyDtoHAsync), D(cuMemcpyDtoDAsync), D(cu64MemcpyDtoDAsync), D(cuMemcpyHtoAAsync),
    D(cuMemcpyAtoHAsync), D(cuMemcpy2DAsync), D(cuMemcpy3DAsync), D(cu64Memcpy3DAsync), D(cu64Memcpy2D),
    D(cu64Memcpy2DUnaligned), D(cu64Memcpy2DAsync), D(cuMemcpy_v2), D(cuMemcpyHtoD_v2),
    D(cuMemcpyHtoDAsync_v2), D(cuMemcpyDtoH_v2), D(cuMemcpyDtoHAsync_v2), D(cuMemcpyDtoD_v2),
    D(cuMemcpyDtoDAsync_v2), D(cuMemcpyAtoH_v2), D(cuMemcpyAtoHAsync_v2), D(cuMemcpyAtoD_v2),
    D(cuMemcpyDtoA_v2), D(cuMemcpyAtoA_v2), D(cuMemcpy2D_v2), D(cuMemcpy2DUnaligned_v2),
    D(cuMemcpy2DAsync_v2), D(cuMemcpy3D_v2), D(cuMemcpy3DAsync_v2), D(cuMemcpyHtoA_v2),
    D(cuMemcpyHtoAAsync_v2), D(cuMemcpy), D(cuMemcpyAsync), D(cuMemcpyPeer), D(cuMemcpyPeerAsync),
    D(cuMemcpy3DPeer), D(cuMemcpy3DPeerAsync), D(cuMemcpyHtoD_v2_ptds), D(cuMemcpyDtoH_v2_ptds),
    D(cuMemcpyDtoD_v2_ptds), D(cuMemcpyDtoA_v2_ptds), D(cuMemcpyAtoD_v2_ptds), D(cuMemcpyHtoA_v2_ptds),
    D(cuMemcpyAtoH_v2_ptds), D(cuMemcpyAtoA_v2_ptds), D(cuMemcpy2D_v2_ptds), D(cuMemcpy2DUnaligned_v2_ptds),
    D(cuMemcpy3D_v2_ptds), D(cuMemcpy_ptds), D(cuMemcpyPeer_ptds), D(cuMemcpy3DPeer_ptds),
    D(cuMemcpyAsync_ptsz), D(cuMemcpyHtoAAsync_v2_ptsz), D(cuMemcpyAtoHAsync_v2_ptsz),
    D(cuMemcpyHtoDAsync_v2_ptsz), D(cuMemcpyDtoHAsync_v2_ptsz), D(cuMemcpyDtoDAsync_v2_ptsz),
    D(cuMemcpy2DAsync_v2_ptsz), D(cuMemcpy3DAsync_v2_ptsz), D(cuMemcpyPeerAsync_ptsz),
    D(cuMemcpy3DPeerAsync_ptsz), D(cuMemPrefetchAsync), D(cuMemPrefetchAsync_ptsz), D(cuMemPrefetchAsync_v2),
    D(cuMemPrefetchAsync_v2_ptsz), D(cuMemBatchDecompressAsync), D(cuMemBatchDecompressAsync_ptsz),
    D(cuMemcpyBatchAsync), D(cuMemcpyBatchAsync_ptsz), D(cuMemcpy3DBatchAsync), D(cuMemcpy3DBatchAsync_ptsz),
    D(cuMemPrefetchBatchAsync), D(cuMemPrefetchBatchAsync_ptsz), D(cuMemDiscardBatchAsync),
    D(cuMemDiscardBatchAsync_ptsz), D(cuMemDiscardAndPrefetchBatchAsync),
    D(cuMemDiscardAndPrefetchBatchAsync_ptsz), D(cuMemcpyBatchAsync_v2), D(cuMemcpyBatchAsync_v2_ptsz),
    D(cuMemcpy3DBatchAsync_v2), D(cuMemcpy3DBatchAsync_v2_ptsz),
    // memsets
    D(cuMemsetD8), D(cu64MemsetD8), D(cuMemsetD16), D(cu64MemsetD16), D(cuMemsetD32), D(cu64MemsetD32),
    D(cuMemsetD2D8), D(cu64MemsetD2D8), D(cuMemsetD2D16), D(cu64MemsetD2D16), D(cuMemsetD2D32),
    D(cu64MemsetD2D32), D(cuMemsetD8Async), D(cu64MemsetD8Async), D(cuMemsetD16Async), D(cu64MemsetD16Async),
    D(cuMemsetD32Async), D(cu64MemsetD32Async), D(cuMemsetD2D8Async), D(cu64MemsetD2D8Async),
    D(cuMemsetD2D16Async), D(cu64MemsetD2D16Async), D(cuMemsetD2D32Async), D(cu64MemsetD2D32Async),
    D(cuMemsetD8_v2), D(cuMemsetD16_v2), D(cuMemsetD32_v2), D(cuMemsetD2D8_v2), D(cuMemsetD2D16_v2),
    D(cuMemsetD2D32_v2), D(cuMemsetD8_v2_ptds), D(cuMemsetD16_v2_ptds), D(cuMemsetD32_v2_ptds),
    D(cuMemsetD2D8_v2_ptds), D(cuMemsetD2D16_v2_ptds), D(cuMemsetD2D32_v2_ptds), D(cuMemsetD8Async_ptsz),
    D(cuMemsetD16Async_ptsz), D(cuMemsetD32Async_ptsz), D(cuMemsetD2D8Async_ptsz), D(cuMemsetD2D16Async_ptsz),
    D(cuMemsetD2D32Async_ptsz),
    // allocations
    D(cuMemAlloc), D(cu64MemAlloc), D(cuMemAllocPitch), D(cu64MemAllocPitch), D(cuMemFree), D(cu64MemFree),
    D(cuMemAllocHost), D(cuMemFreeHost), D(cuMemHostAlloc), D(cuArrayCreate), D(cuArrayDestroy),
    D(cuArray3DCreate), D(cu64MemHostAlloc), D(cuMemAlloc_v2), D(cuMemAllocPitch_v2), D(cuMemFree_v2),
    D(cuMemHostAlloc_v2), D(cuArrayCreate_v2), D(cuArray3DCreate_v2), D(cuMemAllocHost_v2),
    D(cuMemHostRegister), D(cuMemHostUnregister), D(cuIpcOpenMemHandle), D(cuIpcCloseMemHandle),
    D(cuMipmappedArrayCreate), D(cuMipmappedArrayDestroy), D(cuMemAllocManaged), D(cuMemHostRegister_v2),
    D(cuMemAdvise), D(cuMemAddressReserve), D(cuMemAddressFree), D(cuMemCreate), D(cuMemRelease), D(cuMemMap),
    D(cuMemUnmap), D(cuMemSetAccess), D(cuIpcOpenMemHandle_v2), D(cuMemMapArrayAsync),
    D(cuMemMapArrayAsync_ptsz), D(cuMemAllocAsync), D(cuMemAllocAsync_ptsz), D(cuMemFreeAsync),
    D(cuMemFreeAsync_ptsz), D(cuMemPoolTrimTo), D(cuMemPoolCreate), D(cuMemPoolDestroy),
    D(cuMemAllocFromPoolAsync), D(cuMemAllocFromPoolAsync_ptsz), D(cuMemAdvise_v2),
    // synchronization
    D(cuCtxSynchronize), D(cuEventQuery), D(cuEventSynchronize), D(cuStreamQuery), D(cuStreamSynchronize),
    D(cuStreamWaitEvent), D(cuStreamWaitEvent_ptsz), D(cuStreamQuery_ptsz), D(cuStreamSynchronize_ptsz),
    D(cuStreamWaitValue32), D(cuStreamWaitValue32_ptsz), D(cuStreamWriteValue32),
    D(cuStreamWriteValue32_ptsz), D(cuStreamBatchMemOp), D(cuStreamBatchMemOp_ptsz), D(cuStreamWaitValue64),
    D(cuStreamWaitValue64_ptsz), D(cuStreamWriteValue64), D(cuStreamWriteValue64_ptsz),
    D(cuSignalExternalSemaphoresAsync), D(cuSignalExternalSemaphoresAsync_ptsz),
    D(cuWaitExternalSemaphoresAsync), D(cuWaitExternalSemaphoresAsync_ptsz), D(cuStreamWaitValue32_v2),
    D(cuStreamWaitValue32_v2_ptsz), D(cuStreamWaitValue64_v2), D(cuStreamWaitValue64_v2_ptsz),
    D(cuStreamWriteValue32_v2), D(cuStreamWriteValue32_v2_ptsz), D(cuStreamWriteValue64_v2),
    D(cuStreamWriteValue64_v2_ptsz), D(cuStreamBatchMemOp_v2), D(cuStreamBatchMemOp_v2_ptsz),
    D(cuGreenCtxRecordEvent), D(cuGreenCtxWaitEvent), D(cuCtxRecordEvent), D(cuCtxWaitEvent),
    D(cuCtxSynchronize_v2),
    // streams
    D(cuStreamCreate), D(cuStreamDestroy), D(cuStreamDestroy_v2), D(cuStreamAddCallback),
    D(cuStreamCreateWithPriority), D(cuStreamAttachMemAsync), D(cuStreamAddCallback_ptsz),
    D(cuStreamAttachMemAsync_ptsz), D(cuGreenCtxStreamCreate), D(cuStreamCreateForCaptureToCig),
    // events
    D(cuEventCreate), D(cuEventRecord), D(cuEventDestroy), D(cuEventElapsedTime), D(cuEventDestroy_v2),
    D(cuEventRecord_ptsz), D(cuEventCreateFromNVNSync), D(cuEventCreateFromEGLSync),
    D(cuEventRecordWithFlags), D(cuEventRecordWithFlags_ptsz), D(cuEventElapsedTime_v2),
    // graphs
    D(cuStreamBeginCapture), D(cuStreamBeginCapture_ptsz), D(cuStreamEndCapture), D(cuStreamEndCapture_ptsz),
    D(cuGraphCreate), D(cuGraphAddKernelNode), D(cuGraphAddMemcpyNode), D(cuGraphAddMemsetNode),
    D(cuGraphInstantiate), D(cuGraphExecDestroy), D(cuGraphDestroy), D(cuGraphDestroyNode), D(cuGraphClone),
    D(cuGraphAddChildGraphNode), D(cuGraphAddHostNode), D(cuGraphExecKernelNodeSetParams),
    D(cuStreamBeginCapture_v2), D(cuStreamBeginCapture_v2_ptsz), D(cuGraphExecUpdate),
    D(cuGraphExecMemcpyNodeSetParams), D(cuGraphExecMemsetNodeSetParams), D(cuGraphExecHostNodeSetParams),
    D(cuGraphInstantiate_v2), D(cuGraphUpload), D(cuGraphUpload_ptsz), D(cuGraphExecChildGraphNodeSetParams),
    D(cuGraphExecExternalSemaphoresSignalNodeSetParams), D(cuGraphExecExternalSemaphoresWaitNodeSetParams),
    D(cuGraphAddMemAllocNode), D(cuGraphAddMemFreeNode), D(cuDeviceGraphMemTrim),
    D(cuGraphInstantiateWithFlags), D(cuGraphInstantiateWithParams), D(cuGraphInstantiateWithParams_ptsz),
    D(cuGraphExecBatchMemOpNodeSetParams), D(cuGraphAddKernelNode_v2), D(cuGraphExecKernelNodeSetParams_v2),
    D(cuGraphExecUpdate_v2), D(cuGraphAddNode), D(cuGraphExecNodeSetParams), D(cuStreamBeginCaptureToGraph),
    D(cuStreamBeginCaptureToGraph_ptsz), D(cuGraphAddNode_v2),
    // modules, libraries, contexts
    D(cuInit), D(cuCtxCreate), D(cuCtxDestroy), D(cuCtxDetach), D(cuModuleLoad), D(cuModuleLoadData),
    D(cuModuleLoadDataEx), D(cuModuleLoadFatBinary), D(cuModuleUnload), D(cuModuleGetFunction),
    D(cuCtxCreate_v2), D(cuCtxEnablePeerAccess), D(cuCtxDisablePeerAccess), D(cuCtxDestroy_v2),
    D(cuLinkCreate), D(cuLinkAddData), D(cuLinkAddFile), D(cuLinkComplete), D(cuLinkDestroy), D(cuCompilePtx),
    D(cuLinkCreate_v2), D(cuLinkAddData_v2), D(cuLinkAddFile_v2), D(cuDevicePrimaryCtxRetain),
    D(cuDevicePrimaryCtxRelease), D(cuDevicePrimaryCtxReset), D(cuDevicePrimaryCtxRelease_v2),
    D(cuDevicePrimaryCtxReset_v2), D(cuCtxCreate_v3), D(cuLibraryLoadData), D(cuLibraryLoadFromFile),
    D(cuLibraryUnload), D(cuLibraryGetKernel), D(cuLibraryGetModule), D(cuKernelGetFunction), D(cuFuncLoad),
    D(cuGreenCtxCreate), D(cuGreenCtxDestroy), D(cuCtxCreate_v4),
};

// The marks of --capture-range; recorded whatever --api says.
constexpr std::uint16_t kRuntimeAlways[] = {R(cudaProfilerStart_v4000), R(cudaProfilerStop_v4000)};
constexpr std::uint16_t kDriverAlways[] = {D(cuProfilerStart), D(cuProfilerStop)};

// After these calls the driver may have forgotten what CUPTI has not delivered yet.
constexpr std::uint16_t kRuntimeReset[] = {R(cudaDeviceReset_v3020), R(cudaThreadExit_v3020)};
constexpr std::uint16_t kDriverReset[] = {D(cuCtxDestroy),           D(cuCtxDestroy_v2),
                                          D(cuDevicePrimaryCtxReset), D(cuDevicePrimaryCtxReset_v2)};

#undef R
#undef D

}  // namespace

ApiCalls runtimeWork() noexcept { return {kRuntimeWork, sizeof kRuntimeWork / sizeof kRuntimeWork[0]}; }
ApiCalls driverWork() noexcept { return {kDriverWork, sizeof kDriverWork / sizeof kDriverWork[0]}; }
ApiCalls runtimeAlways() noexcept { return {kRuntimeAlways, sizeof kRuntimeAlways / sizeof kRuntimeAlways[0]}; }
ApiCalls driverAlways() noexcept { return {kDriverAlways, sizeof kDriverAlways / sizeof kDriverAlways[0]}; }
ApiCalls runtimeReset() noexcept { return {kRuntimeReset, sizeof kRuntimeReset / sizeof kRuntimeReset[0]}; }
ApiCalls driverReset() noexcept { return {kDriverReset, sizeof kDriverReset / sizeof kDriverReset[0]}; }

}  // namespace warpmeter::inject
