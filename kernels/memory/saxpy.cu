// SPDX-License-Identifier: Apache-2.0
// Lesson: a kernel that does one multiply-add for twelve bytes is as fast as the memory, and no faster.
#include <algorithm>
#include <cmath>

#include "common/measure.h"
#include "common/random.h"

__global__ void saxpyKernel(long long n, float a, const float* x, float* y) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = a * x[i] + y[i];
  }
}

// Every thread takes many elements: the grid fits the GPU, not the vector.
__global__ void saxpyGridStrideKernel(long long n, float a, const float* x, float* y) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = a * x[i] + y[i];
  }
}

constexpr int kVectors = 2;  // of 16 bytes, of x and of y: 64 bytes of each thread on their way

// All loads of a thread are under way before its first store; the last n % 4 elements are the first block's.
__global__ void saxpyVectorKernel(long long n, float a, const float* x, float* y) {
  const auto* const xVectors = reinterpret_cast<const float4*>(x);
  auto* const yVectors = reinterpret_cast<float4*>(y);
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x * kVectors + threadIdx.x;
  float4 ofX[kVectors] = {};
  float4 ofY[kVectors] = {};
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    if (first + j * blockDim.x < n / 4) {
      ofX[j] = xVectors[first + j * blockDim.x];
      ofY[j] = yVectors[first + j * blockDim.x];
    }
  }
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    if (first + j * blockDim.x < n / 4) {
      yVectors[first + j * blockDim.x] = make_float4(a * ofX[j].x + ofY[j].x, a * ofX[j].y + ofY[j].y,
                                                     a * ofX[j].z + ofY[j].z, a * ofX[j].w + ofY[j].w);
    }
  }
  if (blockIdx.x == 0) {
    for (long long i = n / 4 * 4 + threadIdx.x; i < n; i += blockDim.x) {
      y[i] = a * x[i] + y[i];
    }
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "saxpy",
    "y = a x + y: 2 floating-point operations for 12 bytes, so the memory decides",
    {"saxpyKernel", "saxpyGridStrideKernel", "saxpyVectorKernel"},
    {{"element", "one thread for each element", "warps", "dram", "fp32", "mixed"},
     {"grid-stride", "a grid of 8 blocks for each SM walks over the vector", "warps", "dram", "fp32",
      "mixed"},
     {"vector", "two loads of 16 bytes from each vector in each thread", "warps", "dram", "fp32", "mixed"}},
    measuredOptions({{"n", 1 << 25, 1, 1LL << 40, "elements of each vector"},
                     {"block", 256, 1, 1024, "threads in a block"}},
                    100, 0),
    {"--n", "1003"}};

constexpr float kA = 0.75f;

void saxpy(Run& run) {
  const std::int64_t n = run.arguments["n"];
  const std::string& variant = run.arguments.variant();
  const bool vector = variant == "vector";
  const auto kernel = vector                     ? saxpyVectorKernel
                      : variant == "grid-stride" ? saxpyGridStrideKernel
                                                 : saxpyKernel;
  const char* name = vector                     ? "saxpyVectorKernel"
                     : variant == "grid-stride" ? "saxpyGridStrideKernel"
                                                : "saxpyKernel";
  const auto vectorBytes = n * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(3 * vectorBytes, "--n " + std::to_string(n));
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  unsigned grid = blocksFor(n, vector ? 4LL * kVectors * block : block);

  openDevice(run);
  requireDeviceMemory(2 * vectorBytes, "--n " + std::to_string(n));
  if (variant == "grid-stride") {
    grid = std::min(grid, 8u * static_cast<unsigned>(deviceAttribute(run, cudaDevAttrMultiProcessorCount)));
  }
  requireBlock(kernel, block);

  Random random(run.arguments["seed"]);
  const std::vector<float> x = random.vector(n);
  const std::vector<float> y = random.vector(n);
  DeviceArray<float> deviceX(n);
  DeviceArray<float> deviceY(n);
  const auto launch = [&] {
    kernel<<<grid, block>>>(n, kA, deviceX.get(), deviceY.get());
    run.report.launches.add({name, grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    deviceY.upload(y, run.report);
    launch();
    checkLaunch(name);
    const std::vector<float> result = deviceY.download(run.report);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const double product = static_cast<double>(kA) * x[i];
      const double tolerance = 0x1p-23 * (std::abs(product) + std::abs(y[i]));  // two roundings to 24 bits
      if (!(std::abs(result[i] - (product + y[i])) <= tolerance)) {
        throw differs("y[" + std::to_string(i) + "]", result[i], product + y[i]);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(n, "double precision");
  }

  const double launchNs = measure(run, name, launch);
  reportTraffic(run, 3.0 * static_cast<double>(vectorBytes), launchNs);
  run.report.value("flopPerSec", "arithmetic", 2e9 * static_cast<double>(n) / launchNs, Unit::flopPerSec);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, saxpy); }
