// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>

#include "warpmeter/analyzer/occupancy.h"

namespace warpmeter::analyzer {
namespace {

constexpr int kTuringKib[] = {32, 64};
constexpr int k164Kib[] = {0, 8, 16, 32, 64, 100, 132, 164};
constexpr int k100Kib[] = {0, 8, 16, 32, 64, 100};
constexpr int k228Kib[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

// CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability", and cuda_occupancy.h.
struct Chip {
  int capability;     // major * 10 + minor
  int warps, blocks;  // per SM
  int barriers;       // per SM; 0: the calculator does not check them on this chip
  std::span<const int> carveoutKib;
};
constexpr std::array<Chip, 11> kChips{{
    {75, 32, 16, 0, kTuringKib},
    {80, 64, 32, 0, k164Kib},
    {86, 48, 16, 0, k100Kib},
    {87, 48, 16, 0, k164Kib},
    {89, 48, 24, 0, k100Kib},
    {90, 64, 32, 64, k228Kib},
    {100, 64, 32, 64, k228Kib},
    {103, 64, 32, 64, k228Kib},
    {110, 48, 24, 24, k228Kib},
    {120, 48, 24, 24, k100Kib},
    {121, 48, 24, 24, k100Kib},
}};

constexpr auto kCapabilities = [] {
  std::array<int, kChips.size()> out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kChips[i].capability;
  return out;
}();

std::string capabilityList() {
  std::string out;
  for (const int c : kCapabilities) out += fmt::format("{}{}.{}", out.empty() ? "" : " ", c / 10, c % 10);
  return out;
}

// Recorded values of 0 occur in real files and mean "not known".
void take(int& to, std::int64_t recorded) {
  if (!isNull(recorded) && recorded > 0) to = static_cast<int>(recorded);
}
void take(std::int64_t& to, std::int64_t recorded) {
  if (!isNull(recorded) && recorded > 0) to = recorded;
}

}  // namespace

std::span<const int> supportedCapabilities() { return kCapabilities; }

Result<DeviceLimits> deviceLimits(int major, int minor, int smCount) {
  for (const Chip& chip : kChips) {
    if (chip.capability != major * 10 + minor) continue;
    DeviceLimits d;
    d.major = major;
    d.minor = minor;
    d.smCount = smCount;
    d.maxWarpsPerSm = chip.warps;
    d.maxBlocksPerSm = chip.blocks;
    d.barriersPerSm = chip.barriers;
    d.carveoutKib = chip.carveoutKib;
    d.sharedPerSm = std::int64_t{chip.carveoutKib.back()} * 1024;
    const bool turing = major == 7;
    d.reservedSharedPerBlock = turing ? 0 : 1024;
    d.sharedUnit = turing ? 256 : 128;
    d.sharedPerBlockOptin = d.sharedPerSm - d.reservedSharedPerBlock;
    d.maxClusterBlocks = major >= 9 ? 8 : 0;
    return d;
  }
  return Error{ErrorKind::unsupported, fmt::format("compute capability {}.{} is not supported; known are {}",
                                                   major, minor, capabilityList())};
}

Result<DeviceLimits> deviceLimits(const GpuInfo& gpu) {
  if (isNull(gpu.computeMajor) || isNull(gpu.computeMinor) || gpu.computeMajor <= 0) {
    return Error{ErrorKind::notFound,
                 fmt::format("the recording does not say the compute capability of GPU {}", gpu.id)};
  }
  auto limits = deviceLimits(static_cast<int>(gpu.computeMajor), static_cast<int>(gpu.computeMinor));
  if (!limits) return limits;
  take(limits->smCount, gpu.smCount);
  take(limits->maxWarpsPerSm, gpu.maxWarpsPerSm);
  take(limits->maxBlocksPerSm, gpu.maxBlocksPerSm);
  take(limits->maxThreadsPerBlock, gpu.maxThreadsPerBlock);
  take(limits->registersPerSm, gpu.maxRegistersPerSm);
  take(limits->registersPerBlock, gpu.maxRegistersPerBlock);
  take(limits->sharedPerBlock, gpu.maxShmemPerBlock);
  take(limits->sharedPerBlockOptin, gpu.maxShmemPerBlockOptin);
  take(limits->reservedSharedPerBlock, gpu.reservedShmemPerBlock);
  // A multiprocessor with more shared memory than the chip's largest carve-out cannot be: keep the table's.
  if (gpu.maxShmemPerSm > 0 && gpu.maxShmemPerSm <= limits->sharedPerSm)
    limits->sharedPerSm = gpu.maxShmemPerSm;
  limits->fromTable = false;
  return limits;
}

}  // namespace warpmeter::analyzer
