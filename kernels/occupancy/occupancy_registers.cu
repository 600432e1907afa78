// SPDX-License-Identifier: Apache-2.0
// Lesson: registers are shared by all warps of an SM. A kernel that keeps many values over a loop that only
// waits for memory has few warps to wait with; launch bounds make the compiler put the values away meanwhile.
#include "common/measure.h"
#include "common/random.h"
#include "common/sm_threads.h"

// Knobs: words that a thread keeps over the loop (each a register), and the blocks for each SM that the
// launch bounds ask for.
constexpr int kHeld = 64;
constexpr int kBlock = 256;
constexpr int kBlocksWanted = kThreadsOfSm / kBlock;
constexpr int kLanes = 32;

// Thread `thread` of `threads` reads kHeld words, follows a path through the list with its warp, 256 bytes a
// step, and mixes both. The list has mask + 1 nodes.
__device__ inline unsigned followAndMix(unsigned mask, int visits, const uint2* __restrict__ list,
                                        const unsigned* __restrict__ words, unsigned thread,
                                        unsigned threads) {
  unsigned held[kHeld];
  unsigned start = 0;
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    held[k] = words[static_cast<unsigned long long>(k) * threads + thread];
    start = 31 * start + held[k];
  }
  unsigned node = __shfl_sync(0xffffffffu, start, 0) & mask;
  unsigned sum = 0;
#pragma unroll 1
  for (int visit = 0; visit < visits; ++visit) {
    const uint2 part = list[static_cast<unsigned long long>(node) * kLanes + thread % kLanes];
    sum = 31 * sum + part.y;
    node = (31 * node + __shfl_sync(0xffffffffu, part.x, 0)) & mask;
  }
#pragma unroll
  for (int k = 0; k < kHeld; ++k) {
    sum = 31 * sum + held[k];
  }
  return sum;
}

__global__ void heldFreeKernel(unsigned mask, int visits, const uint2* __restrict__ list,
                               const unsigned* __restrict__ words, unsigned* __restrict__ sums) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  sums[thread] = followAndMix(mask, visits, list, words, thread, gridDim.x * blockDim.x);
}

__global__ void __launch_bounds__(kBlock, kBlocksWanted)
    heldBoundedKernel(unsigned mask, int visits, const uint2* __restrict__ list,
                      const unsigned* __restrict__ words, unsigned* __restrict__ sums) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  sums[thread] = followAndMix(mask, visits, list, words, thread, gridDim.x * blockDim.x);
}

namespace {

using namespace warpmeter::kernels;

constexpr std::int64_t kNodeBytes = kLanes * sizeof(uint2);

const Program kProgram{
    "occupancy_registers",
    "values that are kept over a loop of loads: in registers, or put away by launch bounds",
    {"heldFreeKernel", "heldBoundedKernel"},
    {{"free", "64 values stay in registers: few warps fit an SM", "registers", "latency", "int32", "read"},
     {"bounded", "launch bounds ask for as many blocks as fill an SM: the values are stored before the loop",
      "warps", "dram", "int32", "read"}},
    measuredOptions({{"nodes", 1 << 21, 1, 1 << 27, "nodes of the list, 256 bytes each, a power of two"},
                     {"visits", 256, 1, 1'000'000, "nodes that each warp visits"},
                     {"blocks", 2112, 1, 65535, "blocks of 256 threads"}},
                    10, 1),
    {"--nodes", "512", "--visits", "9", "--blocks", "3"}};

// Of up to 512 random warps.
void checkSums(Run& run, const std::vector<uint2>& list, const std::vector<unsigned>& words,
               const std::vector<unsigned>& sums, std::int64_t visits, Random& random) {
  const std::size_t threads = sums.size();
  const std::size_t warps = threads / kLanes;
  const std::size_t samples = std::min<std::size_t>(warps, 512);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const std::size_t first = (warps <= 512 ? sample : random.next() % warps) * kLanes;
    unsigned start = 0;
    for (int k = 0; k < kHeld; ++k) {
      start = 31 * start + words[k * threads + first];
    }
    const std::size_t mask = list.size() / kLanes - 1;
    std::vector<std::size_t> path{start & mask};
    for (std::int64_t visit = 1; visit < visits; ++visit) {
      path.push_back((31 * path.back() + list[path.back() * kLanes].x) & mask);
    }
    for (std::size_t thread = first; thread < first + kLanes; ++thread) {
      unsigned expected = 0;
      for (const std::size_t node : path) {
        expected = 31 * expected + list[node * kLanes + thread % kLanes].y;
      }
      for (int k = 0; k < kHeld; ++k) {
        expected = 31 * expected + words[k * threads + thread];
      }
      if (sums[thread] != expected) {
        throw differs("the sum of thread " + std::to_string(thread), sums[thread], expected);
      }
    }
  }
  run.nvtx.mark("checked");
  run.report.checked(static_cast<std::int64_t>(samples) * kLanes, "the CPU's sums");
}

void occupancyRegisters(Run& run) {
  const bool bounded = run.arguments.variant() == "bounded";
  const auto kernel = bounded ? heldBoundedKernel : heldFreeKernel;
  const char* const name = bounded ? "heldBoundedKernel" : "heldFreeKernel";
  const std::int64_t nodes = run.arguments["nodes"];
  const std::int64_t visits = run.arguments["visits"];
  const auto grid = static_cast<unsigned>(run.arguments["blocks"]);
  const std::int64_t threads = static_cast<std::int64_t>(grid) * kBlock;
  const std::string options = "--nodes " + std::to_string(nodes) + " --blocks " + std::to_string(grid);
  if ((nodes & (nodes - 1)) != 0) {
    throw Failure{kExitUsage,
                  "--nodes " + std::to_string(nodes) + " is not allowed, it must be a power of two"};
  }
  const std::int64_t bytes = nodes * kNodeBytes + threads * (kHeld + 1) * 4;
  requireHostMemory(bytes, options);

  openDevice(run);
  requireDeviceMemory(bytes, options);
  requireBlock(kernel, kBlock);
  Random random(run.arguments["seed"]);
  const auto list = random.bits<uint2>(nodes * kLanes);
  const auto words = random.bits<unsigned>(threads * kHeld);
  DeviceArray<uint2> deviceList(nodes * kLanes);
  DeviceArray<unsigned> deviceWords(threads * kHeld);
  DeviceArray<unsigned> deviceSums(threads);
  const auto launch = [&] {
    kernel<<<grid, kBlock>>>(static_cast<unsigned>(nodes - 1), static_cast<int>(visits), deviceList.get(),
                             deviceWords.get(), deviceSums.get());
    run.report.launches.add({name, grid, kBlock});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceList.upload(list, run.report);
    deviceWords.upload(words, run.report);
    launch();
    checkLaunch(name);
    checkSums(run, list, words, deviceSums.download(run.report), visits, random);
  }
  const double launchNs = measure(run, name, launch);
  reportTraffic(run, static_cast<double>(threads / kLanes * visits * kNodeBytes + threads * (kHeld + 1) * 4),
                launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, occupancyRegisters); }
