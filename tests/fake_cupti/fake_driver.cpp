// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 without a GPU: loads CUDA_INJECTION64_PATH inside cuInit() as the real one does, and tells the fake
// libcupti, if one is loaded, what the application calls.
#include "fake_driver.h"

#include <cupti.h>
#include <dlfcn.h>
#include <elf.h>
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

using warpmeter::fake::Call;
using warpmeter::fake::Work;

namespace {

struct Context { std::uint32_t id; };
struct Module {
  std::uint32_t id;
  std::uint32_t functions;
  char (*names)[256];
  const char* image;
  std::uint64_t imageBytes;
};
struct Function {
  const char* name;
  const Module* module;
};
struct Stream { std::uint32_t id; };

constexpr std::uint32_t kDefaultStream = 7;
constexpr std::uint32_t kFunctionsPerModule = 16;

std::atomic<std::uint32_t> gContexts{0}, gModules{0}, gStreams{12};
std::atomic<std::uint32_t> gCurrentContext{0};
std::atomic<Context*> gContext{nullptr};
std::atomic<int> gCaptures{0};
std::atomic<std::int64_t> gBusyUntilNs{0};
thread_local std::int64_t tDurationNs = 2000;
thread_local Call tLast;

void* cuptiSymbol(const char* name) {
  for (const char* soname : {"libcupti.so.13", "libcupti.so.12"}) {
    if (void* handle = dlopen(soname, RTLD_NOLOAD | RTLD_LAZY)) {
      if (void* symbol = dlsym(handle, name)) return symbol;
    }
  }
  return nullptr;
}

void notify(Call& call) {
  static std::atomic<warpmeter::fake::CallFunction> function{nullptr};
  if (function == nullptr) {
    function = reinterpret_cast<warpmeter::fake::CallFunction>(cuptiSymbol(warpmeter::fake::kCallSymbol));
  }
  call.contextId = gCurrentContext;
  call.context = gContext;
  if (call.streamId == 0) call.streamId = kDefaultStream;
  if (function != nullptr) {
    function.load()(&call);
  } else if (call.inside != nullptr) {
    call.inside(&call);
  }
  tLast = call;
  std::int64_t busy = gBusyUntilNs;
  while (call.endNs > busy && !gBusyUntilNs.compare_exchange_weak(busy, call.endNs)) {
  }
}

void notifyResource(std::uint32_t cbid, std::uint32_t module, std::uint64_t bytes, std::uint32_t stream,
                    const void* image = nullptr) {
  const auto function =
      reinterpret_cast<warpmeter::fake::ResourceFunction>(cuptiSymbol(warpmeter::fake::kResourceSymbol));
  if (function != nullptr) function(cbid, gCurrentContext, module, bytes, stream, image, gContext);
}

void simpleCall(std::uint32_t cbid, Work work = Work::none, std::uint64_t bytes = 0, std::uint64_t address = 0) {
  Call call;
  call.cbid = cbid;
  call.work = work;
  call.bytes = bytes;
  call.address = address;
  notify(call);
}

void waitForGpu() {
  for (;;) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    const std::int64_t left = gBusyUntilNs - (now.tv_sec * std::int64_t{1000000000} + now.tv_nsec);
    if (left <= 0) return;
    const timespec pause{static_cast<time_t>(left / 1000000000), static_cast<long>(left % 1000000000)};
    nanosleep(&pause, nullptr);
  }
}

void inject() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || path[0] == 0) return;
  void* handle = dlopen(path, RTLD_NOW);
  if (handle == nullptr) {
    std::fprintf(stderr, "fake libcuda: %s\n", dlerror());
    return;
  }
  if (auto* entry = reinterpret_cast<int (*)()>(dlsym(handle, "InitializeInjection"))) entry();
}

bool tellCapture(int change) {
  const auto function = reinterpret_cast<warpmeter::fake::CaptureFunction>(cuptiSymbol(warpmeter::fake::kCaptureSymbol));
  return function != nullptr && function(change);
}

CUresult launch(bool runtime, CUfunction function, const unsigned (&grid)[3], const unsigned (&block)[3], CUstream stream) {
  Call call;
  call.runtime = runtime;
  call.cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel;
  if (runtime) call.cbid = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
  call.nestedCbid = runtime ? CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel : 0;
  call.work = Work::kernel;
  call.name = reinterpret_cast<Function*>(function)->name;
  call.image = reinterpret_cast<Function*>(function)->module->image;
  call.imageBytes = reinterpret_cast<Function*>(function)->module->imageBytes;
  std::memcpy(call.grid, grid, sizeof call.grid);
  std::memcpy(call.block, block, sizeof call.block);
  if (stream != nullptr) call.streamId = reinterpret_cast<Stream*>(stream)->id;
  call.durationNs = tDurationNs;
  if (gCaptures != 0) call.work = Work::none;  // becomes a node of the graph
  const cuLaunchKernel_params parameters{function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                         0,        stream,  nullptr, nullptr};
  call.driverParameters = &parameters;
  notify(call);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned int) {
  static std::once_flag once;
  std::call_once(once, [] {
    inject();
    notifyResource(CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, 0, 0, 0);
  });
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int) {
  *device = 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned int, CUdevice) {
  auto* fresh = new Context{++gContexts};
  gCurrentContext = fresh->id;
  gContext = fresh;
  notifyResource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, 0, 0, 0);
  simpleCall(CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v4);
  *context = reinterpret_cast<CUcontext>(fresh);
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
  gContext = reinterpret_cast<Context*>(context);
  gCurrentContext = gContext.load()->id;
  return CUDA_SUCCESS;
}
CUresult cuCtxDestroy(CUcontext) {
  simpleCall(CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2);
  notifyResource(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, 0, 0, 0);
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  waitForGpu();
  simpleCall(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, Work::synchronize);
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  // FAKE_CUDA_REUSE_NAMES: a module's names lie where those of an unloaded one lay, as happens with real ones.
  static char reused[kFunctionsPerModule][256];
  // Text, or an ELF image whose section headers come last.
  const auto* text = static_cast<const char*>(image);
  std::uint64_t bytes = std::strlen(text);
  if (std::memcmp(text, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr head;
    std::memcpy(&head, text, sizeof head);
    bytes = head.e_shoff + head.e_shnum * sizeof(Elf64_Shdr);
  }
  auto* copy = new char[bytes];
  std::memcpy(copy, text, bytes);
  auto* fresh = new Module{++gModules, 0, nullptr, copy, bytes};
  fresh->names = std::getenv("FAKE_CUDA_REUSE_NAMES") != nullptr ? reused : new char[kFunctionsPerModule][256];
  notifyResource(CUPTI_CBID_RESOURCE_MODULE_LOADED, fresh->id, bytes, 0, copy);
  simpleCall(CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData);
  *module = reinterpret_cast<CUmodule>(fresh);
  return CUDA_SUCCESS;
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  auto* m = reinterpret_cast<Module*>(module);
  if (m->functions == kFunctionsPerModule) return CUDA_ERROR_NOT_FOUND;
  char* place = m->names[m->functions++];
  std::snprintf(place, 256, "%s", name);
  *function = reinterpret_cast<CUfunction>(new Function{place, m});
  return CUDA_SUCCESS;
}
CUresult cuModuleUnload(CUmodule module) {
  simpleCall(CUPTI_DRIVER_TRACE_CBID_cuModuleUnload);
  notifyResource(CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING, reinterpret_cast<Module*>(module)->id,
                 reinterpret_cast<Module*>(module)->imageBytes, 0, reinterpret_cast<Module*>(module)->image);
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  auto* fresh = new Stream{++gStreams};
  notifyResource(CUPTI_CBID_RESOURCE_STREAM_CREATED, 0, 0, fresh->id);
  simpleCall(CUPTI_DRIVER_TRACE_CBID_cuStreamCreate);
  *stream = reinterpret_cast<CUstream>(fresh);
  return CUDA_SUCCESS;
}
CUresult cuMemAlloc(CUdeviceptr* pointer, size_t bytes) {
  *pointer = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
  simpleCall(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, Work::allocate, bytes, *pointer);
  return CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr pointer) {
  simpleCall(CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2, Work::release, 0, pointer);
  std::free(reinterpret_cast<void*>(pointer));
  return CUDA_SUCCESS;
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  Call call;
  call.cbid = CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2;
  call.work = Work::copy;
  call.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  call.bytes = bytes;
  call.durationNs = tDurationNs;
  notify(call);
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return CUDA_SUCCESS;
}
CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes) {
  Call call;
  call.cbid = CUPTI_DRIVER_TRACE_CBID_cuMemsetD8_v2;
  call.work = Work::set;
  call.bytes = bytes;
  call.durationNs = tDurationNs;
  notify(call);
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return CUDA_SUCCESS;
}
CUresult cuLaunchKernel(CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx, unsigned int by,
                        unsigned int bz, unsigned int, CUstream stream, void**, void**) {
  return launch(false, f, {gx, gy, gz}, {bx, by, bz}, stream);
}
CUresult warpmeterFakeRuntimeLaunch(CUfunction function, unsigned gridX, unsigned blockX, CUstream stream) {
  return launch(true, function, {gridX, 1, 1}, {blockX, 1, 1}, stream);
}
CUresult warpmeterFakeCooperativeLaunch(CUfunction function, unsigned gridX, unsigned blockX) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  CUlaunchConfig config{};
  config.gridDimX = gridX;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = blockX;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const cuLaunchKernelEx_params parameters{&config, function, nullptr, nullptr};
  Call call;
  call.cbid = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx;
  call.work = Work::kernel;
  call.name = reinterpret_cast<Function*>(function)->name;
  call.grid[0] = gridX;
  call.block[0] = blockX;
  call.durationNs = tDurationNs;
  call.driverParameters = &parameters;
  notify(call);
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture(CUstream, CUstreamCaptureMode) {
  // The driver's own part lies between the callbacks of enter and exit.
  Call call;
  call.cbid = CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2;
  call.inside = [](Call*) {
    ++gCaptures;
    tellCapture(1);
  };
  notify(call);
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream, CUgraph* graph) {
  Call call;
  call.cbid = CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture;
  call.inside = [](Call* c) {
    --gCaptures;
    if (tellCapture(-1)) c->result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  };
  notify(call);
  *graph = call.result == CUDA_SUCCESS ? reinterpret_cast<CUgraph>(1) : nullptr;
  return static_cast<CUresult>(call.result);
}
CUresult cuProfilerStart() {
  simpleCall(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
  return CUDA_SUCCESS;
}
CUresult cuProfilerStop() {
  simpleCall(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
  return CUDA_SUCCESS;
}
void warpmeterFakeDuration(std::int64_t ns) { tDurationNs = ns; }
void warpmeterFakeLastWork(std::uint32_t* correlationId, std::int64_t* endNs) {
  *correlationId = tLast.correlationId;
  *endNs = tLast.endNs;
}
bool warpmeterFakeState(warpmeter::fake::State* state) {
  const auto function = reinterpret_cast<warpmeter::fake::StateFunction>(cuptiSymbol(warpmeter::fake::kStateSymbol));
  if (function == nullptr) return false;
  function(state);
  return true;
}

}  // extern "C"
