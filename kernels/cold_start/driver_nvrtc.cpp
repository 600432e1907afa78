// SPDX-License-Identifier: Apache-2.0
// Lesson: the CUDA driver API alone, with a kernel that exists only as text until the program runs. Neither
// libcuda nor NVRTC is linked: both are opened at run time.
#include <cmath>

#include "common/host_clock.h"
#include "common/random.h"
#include "common/report.h"
#include "dynamic_cuda.h"

namespace {

using namespace warpmeter::kernels;

const Program kProgram{"driver_nvrtc",
                       "driver API alone: CUDA C++ text, PTX by NVRTC at run time, a module, a launch",
                       {"stencilKernel"},
                       {{"module", "cuModuleLoadData", "warps", "latency"},
                        {"library", "cuLibraryLoadData", "warps", "latency"}},
                       {{"n", 1 << 24, 3, 1LL << 40, "elements of the vector"},
                        {"block", 256, 1, 1024, "threads in a block"},
                        {"repetitions", 100, 1, 10'000'000, "measured launches"}},
                       {"--n", "1003", "--repetitions", "2"}};

constexpr const char* kSource = R"(
extern "C" __global__ void stencilKernel(long long n, const float* x, float* y) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) {
    y[i] = 0.25f * x[i - 1] + 0.5f * x[i] + 0.25f * x[i + 1];
  } else if (i < n) {
    y[i] = x[i];  // the ends, which have one neighbour
  }
}
)";

// The context is the device's primary one, current for this thread.
CUdevice openDevice(const DriverApi& cuda, Run& run) {
  int count = 0;
  if (const CUresult status = cuda.init(0); status != CUDA_SUCCESS) {
    throw Failure{kExitNoGpu, "no GPU to run on: " + cuda.text(status)};
  }
  cuda.check(cuda.deviceGetCount(&count), "cuDeviceGetCount");
  const std::int64_t index = run.arguments["device"];
  if (count == 0) {
    throw Failure{kExitNoGpu, "no GPU to run on"};
  }
  if (index >= count) {
    throw Failure{kExitUsage, "--device " + std::to_string(index) + " does not exist, the last one is " +
                                  std::to_string(count - 1)};
  }
  CUdevice device = 0;
  CUcontext context = nullptr;
  char name[256] = "";
  cuda.check(cuda.deviceGet(&device, static_cast<int>(index)), "cuDeviceGet");
  cuda.check(cuda.deviceGetName(name, sizeof name, device), "cuDeviceGetName");
  cuda.check(cuda.devicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
  cuda.check(cuda.ctxSetCurrent(context), "cuCtxSetCurrent");
  run.report.device = name;
  return device;
}

CUfunction loadKernel(const DriverApi& cuda, const std::string& variant, const std::string& ptx) {
  CUfunction function = nullptr;
  if (variant == "module") {
    CUmodule module = nullptr;
    cuda.check(cuda.moduleLoadData(&module, ptx.c_str()), "cuModuleLoadData");
    cuda.check(cuda.moduleGetFunction(&function, module, "stencilKernel"), "cuModuleGetFunction");
    return function;
  }
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  cuda.check(cuda.libraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
             "cuLibraryLoadData");
  cuda.check(cuda.libraryGetKernel(&kernel, library, "stencilKernel"), "cuLibraryGetKernel");
  cuda.check(cuda.kernelGetFunction(&function, kernel), "cuKernelGetFunction");
  return function;
}

void checkStencil(const std::vector<float>& x, const std::vector<float>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool end = i == 0 || i + 1 == x.size();
    const double expected = end ? x[i] : 0.25 * x[i - 1] + 0.5 * x[i] + 0.25 * x[i + 1];
    if (!(std::abs(y[i] - expected) <= 0x1p-22)) {  // three roundings of values below 1
      throw Failure{kExitFailed, "y[" + std::to_string(i) + "] is " + std::to_string(y[i]) + ", not " +
                                     std::to_string(expected)};
    }
  }
}

void requireDeviceMemory(const DriverApi& cuda, std::int64_t bytes) {
  std::size_t available = 0;
  std::size_t total = 0;
  cuda.check(cuda.memGetInfo(&available, &total), "cuMemGetInfo");
  if (static_cast<std::size_t>(bytes) > available) {
    throw Failure{kExitUsage, "--n is too large: it needs " + scaled(static_cast<double>(bytes), "B") +
                                  " of GPU memory, " + scaled(static_cast<double>(available), "B") +
                                  " are free"};
  }
}

void driverNvrtc(Run& run) {
  long long n = run.arguments["n"];
  const std::int64_t repetitions = run.arguments["repetitions"];
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::int64_t bytes = n * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(2 * bytes, "--n " + std::to_string(n));
  const std::int64_t blocks = (n + block - 1) / block;
  if (blocks > 2147483647) {
    throw Failure{kExitUsage,
                  "a grid of " + std::to_string(blocks) + " blocks is not allowed, choose a larger --block"};
  }
  const auto grid = static_cast<unsigned>(blocks);

  const DriverApi cuda;
  const CUdevice device = openDevice(cuda, run);
  requireDeviceMemory(cuda, 2 * bytes);
  HostTimer timer;
  std::string ptx;
  {
    Phase phase(run.nvtx, "compile");
    ptx = compileToPtx(kSource, "stencil.cu", cuda.computeCapability(device));
  }
  run.report.value("compileNs", "NVRTC, text to PTX", timer.lapNs(), Unit::nanoseconds);
  CUfunction kernel = nullptr;
  {
    Phase phase(run.nvtx, "load");
    kernel = loadKernel(cuda, run.arguments.variant(), ptx);
  }
  run.report.value("loadNs", "driver, PTX to SASS", timer.lapNs(), Unit::nanoseconds);

  const std::vector<float> x = Random(run.arguments["seed"]).vector(n);
  std::vector<float> y(x.size());
  CUdeviceptr deviceX = 0;
  CUdeviceptr deviceY = 0;
  CUstream stream = nullptr;
  const auto size = static_cast<std::size_t>(bytes);
  cuda.check(cuda.memAlloc(&deviceX, size), "cuMemAlloc");
  cuda.check(cuda.memAlloc(&deviceY, size), "cuMemAlloc");
  cuda.check(cuda.streamCreate(&stream, CU_STREAM_DEFAULT), "cuStreamCreate");
  void* parameters[] = {&n, &deviceX, &deviceY};
  const auto launch = [&] {
    cuda.check(cuda.launchKernel(kernel, grid, 1, 1, block, 1, 1, 0, stream, parameters, nullptr),
               "cuLaunchKernel");
    run.report.launches.add({"stencilKernel", grid, block, 1});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    cuda.check(cuda.memcpyHtoD(deviceX, x.data(), size), "cuMemcpyHtoD");
    launch();
    cuda.check(cuda.streamSynchronize(stream), "cuStreamSynchronize");
    cuda.check(cuda.memcpyDtoH(y.data(), deviceY, size), "cuMemcpyDtoH");
    run.report.copy({"h2d", "pageable", bytes});
    run.report.copy({"d2h", "pageable", bytes});
    checkStencil(x, y);
    run.nvtx.mark("checked");
    run.report.checked(n, "double precision");
  }

  Phase phase(run.nvtx, "measure");
  timer.lapNs();
  for (std::int64_t i = 0; i < repetitions; ++i) {
    launch();
  }
  cuda.check(cuda.streamSynchronize(stream), "cuStreamSynchronize");
  const double launchNs = timer.ns() / static_cast<double>(repetitions);
  run.report.value("launchNs", "one launch", launchNs, Unit::nanoseconds);
  run.report.value("bandwidthBytesPerSec", "memory traffic", 2e9 * static_cast<double>(bytes) / launchNs,
                   Unit::bytesPerSec);
  cuda.check(cuda.memFree(deviceX), "cuMemFree");
  cuda.check(cuda.memFree(deviceY), "cuMemFree");
  cuda.check(cuda.devicePrimaryCtxRelease(device), "cuDevicePrimaryCtxRelease");
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, driverNvrtc); }
