// SPDX-License-Identifier: Apache-2.0
#include "gpu_limits.h"

#include <algorithm>
#include <iterator>

namespace warpmeter::recorder {
namespace {

constexpr std::int64_t kKiB = 1024;

struct TableRow {
  int capability;                 // major * 10 + minor
  std::int64_t shmemPerBlockOptin, reservedPerBlock;
  const char* chip;               // only where one chip has this capability
};
constexpr TableRow kTable[] = {
    {70, 96 * kKiB, 0, "GV100"},       {75, 64 * kKiB, 0, ""},            {80, 163 * kKiB, kKiB, "GA100"},
    {86, 99 * kKiB, kKiB, ""},         {87, 163 * kKiB, kKiB, "GA10B"},   {89, 99 * kKiB, kKiB, ""},
    {90, 227 * kKiB, kKiB, "GH100"},   {100, 227 * kKiB, kKiB, "GB100"},  {103, 227 * kKiB, kKiB, ""},
    {110, 227 * kKiB, kKiB, ""},       {120, 99 * kKiB, kKiB, ""},        {121, 99 * kKiB, kKiB, ""},
};

void take(std::int64_t& value, std::int64_t better) {
  if (!isNull(better)) value = better;
}
void take(std::string& value, const std::string& better) {
  if (!better.empty()) value = better;
}

}  // namespace

void fillFromTable(GpuInfo& gpu) {
  if (isNull(gpu.computeMajor) || isNull(gpu.computeMinor)) return;
  const auto capability = gpu.computeMajor * 10 + gpu.computeMinor;
  const auto* row = std::find_if(std::begin(kTable), std::end(kTable),
                                 [capability](const TableRow& r) { return r.capability == capability; });
  if (row == std::end(kTable)) return;
  if (gpu.chipName.empty()) gpu.chipName = row->chip;
  const bool missing = isNull(gpu.maxShmemPerBlockOptin) || isNull(gpu.reservedShmemPerBlock);
  if (!missing) return;
  if (isNull(gpu.maxShmemPerBlockOptin)) gpu.maxShmemPerBlockOptin = row->shmemPerBlockOptin;
  if (isNull(gpu.reservedShmemPerBlock)) gpu.reservedShmemPerBlock = row->reservedPerBlock;
  gpu.limitSource = "table";
}

void overlay(GpuInfo& gpu, const GpuInfo& d) {
  take(gpu.name, d.name);
  take(gpu.busLocation, d.busLocation);
  take(gpu.isDiscrete, d.isDiscrete);
  take(gpu.l2CacheSize, d.l2CacheSize);
  take(gpu.totalMemory, d.totalMemory);
  take(gpu.memoryBandwidth, d.memoryBandwidth);
  take(gpu.clockRate, d.clockRate);
  take(gpu.smCount, d.smCount);
  take(gpu.constantMemory, d.constantMemory);
  take(gpu.maxRegistersPerBlock, d.maxRegistersPerBlock);
  take(gpu.maxShmemPerBlock, d.maxShmemPerBlock);
  take(gpu.maxShmemPerBlockOptin, d.maxShmemPerBlockOptin);
  take(gpu.maxShmemPerSm, d.maxShmemPerSm);
  take(gpu.maxRegistersPerSm, d.maxRegistersPerSm);
  take(gpu.threadsPerWarp, d.threadsPerWarp);
  take(gpu.asyncEngines, d.asyncEngines);
  take(gpu.maxWarpsPerSm, d.maxWarpsPerSm);
  take(gpu.maxBlocksPerSm, d.maxBlocksPerSm);
  take(gpu.maxThreadsPerBlock, d.maxThreadsPerBlock);
  for (int i = 0; i < 3; ++i) {
    take(gpu.maxBlockDim[i], d.maxBlockDim[i]);
    take(gpu.maxGridDim[i], d.maxGridDim[i]);
  }
  take(gpu.computeMajor, d.computeMajor);
  take(gpu.computeMinor, d.computeMinor);
  take(gpu.reservedShmemPerBlock, d.reservedShmemPerBlock);
  take(gpu.memoryClockHz, d.memoryClockHz);
  take(gpu.memoryBusBits, d.memoryBusBits);
  gpu.limitSource = "driver";
}

}  // namespace warpmeter::recorder
