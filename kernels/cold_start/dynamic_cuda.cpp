// SPDX-License-Identifier: Apache-2.0
#include "dynamic_cuda.h"

#include <dlfcn.h>
#include <nvrtc.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

#include "common/program.h"

namespace warpmeter::kernels {
namespace {

void* open(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_GLOBAL)) {
      return library;
    }
  }
  return nullptr;
}

template <class Function>
void load(void* library, Function& function, const char* name) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw Failure{kExitNoGpu, std::string("the CUDA driver or NVRTC is too old, it lacks ") + name};
  }
}

// cuda.h renames functions to their current version: name is cuMemAlloc_v2 when the text is made of it.
#define WARPMETER_TEXT_(name) #name
#define WARPMETER_LOAD(library, function, name) load(library, function, WARPMETER_TEXT_(name))

struct Nvrtc {
  decltype(&nvrtcCreateProgram) createProgram;
  decltype(&nvrtcCompileProgram) compileProgram;
  decltype(&nvrtcGetProgramLogSize) getProgramLogSize;
  decltype(&nvrtcGetProgramLog) getProgramLog;
  decltype(&nvrtcGetPTXSize) getPtxSize;
  decltype(&nvrtcGetPTX) getPtx;
  decltype(&nvrtcDestroyProgram) destroyProgram;
  decltype(&nvrtcGetErrorString) getErrorString;
  decltype(&nvrtcGetNumSupportedArchs) getNumSupportedArchs;
  decltype(&nvrtcGetSupportedArchs) getSupportedArchs;

  Nvrtc() {
    void* library =
        open({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
    if (library == nullptr) {
      throw Failure{kExitNoGpu,
                    "NVRTC (libnvrtc.so) was not found: install it or add its folder to LD_LIBRARY_PATH"};
    }
    WARPMETER_LOAD(library, createProgram, nvrtcCreateProgram);
    WARPMETER_LOAD(library, compileProgram, nvrtcCompileProgram);
    WARPMETER_LOAD(library, getProgramLogSize, nvrtcGetProgramLogSize);
    WARPMETER_LOAD(library, getProgramLog, nvrtcGetProgramLog);
    WARPMETER_LOAD(library, getPtxSize, nvrtcGetPTXSize);
    WARPMETER_LOAD(library, getPtx, nvrtcGetPTX);
    WARPMETER_LOAD(library, destroyProgram, nvrtcDestroyProgram);
    WARPMETER_LOAD(library, getErrorString, nvrtcGetErrorString);
    WARPMETER_LOAD(library, getNumSupportedArchs, nvrtcGetNumSupportedArchs);
    WARPMETER_LOAD(library, getSupportedArchs, nvrtcGetSupportedArchs);
  }

  void check(nvrtcResult status, const char* call) const {
    if (status != NVRTC_SUCCESS) {
      throw Failure{kExitFailed, std::string(call) + ": " + getErrorString(status)};
    }
  }

  // The newest known architecture that is not newer than the device.
  int architecture(int computeCapability) const {
    int count = 0;
    check(getNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
    std::vector<int> known(static_cast<std::size_t>(count));
    check(getSupportedArchs(known.data()), "nvrtcGetSupportedArchs");
    int best = 0;
    for (const int architecture : known) {
      if (architecture <= computeCapability) {
        best = std::max(best, architecture);
      }
    }
    if (best == 0) {
      throw Failure{kExitNoGpu, "this NVRTC knows no GPU as old as compute capability " +
                                    std::to_string(computeCapability / 10) + "." +
                                    std::to_string(computeCapability % 10)};
    }
    return best;
  }
};

}  // namespace

DriverApi::DriverApi() {
  void* library = open({"libcuda.so.1"});
  if (library == nullptr) {
    throw Failure{kExitNoGpu, "no GPU to run on: the CUDA driver (libcuda.so.1) was not found"};
  }
  WARPMETER_LOAD(library, init, cuInit);
  WARPMETER_LOAD(library, getErrorString, cuGetErrorString);
  WARPMETER_LOAD(library, deviceGetCount, cuDeviceGetCount);
  WARPMETER_LOAD(library, deviceGet, cuDeviceGet);
  WARPMETER_LOAD(library, deviceGetName, cuDeviceGetName);
  WARPMETER_LOAD(library, deviceGetAttribute, cuDeviceGetAttribute);
  WARPMETER_LOAD(library, devicePrimaryCtxRetain, cuDevicePrimaryCtxRetain);
  WARPMETER_LOAD(library, devicePrimaryCtxRelease, cuDevicePrimaryCtxRelease);
  WARPMETER_LOAD(library, ctxSetCurrent, cuCtxSetCurrent);
  WARPMETER_LOAD(library, memGetInfo, cuMemGetInfo);
  WARPMETER_LOAD(library, memAlloc, cuMemAlloc);
  WARPMETER_LOAD(library, memFree, cuMemFree);
  WARPMETER_LOAD(library, memcpyHtoD, cuMemcpyHtoD);
  WARPMETER_LOAD(library, memcpyDtoH, cuMemcpyDtoH);
  WARPMETER_LOAD(library, streamCreate, cuStreamCreate);
  WARPMETER_LOAD(library, streamSynchronize, cuStreamSynchronize);
  WARPMETER_LOAD(library, moduleLoadData, cuModuleLoadData);
  WARPMETER_LOAD(library, moduleGetFunction, cuModuleGetFunction);
  WARPMETER_LOAD(library, libraryLoadData, cuLibraryLoadData);
  WARPMETER_LOAD(library, libraryGetKernel, cuLibraryGetKernel);
  WARPMETER_LOAD(library, kernelGetFunction, cuKernelGetFunction);
  WARPMETER_LOAD(library, launchKernel, cuLaunchKernel);
}

void DriverApi::check(CUresult status, const char* call) const {
  if (status != CUDA_SUCCESS) {
    throw Failure{kExitFailed, std::string(call) + ": " + text(status)};
  }
}

std::string DriverApi::text(CUresult status) const {
  const char* message = nullptr;
  return getErrorString(status, &message) == CUDA_SUCCESS
             ? message
             : "CUDA error " + std::to_string(static_cast<int>(status));
}

int DriverApi::computeCapability(CUdevice device) const {
  int major = 0;
  int minor = 0;
  check(deviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
        "cuDeviceGetAttribute");
  check(deviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
        "cuDeviceGetAttribute");
  return 10 * major + minor;
}

std::string compileToPtx(const char* source, const char* name, int computeCapability) {
  const Nvrtc nvrtc;
  nvrtcProgram program = nullptr;
  nvrtc.check(nvrtc.createProgram(&program, source, name, 0, nullptr, nullptr), "nvrtcCreateProgram");
  const std::string target =
      "--gpu-architecture=compute_" + std::to_string(nvrtc.architecture(computeCapability));
  const char* options[] = {target.c_str()};
  if (nvrtc.compileProgram(program, 1, options) != NVRTC_SUCCESS) {
    std::size_t size = 0;
    nvrtc.check(nvrtc.getProgramLogSize(program, &size), "nvrtcGetProgramLogSize");
    std::string log(size, '\0');
    nvrtc.check(nvrtc.getProgramLog(program, log.data()), "nvrtcGetProgramLog");
    throw Failure{kExitFailed, "NVRTC: " + log.substr(0, log.find('\n'))};
  }
  std::size_t size = 0;
  nvrtc.check(nvrtc.getPtxSize(program, &size), "nvrtcGetPTXSize");
  std::string ptx(size, '\0');
  nvrtc.check(nvrtc.getPtx(program, ptx.data()), "nvrtcGetPTX");
  nvrtc.check(nvrtc.destroyProgram(&program), "nvrtcDestroyProgram");
  return ptx;
}

}  // namespace warpmeter::kernels
