// SPDX-License-Identifier: Apache-2.0
// Lesson: a sum needs every thread's value in one place. One address for all makes them queue up; when a
// thread first adds many values itself, then the block, and only then all blocks, the memory decides again.
#include "common/measure.h"
#include "common/random.h"
#include "reduction/cub.h"

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
      "dram", "fp32", "read"},
     {"shared", "sums in registers, then a tree in shared memory with a barrier a level", "warps", "dram",
      "fp32", "read"},
     {"atomic", "every value is added to the one address: they queue up there; a sixteenth of the values",
      "warps", "latency", "fp32", "read"},
     {"cub", "the library's sum", "warps", "dram", "fp32", "read"}},
    measuredOptions({{"n", 1 << 28, 1, 1LL << 40, "values"},
                     {"block", 256, 32, 1024, "threads in a block, a power of two"}},
                    10, 1),
    {"--n", "100003"}};

struct Kernel {
  const char* name;
  void (*function)(long long, const float*, float*);
};

Kernel chosenKernel(const std::string& variant) {
  return variant == "atomic"   ? Kernel{"reduceAtomicKernel", reduceAtomicKernel}
         : variant == "shared" ? Kernel{"reduceSharedKernel", reduceSharedKernel}
                               : Kernel{"reduceShuffleKernel", reduceShuffleKernel};
}

// Bytes that CUB wants for itself.
std::size_t scratchBytes(std::int64_t n) {
  std::size_t bytes = 0;
  WARPMETER_CHECK(cubReduce(nullptr, bytes, n, nullptr, nullptr));
  return bytes;
}

void reduce(Run& run) {
  const std::string& variant = run.arguments.variant();
  const bool atomic = variant == "atomic";
  const bool cub = variant == "cub";
  const Kernel kernel = chosenKernel(variant);
  const std::string option = "--n " + std::to_string(run.arguments["n"]);
  // All of the default size would take the atomics half a second a launch.
  const std::int64_t n = atomic ? (run.arguments["n"] + 15) / 16 : run.arguments["n"];
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
  requireBlock(kernel.function, block);
  if (!atomic) {  // one wave of blocks walks over the array
    grid = std::min(grid, blocksAtOnce(run, kernel.function, block));
  }
  const std::vector<float> x = Random(run.arguments["seed"]).wholeNumbers(n, 8);
  DeviceArray<float> deviceX(n);
  DeviceArray<float> deviceSum(1);
  std::size_t scratch = cub ? scratchBytes(n) : 0;
  DeviceArray<unsigned char> deviceScratch(static_cast<std::int64_t>(std::max<std::size_t>(scratch, 1)));
  const auto launch = [&] {
    if (cub) {
      WARPMETER_CHECK(cubReduce(deviceScratch.get(), scratch, n, deviceX.get(), deviceSum.get()));
      return;
    }
    kernel.function<<<grid, block>>>(n, deviceX.get(), deviceSum.get());
    run.report.launches.add({kernel.name, grid, block});
  };
  if (cub) {
    run.report.notice("CUB's launches are not in the list");
  }

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    deviceSum.upload({0.0f}, run.report);
    launch();
    checkLaunch(variant.c_str());
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
  // Later launches of ours add to the same sum; nobody reads it any more.
  const double launchNs = measure(run, cub ? "cub" : kernel.name, launch);
  reportTraffic(run, static_cast<double>(bytes), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, reduce); }
