// SPDX-License-Identifier: Apache-2.0
// Lesson: the blocks of a cluster read each other's shared memory, so they must run at the same time in one
// group of SMs (a GPC). What is left of a group is too small for another cluster and stays empty: the larger
// the cluster, the more of it.
#include <cooperative_groups.h>

#include "common/measure.h"
#include "common/random.h"

constexpr int kBlock = 1024;
constexpr int kBatch = 6;           // elements that a thread works on at once
constexpr int kTile = 30 * kBlock;  // floats of a block: more than half of an SM's shared memory

// Each block brings a tile; its elements and those of the next block of the cluster are added, and a chain of
// multiply-adds follows.
__global__ void __launch_bounds__(kBlock, 1)
    neighbourKernel(int steps, float factor, const float* __restrict__ x, float* __restrict__ y) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ float tile[];
  const auto cluster = cooperative_groups::this_cluster();
  const long long first = static_cast<long long>(blockIdx.x) * kTile;
  for (int i = static_cast<int>(threadIdx.x); i < kTile; i += kBlock) {
    tile[i] = x[first + i];
  }
  cluster.sync();
  const float* const next = cluster.map_shared_rank(tile, (cluster.block_rank() + 1) % cluster.num_blocks());
#pragma unroll 1
  for (int i = static_cast<int>(threadIdx.x); i < kTile; i += kBatch * kBlock) {
    float start[kBatch];
    float value[kBatch];
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      start[k] = tile[i + k * kBlock] + next[i + k * kBlock];
      value[k] = start[k];
    }
#pragma unroll 8
    for (int step = 0; step < steps; ++step) {
#pragma unroll
      for (int k = 0; k < kBatch; ++k) {
        value[k] = factor * value[k] + start[k];
      }
    }
#pragma unroll
    for (int k = 0; k < kBatch; ++k) {
      y[first + i + k * kBlock] = value[k];
    }
  }
  cluster.sync();  // nobody leaves while a neighbour still reads
#endif
}

namespace {

using namespace warpmeter::kernels;

static_assert(kTile % (kBatch * kBlock) == 0);
constexpr int kTileBytes = kTile * static_cast<int>(sizeof(float));

const Program kProgram{
    "cluster",
    "blocks that read their neighbour's shared memory, in clusters of different size",
    {"neighbourKernel"},
    {{"wide", "clusters of --cluster blocks: what is left of a group of SMs stays empty", "cluster", "fp32",
      "fp32"},
     {"pair", "clusters of two: every SM gets a block", "shared_memory", "fp32", "fp32"}},
    measuredOptions({{"cluster", 6, 2, 8, "blocks in a cluster of wide"},
                     {"clusters", 220, 1, 100'000, "clusters of wide; pair has as many blocks"},
                     {"steps", 1024, 1, 1'000'000, "multiply-adds for each element"}},
                    10, 1),
    {"--clusters", "3", "--steps", "5"}};

constexpr float kFactor = 0.75f;

// Of up to 4096 elements. Values stay below 8, so a step is off by at most 8 / 2^24 and forgets a quarter of
// the error before.
void checkElements(Run& run, const std::vector<float>& x, const std::vector<float>& y, unsigned cluster,
                   std::int64_t steps, Random& random) {
  constexpr int kSamples = 4096;
  for (int sample = 0; sample < kSamples; ++sample) {
    const std::size_t i = random.next() % x.size();
    const std::size_t block = i / kTile;
    const std::size_t next = block / cluster * cluster + (block + 1) % cluster;
    const double start = static_cast<double>(x[i]) + x[next * kTile + i % kTile];
    double value = start;
    for (std::int64_t step = 0; step < std::min<std::int64_t>(steps, 400); ++step) {  // then it stays
      value = static_cast<double>(kFactor) * value + start;
    }
    if (!(std::abs(y[i] - value) <= 0x1p-24 * 8 * 8)) {
      throw differs("y[" + std::to_string(i) + "]", y[i], value);
    }
  }
  run.nvtx.mark("checked");
  run.report.checked(kSamples, "double precision");
}

void cluster(Run& run) {
  const std::int64_t wide = run.arguments["cluster"];
  const unsigned size = run.arguments.variant() == "wide" ? static_cast<unsigned>(wide) : 2;
  const std::int64_t blocks = run.arguments["clusters"] * wide;
  const std::string options =
      "--clusters " + std::to_string(run.arguments["clusters"]) + " --cluster " + std::to_string(wide);
  if (blocks % size != 0) {
    throw Failure{kExitUsage, options + " is not allowed: that many blocks do not make pairs"};
  }
  const std::int64_t elements = blocks * kTile;
  requireHostMemory(8 * elements, options);

  openDevice(run);
  if (deviceAttribute(run, cudaDevAttrComputeCapabilityMajor) < 9 ||
      deviceAttribute(run, cudaDevAttrMaxSharedMemoryPerBlockOptin) < kTileBytes) {
    throw Failure{kExitNoGpu, "this GPU has no clusters with " + scaled(kTileBytes, "B") +
                                  " of shared memory in a block: compute capability 9.0 has"};
  }
  requireDeviceMemory(8 * elements, options);
  requireBlock(neighbourKernel, kBlock);
  WARPMETER_CHECK(
      cudaFuncSetAttribute(neighbourKernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kTileBytes));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {size, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = static_cast<unsigned>(blocks);
  config.blockDim = kBlock;
  config.dynamicSmemBytes = kTileBytes;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int atOnce = 0;
  WARPMETER_CHECK(cudaOccupancyMaxActiveClusters(&atOnce, neighbourKernel, &config));

  Random random(run.arguments["seed"]);
  const std::vector<float> x = random.vector(elements);
  DeviceArray<float> deviceX(elements);
  DeviceArray<float> deviceY(elements);
  const auto steps = static_cast<int>(run.arguments["steps"]);
  const auto launch = [&] {
    WARPMETER_CHECK(cudaLaunchKernelEx(&config, neighbourKernel, steps, kFactor,
                                       static_cast<const float*>(deviceX.get()), deviceY.get()));
    run.report.launches.add({"neighbourKernel", config.gridDim, kBlock, 0, kTileBytes});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    launch();
    checkElements(run, x, deviceY.download(run.report), size, steps, random);
  }
  const double launchNs = measure(run, "neighbourKernel", launch);
  run.report.value("clustersAtOnce", "clusters at once", atOnce, Unit::count);
  run.report.value("blocksAtOnce", "blocks at once", static_cast<double>(atOnce) * size, Unit::count);
  reportRate(run, "flopPerSec", "arithmetic",
             2e9 * static_cast<double>(elements) * static_cast<double>(steps) / launchNs, Unit::flopPerSec,
             deviceCeilings(run).fp32PerSec);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, cluster); }
