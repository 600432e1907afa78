// SPDX-License-Identifier: Apache-2.0
// libcuda and NVRTC, opened at run time: the program builds and starts where neither is installed.
#pragma once

#include <cuda.h>

#include <string>

namespace warpmeter::kernels {

// The driver API functions that are needed. Never closed.
class DriverApi {
 public:
  // Throws Failure{kExitNoGpu} when there is no driver, or one older than CUDA 12.
  DriverApi();

  // Throws Failure{kExitFailed} naming the call.
  void check(CUresult status, const char* call) const;
  std::string text(CUresult status) const;
  int computeCapability(CUdevice device) const;  // 90 for 9.0

  decltype(&cuInit) init;
  decltype(&cuGetErrorString) getErrorString;
  decltype(&cuDeviceGetCount) deviceGetCount;
  decltype(&cuDeviceGet) deviceGet;
  decltype(&cuDeviceGetName) deviceGetName;
  decltype(&cuDeviceGetAttribute) deviceGetAttribute;
  decltype(&cuDevicePrimaryCtxRetain) devicePrimaryCtxRetain;
  decltype(&cuDevicePrimaryCtxRelease) devicePrimaryCtxRelease;
  decltype(&cuCtxSetCurrent) ctxSetCurrent;
  decltype(&cuMemGetInfo) memGetInfo;
  decltype(&cuMemAlloc) memAlloc;
  decltype(&cuMemFree) memFree;
  decltype(&cuMemcpyHtoD) memcpyHtoD;
  decltype(&cuMemcpyDtoH) memcpyDtoH;
  decltype(&cuStreamCreate) streamCreate;
  decltype(&cuStreamSynchronize) streamSynchronize;
  decltype(&cuModuleLoadData) moduleLoadData;
  decltype(&cuModuleGetFunction) moduleGetFunction;
  decltype(&cuLibraryLoadData) libraryLoadData;
  decltype(&cuLibraryGetKernel) libraryGetKernel;
  decltype(&cuKernelGetFunction) kernelGetFunction;
  decltype(&cuLaunchKernel) launchKernel;
};

// PTX of source for this compute capability or, where this NVRTC does not know it, for its newest one.
// Throws Failure{kExitNoGpu} without NVRTC, Failure{kExitFailed} with the compiler's first line.
std::string compileToPtx(const char* source, const char* name, int computeCapability);

}  // namespace warpmeter::kernels
