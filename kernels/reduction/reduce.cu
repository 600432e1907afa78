// SPDX-License-Identifier: Apache-2.0
// Lesson: a sum needs every thread's value in one place. One address for all makes them queue up; when a
// thread first adds many values itself, then the block, and only then all blocks, the memory decides again.
#include "common/measure.h"
#include "common/random.h"

__global__ void reduceAtomicKernel(long long n, const float* __restrict__ x, float* sum) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(sum, x[i]);
  }
}

// A tree in shared memory, one barrier for each level; the block must be a power of two.
__global__ void reduceSharedKernel(long long n, const float* __restrict__ x, float* sum) {
  __shared__ float partial[1024];
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  float mine = 0;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    mine += x[i];
  }
  partial[threadIdx.x] = mine;
  for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) {
      partial[threadIdx.x] += partial[threadIdx.x + width];
    }
  }
  if (threadIdx.x == 0) {
    atomicAdd(sum, partial[0]);
  }
}

// In the warp's first thread.
__device__ float warpSum(float value) {
#pragma unroll
  for (unsigned offset = 16; offset > 0; offset /= 2) {
    value += __shfl_down_sync(0xffffffffu, value, offset);
  }
  return value;
}

// Loads of 16 bytes; registers inside a warp, one barrier for the block. The block must be whole warps.
__global__ void reduceShuffleKernel(long long n, const float* __restrict__ x, float* sum) {
  __shared__ float ofWarp[32];
  const auto* const vectors = reinterpret_cast<const float4*>(x);
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  float mine = 0;
#pragma unroll 4
  for (long long i = first; i < n / 4; i += stride) {
    const float4 four = vectors[i];
    mine += (four.x + four.y) + (four.z + four.w);
  }
  if (first < n % 4) {
    mine += x[n / 4 * 4 + first];
  }
  mine = warpSum(mine);
  if (threadIdx.x % 32 == 0) {
    ofWarp[threadIdx.x / 32] = mine;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    mine = warpSum(threadIdx.x < blockDim.x / 32 ? ofWarp[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) {
      atomicAdd(sum, mine);
    }
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "reduce",
    "the sum of an array: one atomic for each value, a tree in shared memory, or warp shuffles",
    {"reduceShuffleKernel", "reduceSharedKernel", "reduceAtomicKernel"},
    {{"shuffle", "loads of 16 bytes, sums in registers, shuffles, one atomic for each block", "registers",
      "dram"},
     {"shared", "sums in registers, then a tree in shared memory with a barrier a level", "warps", "dram"},
     {"atomic", "every value is added to the one address: they queue up there", "warps", "latency"}},
    measuredOptions({{"n", 1 << 26, 1, 1LL << 40, "values"},
                     {"block", 256, 32, 1024, "threads in a block, a power of two"}},
                    10, 1),
    {"--n", "100003"}};

using Kernel = void (*)(long long, const float*, float*);

void reduce(Run& run) {
  const std::string& variant = run.arguments.variant();
  const bool atomic = variant == "atomic";
  const Kernel kernel = atomic                ? reduceAtomicKernel
                        : variant == "shared" ? reduceSharedKernel
                                              : reduceShuffleKernel;
  const char* name = atomic                ? "reduceAtomicKernel"
                     : variant == "shared" ? "reduceSharedKernel"
                                           : "reduceShuffleKernel";
  const std::int64_t n = run.arguments["n"];
  const std::string option = "--n " + std::to_string(n);
  const auto bytes = n * static_cast<std::int64_t>(sizeof(float));
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  if ((block & (block - 1)) != 0) {
    throw Failure{kExitUsage,
                  "--block " + std::to_string(block) + " is not allowed, it must be a power of two"};
  }
  requireHostMemory(bytes, option);
  unsigned grid = blocksFor(n, block);

  openDevice(run);
  requireDeviceMemory(bytes, option);
  requireBlock(kernel, block);
  if (!atomic) {  // one wave of blocks walks over the array
    grid = std::min(grid, blocksAtOnce(run, kernel, block));
  }
  const std::vector<float> x = Random(run.arguments["seed"]).wholeNumbers(n, 8);
  DeviceArray<float> deviceX(n);
  DeviceArray<float> deviceSum(1);
  const auto launch = [&] {
    kernel<<<grid, block>>>(n, deviceX.get(), deviceSum.get());
    run.report.launches.add({name, grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    deviceSum.upload({0.0f}, run.report);
    launch();
    checkLaunch(name);
    const float result = deviceSum.download(run.report).front();
    // Exact: partial sums of random whole numbers from -8 to 8 wander by about 5 sqrt(n), below 2^24 for all
    // n here.
    double expected = 0;
    for (const float value : x) {
      expected += value;
    }
    if (result != expected) {
      throw differs("the sum", result, expected);
    }
    run.nvtx.mark("checked");
    run.report.checked(1, "double precision");
  }
  // Later launches add to the same sum; nobody reads it any more.
  const double launchNs = measure(run, name, launch);
  reportTraffic(run, static_cast<double>(bytes), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, reduce); }
