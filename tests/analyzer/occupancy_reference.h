// SPDX-License-Identifier: Apache-2.0
// What NVIDIA's occupancy calculator says. Only for builds with the CUDA toolkit.
#pragma once

#include <climits>
#include <stdexcept>

#include "analyzer/occupancy_cases.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wconversion"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

namespace warpmeter::analyzer {

struct Reference {
  int blocks = 0, byWarps = 0, byRegisters = 0, byShared = 0;
  unsigned factors = 0;
};

// Device properties as the driver reports them for these chips.
inline cudaOccDeviceProp propertiesOf(int capability) {
  struct Chip {
    int capability, threads, sharedKib;
  };
  constexpr Chip kChips[] = {{75, 1024, 64},   {80, 2048, 164},  {86, 1536, 100},  {87, 1536, 164},
                             {89, 1536, 100},  {90, 2048, 228},  {100, 2048, 228}, {103, 2048, 228},
                             {110, 1536, 228}, {120, 1536, 100}, {121, 1536, 100}};
  for (const Chip& chip : kChips) {
    if (chip.capability != capability) continue;
    cudaOccDeviceProp p;
    p.computeMajor = capability / 10;
    p.computeMinor = capability % 10;
    p.maxThreadsPerBlock = 1024;
    p.maxThreadsPerMultiprocessor = chip.threads;
    p.regsPerBlock = p.regsPerMultiprocessor = 65536;
    p.warpSize = 32;
    p.sharedMemPerBlock = 49152;
    p.sharedMemPerMultiprocessor = static_cast<std::size_t>(chip.sharedKib) * 1024;
    p.numSms = 100;
    p.reservedSharedMemPerBlock = capability == 75 ? 0 : 1024;
    p.sharedMemPerBlockOptin = p.sharedMemPerMultiprocessor - p.reservedSharedMemPerBlock;
    return p;
  }
  throw std::runtime_error("no such chip");
}

inline Reference referenceOf(const OccupancyCase& c) {
  const cudaOccDeviceProp properties = propertiesOf(c.capability);
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = INT_MAX;
  function.numRegs = c.registers;
  function.sharedSizeBytes = static_cast<std::size_t>(c.staticShared);
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = static_cast<std::size_t>(c.dynamicShared);
  function.numBlockBarriers = c.barriers;
  cudaOccDeviceState state;
  state.carveoutConfig = c.carveoutPct;
  cudaOccResult result{};
  const auto status = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &properties, &function, &state, c.block, static_cast<std::size_t>(c.dynamicShared));
  if (status != CUDA_OCC_SUCCESS) throw std::runtime_error("cuda_occupancy.h refused a case");
  return {result.activeBlocksPerMultiprocessor, result.blockLimitWarps, result.blockLimitRegs,
          result.blockLimitSharedMem, result.limitingFactors};
}

}  // namespace warpmeter::analyzer
