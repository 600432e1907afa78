// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/occupancy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace warpmeter::analyzer {
namespace {

constexpr int kWarpSize = 32;
// Multiprocessors that share one cluster at most: the smallest full GPC of chips with clusters.
constexpr int kClusterDomainSms = 16;

template <class T>
constexpr T divideUp(T x, T y) {
  return (x + y - 1) / y;
}
template <class T>
constexpr T roundUp(T x, T unit) {
  return divideUp(x, unit) * unit;
}

Error usage(std::string text) { return {ErrorKind::usage, std::move(text)}; }

// nullopt: larger than any carve-out of the chip.
std::optional<std::int64_t> nextCarveout(const DeviceLimits& device, std::int64_t bytes) {
  for (const int kib : device.carveoutKib) {
    if (bytes <= std::int64_t{kib} * 1024) return std::int64_t{kib} * 1024;
  }
  return std::nullopt;
}

int blocksByWarps(const DeviceLimits& device, const KernelResources& kernel) {
  if (kernel.blockThreads > device.maxThreadsPerBlock) return 0;
  return device.maxWarpsPerSm / divideUp(kernel.blockThreads, kWarpSize);
}

// Registers are given to warps, in units, inside the sub-partition in which the warp runs. The launch check
// however counts a block as if it filled all sub-partitions alike.
int blocksByRegisters(const DeviceLimits& device, const KernelResources& kernel, std::int64_t& allocated) {
  const int warps = divideUp(kernel.blockThreads, kWarpSize);
  const int perWarp = roundUp(kernel.registersPerThread * kWarpSize, device.registerUnit);
  allocated = std::int64_t{perWarp} * warps;
  const std::int64_t checked = std::int64_t{perWarp} * roundUp(warps, device.subPartitions);
  if (kernel.registersPerThread > device.maxRegistersPerThread || checked > device.registersPerBlock)
    return 0;
  if (perWarp == 0) return kUnlimited;
  const int warpsPerPartition = device.registersPerSm / device.subPartitions / perWarp;
  return warpsPerPartition * device.subPartitions / warps;
}

// Bytes of shared memory that a multiprocessor has for blocks of this kernel.
std::optional<std::int64_t> carveoutOf(const DeviceLimits& device, const KernelResources& kernel,
                                       std::int64_t perBlock) {
  std::int64_t wanted = device.sharedPerSm;
  if (kernel.executedShared) {
    wanted = *kernel.executedShared;
  } else {
    if (kernel.carveoutPct) wanted = *kernel.carveoutPct * device.sharedPerSm / 100;
    const auto next = nextCarveout(device, wanted);
    if (!next) return std::nullopt;
    wanted = *next;
  }
  return wanted >= perBlock ? wanted : nextCarveout(device, perBlock);
}

int blocksBySharedMemory(const DeviceLimits& device, const KernelResources& kernel, Occupancy& out) {
  const std::int64_t used = kernel.staticShared + device.reservedSharedPerBlock + kernel.dynamicShared;
  out.sharedPerBlock = roundUp(used, device.sharedUnit);
  const std::int64_t limit =
      (used > device.sharedPerBlock ? device.sharedPerBlockOptin : device.sharedPerBlock) +
      (device.major >= 8 ? device.reservedSharedPerBlock : 0);
  if (out.sharedPerBlock > limit) return 0;
  const auto carveout = carveoutOf(device, kernel, out.sharedPerBlock);
  if (!carveout) return 0;
  out.carveoutBytes = *carveout;
  return out.sharedPerBlock > 0 ? static_cast<int>(*carveout / out.sharedPerBlock) : kUnlimited;
}

// A cluster lives inside one GPC. Without the driver's answer: GPCs of kClusterDomainSms multiprocessors.
std::int64_t estimateClusters(const DeviceLimits& device, int blocksPerSm, int clusterBlocks) {
  const int domains = device.smCount / kClusterDomainSms;
  const int rest = device.smCount % kClusterDomainSms;
  const std::int64_t blocks = blocksPerSm;
  return domains * (blocks * kClusterDomainSms / clusterBlocks) + blocks * rest / clusterBlocks;
}

void applyCluster(const DeviceLimits& device, const KernelResources& kernel, Occupancy& out) {
  if (kernel.clusterBlocks <= 1) return;
  if (kernel.maxActiveClusters) {
    out.activeClusters = *kernel.maxActiveClusters;
  } else if (device.smCount > 0) {
    out.activeClusters = estimateClusters(device, out.blocksPerSm, kernel.clusterBlocks);
    out.clusterEstimated = true;
  }
  if (!out.activeClusters || device.smCount == 0) return;
  const std::int64_t blocks = *out.activeClusters * kernel.clusterBlocks;
  out.limits.cluster = static_cast<int>(blocks / device.smCount);
  if (blocks >= std::int64_t{out.blocksPerSm} * device.smCount) return;
  out.limiters = {Limiter::cluster};
  out.occupancyPct = 100.0 * static_cast<double>(blocks) * out.warpsPerBlock /
                     (static_cast<double>(device.maxWarpsPerSm) * device.smCount);
}

// Blocks that run at a time on the whole GPU decide waves and tail.
void applyGrid(const DeviceLimits& device, const KernelResources& kernel, Occupancy& out) {
  if (kernel.gridBlocks <= 0 || device.smCount <= 0 || out.blocksPerSm <= 0) return;
  std::int64_t atOnce = std::int64_t{out.blocksPerSm} * device.smCount;
  if (out.activeClusters) atOnce = std::min(atOnce, *out.activeClusters * std::max(1, kernel.clusterBlocks));
  if (atOnce <= 0) return;
  const double waves = static_cast<double>(kernel.gridBlocks) / static_cast<double>(atOnce);
  const std::int64_t lastWave = kernel.gridBlocks % atOnce;
  out.waves = waves;
  out.tailPct =
      lastWave == 0 ? 0.0 : 100.0 * (1.0 - static_cast<double>(lastWave) / static_cast<double>(atOnce));
  out.tailEfficiencyPct = 100.0 * waves / static_cast<double>(divideUp(kernel.gridBlocks, atOnce));
  out.busySms = static_cast<int>(std::min<std::int64_t>(device.smCount, kernel.gridBlocks));
  // Below one wave, and an SM has room for more blocks than the grid brings it: 128 blocks of one per SM leave 4 of 132
  // SMs empty, but what holds the other 128 is the block's own need.
  const bool roomLeft = divideUp(kernel.gridBlocks, std::int64_t{device.smCount}) < out.blocksPerSm;
  if (kernel.gridBlocks < atOnce && roomLeft) out.limiters.insert(out.limiters.begin(), Limiter::grid);
}

Result<void> check(const DeviceLimits& device, const KernelResources& kernel) {
  if (kernel.blockThreads <= 0) return usage("a block needs at least one thread");
  if (kernel.registersPerThread < 0 || kernel.staticShared < 0 || kernel.dynamicShared < 0 ||
      kernel.gridBlocks < 0 || kernel.clusterBlocks < 0 || kernel.barriers < 0) {
    return usage("registers, shared memory, grid, cluster and barriers cannot be negative");
  }
  if (kernel.carveoutPct && (*kernel.carveoutPct < 0 || *kernel.carveoutPct > 100)) {
    return usage(fmt::format("the carve-out is a percentage from 0 to 100, not {}", *kernel.carveoutPct));
  }
  if (kernel.clusterBlocks > 1 && device.maxClusterBlocks == 0) {
    return usage(fmt::format("compute capability {}.{} has no clusters (they begin with 9.0)", device.major,
                             device.minor));
  }
  if (kernel.clusterBlocks > 1 && kernel.gridBlocks % kernel.clusterBlocks != 0) {
    return usage(fmt::format("a grid of {} blocks is no multiple of the cluster of {}", kernel.gridBlocks,
                             kernel.clusterBlocks));
  }
  return {};
}

// Smaller is better, first to last: thread slots of the GPU without work, averaged over the waves (in
// millionths; equal up to rounding counts as equal); if the grid fits one wave, warps on the busiest
// multiprocessor, then idle multiprocessors; distance from 128 threads, below which blocks become many and
// above which they are coarse.
std::array<double, 4> merit(const DeviceLimits& device, double threads, const BlockSizeAdvice& advice) {
  const Occupancy& o = advice.occupancy;
  double usedPct = o.occupancyPct, busiest = 0, idleSms = 0;
  if (o.waves) {
    const double slots = std::ceil(*o.waves) * device.smCount * device.maxWarpsPerSm * kWarpSize;
    usedPct = 100.0 * threads / slots;
    if (*o.waves <= 1) {
      busiest =
          static_cast<double>(divideUp<std::int64_t>(advice.gridBlocks, device.smCount) * o.warpsPerBlock);
      idleSms = device.smCount - o.busySms.value_or(0);
    }
  }
  return {std::round((100.0 - usedPct) * 1e4), busiest, idleSms,
          std::fabs(std::log2(advice.blockThreads / 128.0))};
}

}  // namespace

Result<Occupancy> occupancyOf(const DeviceLimits& device, const KernelResources& kernel) {
  if (auto ok = check(device, kernel); !ok) return ok.error();
  Occupancy out;
  BlockLimits& limits = out.limits;
  limits.warps = blocksByWarps(device, kernel);
  limits.registers = blocksByRegisters(device, kernel, out.registersPerBlock);
  limits.sharedMemory = blocksBySharedMemory(device, kernel, out);
  limits.blocks = device.maxBlocksPerSm;
  if (device.barriersPerSm > 0 && kernel.barriers > 0)
    limits.barriers = device.barriersPerSm / kernel.barriers;

  out.blocksPerSm =
      std::min({limits.warps, limits.registers, limits.sharedMemory, limits.blocks, limits.barriers});
  const auto limiting = [&](int limit, Limiter limiter) {
    if (limit == out.blocksPerSm) out.limiters.push_back(limiter);
  };
  limiting(limits.warps, Limiter::warps);
  limiting(limits.registers, Limiter::registers);
  limiting(limits.sharedMemory, Limiter::sharedMemory);
  limiting(limits.blocks, Limiter::blocks);
  limiting(limits.barriers, Limiter::barriers);

  out.warpsPerBlock = divideUp(kernel.blockThreads, kWarpSize);
  out.warpsPerSm = out.blocksPerSm * out.warpsPerBlock;
  out.maxWarpsPerSm = device.maxWarpsPerSm;
  out.occupancyPct = 100.0 * out.warpsPerSm / device.maxWarpsPerSm;
  applyCluster(device, kernel, out);
  applyGrid(device, kernel, out);
  return out;
}

std::string limiterText(const Occupancy& occupancy) {
  const auto has = [&](Limiter l) {
    return std::ranges::find(occupancy.limiters, l) != occupancy.limiters.end();
  };
  if (has(Limiter::grid)) return std::string(named(Limiter::grid).text);
  if (occupancy.warpsPerSm == occupancy.maxWarpsPerSm && !has(Limiter::cluster)) return "-";
  std::string out;
  for (const Limiter l : occupancy.limiters) {
    // One barrier a block: as many barriers as blocks on some chips, which says nothing new.
    if (l == Limiter::barriers && has(Limiter::blocks)) continue;
    out += out.empty() ? "" : ", ";
    out += named(l).text;
  }
  return out;
}

std::optional<std::int64_t> blocksOfSameThreads(const KernelResources& kernel, int blockThreads) {
  if (kernel.gridBlocks <= 0) return 0;
  if (kernel.blockThreads <= 0) return std::nullopt;
  // The largest grid, 2^31-1 x 65535 x 65535, is just below 2^63: its threads are not counted in an integer.
  const std::int64_t whole = kernel.gridBlocks / blockThreads, rest = kernel.gridBlocks % blockThreads;
  constexpr std::int64_t kMostBlocks = std::int64_t{0x7fffffff} * 65535 * 65535;
  if (whole > kMostBlocks / kernel.blockThreads) return std::nullopt;
  const std::int64_t blocks = whole * kernel.blockThreads + divideUp<std::int64_t>(rest * kernel.blockThreads, blockThreads);
  return blocks <= kMostBlocks ? std::optional(blocks) : std::nullopt;
}

Result<std::vector<BlockSizeAdvice>> bestBlockSizes(const DeviceLimits& device, const KernelResources& kernel,
                                                    std::size_t count) {
  const double threads = static_cast<double>(kernel.gridBlocks) * kernel.blockThreads;
  std::vector<BlockSizeAdvice> out;
  for (int block = kWarpSize; block <= device.maxThreadsPerBlock; block += kWarpSize) {
    KernelResources changed = kernel;
    changed.blockThreads = block;
    const auto blocks = blocksOfSameThreads(kernel, block);
    if (!blocks) continue;
    changed.gridBlocks = *blocks;
    if (kernel.clusterBlocks > 1) {
      changed.gridBlocks = roundUp<std::int64_t>(changed.gridBlocks, kernel.clusterBlocks);
    }
    if (block != kernel.blockThreads) changed.maxActiveClusters.reset();  // recorded for that block size only
    changed.executedShared.reset();  // the driver chooses the carve-out anew
    auto occupancy = occupancyOf(device, changed);
    if (!occupancy) return occupancy.error();
    if (occupancy->blocksPerSm > 0) out.push_back({block, changed.gridBlocks, std::move(*occupancy)});
  }
  std::ranges::stable_sort(out, {}, [&](const BlockSizeAdvice& a) { return merit(device, threads, a); });
  if (out.size() > count) out.resize(count);
  return out;
}

}  // namespace warpmeter::analyzer
