// SPDX-License-Identifier: Apache-2.0
// Theoretical occupancy, what limits it, waves and tail, for compute capability 7.5 to 12.1.
// Equals NVIDIA's occupancy calculator cuda_occupancy.h 13.0 (tests); formulas in docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "warpmeter/analyzer/names.h"
#include "warpmeter/profile/info.h"
#include "warpmeter/profile/result.h"

namespace warpmeter::analyzer {

// Limits of a device. Bytes, threads, registers; per multiprocessor ("Sm") or per block.
struct DeviceLimits {
  int major = 0, minor = 0;
  int smCount = 0;  // 0 = not known: no waves, no tail
  int maxThreadsPerBlock = 1024, maxWarpsPerSm = 0, maxBlocksPerSm = 0;
  int registersPerSm = 65536, registersPerBlock = 65536, maxRegistersPerThread = 256, registerUnit = 256;
  int subPartitions = 4;
  std::int64_t sharedPerSm = 0, sharedPerBlock = 49152, sharedPerBlockOptin = 0, reservedSharedPerBlock = 0;
  std::int64_t sharedUnit = 128;
  int barriersPerSm = 0;             // 0 = not a limit on this chip
  int maxClusterBlocks = 0;          // portable cluster size; 0 = no clusters
  std::span<const int> carveoutKib;  // sizes that the shared memory of an SM can take, ascending
  bool fromTable = true;             // false: the recording said the limits
};

std::span<const int> supportedCapabilities();  // 75, 80, 86, ... (major * 10 + minor)

// By compute capability. smCount 0 where none is given. Errors: unsupported, naming the list.
Result<DeviceLimits> deviceLimits(int major, int minor, int smCount = 0);
// What the recording says, and the table for the rest. Errors: unsupported; notFound when it names no
// capability.
Result<DeviceLimits> deviceLimits(const GpuInfo& gpu);

struct KernelResources {
  int blockThreads = 0;
  int registersPerThread = 0;
  std::int64_t staticShared = 0, dynamicShared = 0;  // bytes
  std::int64_t gridBlocks = 0;                       // 0 = not known: no waves, no tail
  int clusterBlocks = 0;                             // 0 or 1 = no cluster
  int barriers = 1;                                  // named barriers of a block
  // The carve-out: executedShared bytes when known, else the requested percentage, else the driver's default.
  std::optional<std::int64_t> executedShared;
  std::optional<int> carveoutPct;
  std::optional<std::int64_t> maxActiveClusters;  // as recorded; replaces the estimate
};

// Blocks that fit one multiprocessor by one resource alone; kUnlimited = this resource does not limit.
inline constexpr int kUnlimited = 0x7fffffff;
struct BlockLimits {
  int warps = 0, registers = 0, sharedMemory = 0, blocks = 0, barriers = kUnlimited, cluster = kUnlimited;
};

struct Occupancy {
  int blocksPerSm = 0;  // 0 = cannot be launched; limiters say by what
  int warpsPerBlock = 0, warpsPerSm = 0, maxWarpsPerSm = 0;
  double occupancyPct = 0;        // of the device's warps, with all multiprocessors full
  std::vector<Limiter> limiters;  // what holds blocksPerSm down; grid: the grid does not fill the GPU once
  BlockLimits limits;
  std::int64_t registersPerBlock = 0, sharedPerBlock = 0;  // allocated, after rounding
  std::int64_t carveoutBytes = 0;              // shared memory of the multiprocessor that the result assumes
  std::optional<std::int64_t> activeClusters;  // clusters on the whole GPU at a time
  bool clusterEstimated = false;               // activeClusters is the formula, not the driver's answer
  std::optional<double> waves;                 // grid / blocks that run at a time on the whole GPU
  std::optional<double> tailPct;               // part of the last wave that is empty; 0 = full
  std::optional<double> tailEfficiencyPct;     // waves / ceil(waves)
  std::optional<int> busySms;                  // multiprocessors that get a block at all
};

// A block that the device cannot run gives blocksPerSm 0 with the limiter. Errors: usage (a block of no
// threads, negative sizes, a carve-out beyond 0..100 %, a cluster where the chip has none or the grid is no
// multiple of it).
Result<Occupancy> occupancyOf(const DeviceLimits& device, const KernelResources& kernel);

// Limiters as text for people: "registers", "warps, blocks"; "-" when nothing but the maximum of warps
// limits.
std::string limiterText(const Occupancy& occupancy);

// Blocks of `blockThreads` that together have the threads of the launch, rounded up; 0 without a grid; nullopt: more
// than any grid has.
std::optional<std::int64_t> blocksOfSameThreads(const KernelResources& kernel, int blockThreads);

struct BlockSizeAdvice {
  int blockThreads = 0;
  std::int64_t gridBlocks = 0;  // keeps the number of threads of the launch; 0 without a grid
  Occupancy occupancy;
};

// Every multiple of the warp size by the same calculator, with the same shared memory per block. Best first:
// by the part of the GPU's thread slots that has work, averaged over the waves (without a grid: the
// occupancy); where the grid fits one wave, by few warps on the busiest multiprocessor, then by
// multiprocessors that get work; then the size nearest to 128. At most `count`, none that cannot be launched.
Result<std::vector<BlockSizeAdvice>> bestBlockSizes(const DeviceLimits& device, const KernelResources& kernel,
                                                    std::size_t count = 8);

}  // namespace warpmeter::analyzer
