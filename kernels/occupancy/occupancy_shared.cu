// SPDX-License-Identifier: Apache-2.0
// Lesson: shared memory is given to a block at its launch, used or not. A launch that asks for the most that
// it may ever need leaves room for few blocks, and while they wait at a barrier nobody else works.
#include "common/measure.h"
#include "common/random.h"

constexpr int kBlock = 256;  // also the vectors of a tile

// Each tile of kBlock vectors in reverse; the last tile may be shorter.
__global__ void __launch_bounds__(kBlock)
    reverseTilesKernel(long long vectors, const uint4* __restrict__ from, uint4* __restrict__ to) {
  extern __shared__ uint4 tile[];
  const long long first = static_cast<long long>(blockIdx.x) * kBlock;
  const int size = vectors - first < kBlock ? static_cast<int>(vectors - first) : kBlock;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread < size) {
    tile[thread] = from[first + thread];
  }
  __syncthreads();
  if (thread < size) {
    to[first + thread] = tile[size - 1 - thread];
  }
}

namespace {

using namespace warpmeter::kernels;

constexpr std::int64_t kTileBytes = kBlock * sizeof(uint4);

const Program kProgram{
    "occupancy_shared",
    "the same kernel with the shared memory that it needs and with much more",
    {"reverseTilesKernel"},
    {{"generous", "each block takes half of an SM's shared memory (--shared)", "shared_memory", "latency", "",
      "mixed"},
     {"fitting", "each block takes the 4 KiB that it uses", "warps", "dram", "", "mixed"}},
    measuredOptions({{"vectors", 1 << 24, 1, 1LL << 36, "16 bytes each, read and written"},
                     {"shared", 0, 0, 1 << 20, "bytes that a block of generous takes; 0: half of an SM's"}},
                    20, 1),
    {"--vectors", "70003"}};

// The driver keeps some of an SM's shared memory for each block.
std::int64_t generousBytes(const Run& run) {
  const std::int64_t most = deviceAttribute(run, cudaDevAttrMaxSharedMemoryPerBlockOptin);
  const std::int64_t asked = run.arguments["shared"];
  if (asked > most) {
    throw Failure{kExitUsage, "--shared " + std::to_string(asked) +
                                  " is too large: a block of this GPU takes " + std::to_string(most)};
  }
  const std::int64_t half = deviceAttribute(run, cudaDevAttrMaxSharedMemoryPerMultiprocessor) / 2 -
                            deviceAttribute(run, cudaDevAttrReservedSharedMemoryPerBlock);
  return asked != 0 ? asked : std::min(most, half / 128 * 128);
}

void occupancyShared(Run& run) {
  const std::int64_t vectors = run.arguments["vectors"];
  const std::string option = "--vectors " + std::to_string(vectors);
  const std::int64_t asked = run.arguments["shared"];
  if (asked != 0 && asked < kTileBytes) {
    throw Failure{kExitUsage, "--shared " + std::to_string(asked) + " is not allowed, the kernel uses " +
                                  std::to_string(kTileBytes)};
  }
  const std::int64_t bytes = vectors * static_cast<std::int64_t>(sizeof(uint4));
  requireHostMemory(2 * bytes, option);
  const unsigned grid = blocksFor(vectors, kBlock);

  openDevice(run);
  const std::int64_t shared = run.arguments.variant() == "generous" ? generousBytes(run) : kTileBytes;
  requireDeviceMemory(2 * bytes, option);
  requireBlock(reverseTilesKernel, kBlock);
  WARPMETER_CHECK(cudaFuncSetAttribute(reverseTilesKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       static_cast<int>(shared)));
  const auto from = Random(run.arguments["seed"]).bits<uint4>(vectors);
  DeviceArray<uint4> deviceFrom(vectors);
  DeviceArray<uint4> deviceTo(vectors);
  const auto launch = [&] {
    reverseTilesKernel<<<grid, kBlock, static_cast<std::size_t>(shared)>>>(vectors, deviceFrom.get(),
                                                                           deviceTo.get());
    run.report.launches.add({"reverseTilesKernel", grid, kBlock, 0, shared});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceFrom.upload(from, run.report);
    launch();
    checkLaunch("reverseTilesKernel");
    const std::vector<uint4> to = deviceTo.download(run.report);
    for (std::int64_t i = 0; i < vectors; ++i) {
      const std::int64_t first = i / kBlock * kBlock;
      const std::int64_t last = std::min<std::int64_t>(first + kBlock, vectors) - 1;
      const uint4& expected = from[first + last - i];
      if (to[i].x != expected.x || to[i].y != expected.y || to[i].z != expected.z || to[i].w != expected.w) {
        throw differs("the first word of vector " + std::to_string(i), to[i].x, expected.x);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(vectors, "the original vectors");
  }
  const double launchNs = measure(run, "reverseTilesKernel", launch);
  run.report.value("sharedBytes", "shared memory of a block", static_cast<double>(shared), Unit::bytes);
  reportTraffic(run, 2.0 * static_cast<double>(bytes), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, occupancyShared); }
