// SPDX-License-Identifier: Apache-2.0
// Lesson: what the memory gives at most. A thread that asks for 64 bytes at once keeps more of them on their
// way than one that asks for 4.
#include "common/measure.h"
#include "common/random.h"

__global__ void copyScalarKernel(long long words, const unsigned* __restrict__ from,
                                 unsigned* __restrict__ to) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < words) {
    to[i] = from[i];
  }
}

constexpr int kVectorsPerThread = 4;

// All loads of a thread are under way before its first store.
__global__ void copyVectorKernel(long long vectors, const uint4* __restrict__ from, uint4* __restrict__ to) {
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x * kVectorsPerThread + threadIdx.x;
  uint4 held[kVectorsPerThread] = {};
#pragma unroll
  for (int j = 0; j < kVectorsPerThread; ++j) {
    if (first + j * blockDim.x < vectors) {
      held[j] = from[first + j * blockDim.x];
    }
  }
#pragma unroll
  for (int j = 0; j < kVectorsPerThread; ++j) {
    if (first + j * blockDim.x < vectors) {
      to[first + j * blockDim.x] = held[j];
    }
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "copy",
    "copies an array that no cache holds: the memory decides, whatever the threads do",
    {"copyVectorKernel", "copyScalarKernel"},
    {{"vector", "four accesses of 16 bytes in each thread", "warps", "dram", "", "mixed"},
     {"scalar", "one access of 4 bytes in each thread", "warps", "latency", "", "mixed"}},
    measuredOptions({{"bytes", 256 << 20, 16, 1LL << 40, "size of the array, a multiple of 16"},
                     {"block", 256, 1, 1024, "threads in a block"}},
                    50, 1),
    {"--bytes", "65552"}};

void copy(Run& run) {
  const bool vector = run.arguments.variant() == "vector";
  const std::int64_t bytes = run.arguments["bytes"];
  const std::string option = "--bytes " + std::to_string(bytes);
  if (bytes % 16 != 0) {
    throw Failure{kExitUsage, option + " is not allowed, it must be a multiple of 16"};
  }
  requireHostMemory(2 * bytes, option);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const unsigned grid = blocksFor(bytes, block * (vector ? 16 * kVectorsPerThread : 4));
  const char* name = vector ? "copyVectorKernel" : "copyScalarKernel";

  openDevice(run);
  requireDeviceMemory(2 * bytes, option);
  if (vector) {
    requireBlock(copyVectorKernel, block);
  } else {
    requireBlock(copyScalarKernel, block);
  }
  const auto from = Random(run.arguments["seed"]).bits<uint4>(bytes / 16);
  DeviceArray<uint4> deviceFrom(bytes / 16);
  DeviceArray<uint4> deviceTo(bytes / 16);
  const auto launch = [&] {
    if (vector) {
      copyVectorKernel<<<grid, block>>>(bytes / 16, deviceFrom.get(), deviceTo.get());
    } else {
      copyScalarKernel<<<grid, block>>>(bytes / 4, reinterpret_cast<const unsigned*>(deviceFrom.get()),
                                        reinterpret_cast<unsigned*>(deviceTo.get()));
    }
    run.report.launches.add({name, grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceFrom.upload(from, run.report);
    launch();
    checkLaunch(name);
    const std::vector<uint4> to = deviceTo.download(run.report);
    if (std::memcmp(from.data(), to.data(), static_cast<std::size_t>(bytes)) != 0) {
      throw Failure{kExitFailed, "the copy differs from the original"};
    }
    run.nvtx.mark("checked");
    run.report.checked(bytes / 4, "the original words");
  }
  const double launchNs = measure(run, name, launch);
  reportTraffic(run, 2.0 * static_cast<double>(bytes), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, copy); }
