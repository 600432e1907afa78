// SPDX-License-Identifier: Apache-2.0
// Lesson: in running sums every block needs what all blocks before it have. Asking for that in three kernels
// reads the array twice; blocks that look back at what their predecessors left behind read it once.
#include "common/measure.h"
#include "common/random.h"
#include "reduction/cub.h"
#include "reduction/tile.cuh"

// What a tile has told the later ones: a state in the upper half of a word and a sum in the lower one, so
// that both arrive together. Zero: nothing yet.
constexpr unsigned long long kOwnTotal = 1ull << 32;      // the sum of the tile's own values
constexpr unsigned long long kRunningTotal = 2ull << 32;  // and of all values before it

// The sum of all values before the tile, in every thread of the calling warp: 32 predecessors at once, back
// to the nearest one that knows its running total (D. Merrill and M. Garland, "Single-pass Parallel Prefix
// Scan with Decoupled Look-back", NVIDIA 2016).
__device__ unsigned lookBack(long long tile, const volatile unsigned long long* told) {
  unsigned sum = 0;
  for (long long last = tile - 1; last >= 0; last -= 32) {
    const long long mine = last - threadIdx.x % 32;
    unsigned long long word = kRunningTotal;  // before the first tile: a total of 0
    unsigned missing = 1;
    while (missing != 0) {
      if (mine >= 0) {
        word = told[mine];
      }
      missing = __ballot_sync(0xffffffffu, word < kOwnTotal);
    }
    const unsigned running = __ballot_sync(0xffffffffu, word >= kRunningTotal);
    const unsigned nearest = running != 0 ? __ffs(running) - 1 : 31;  // lanes go back from the tile
    sum += warpTotal(threadIdx.x % 32 <= nearest ? static_cast<unsigned>(word) : 0);
    if (running != 0) {
      break;
    }
  }
  return sum;
}

// told and *ticket must be zero. Tiles are taken in the order in which blocks start, so that all predecessors
// of a tile are at work and none waits for a block that has not started.
__global__ void scanOnePassKernel(long long n, const unsigned* __restrict__ x, unsigned* __restrict__ sums,
                                  volatile unsigned long long* told, unsigned* ticket) {
  __shared__ unsigned ofWarp[32];
  __shared__ unsigned mine;
  __shared__ unsigned beforeTile;
  if (threadIdx.x == 0) {
    mine = atomicAdd(ticket, 1u);
  }
  __syncthreads();
  const long long index = mine;
  Tile tile;
  tile.load(index, n, x);
  unsigned before = 0;
  const unsigned total = tile.scanBlock(ofWarp, before);
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0 && index > 0) {
      told[index] = kOwnTotal | total;
    }
    const unsigned earlier = lookBack(index, told);
    if (threadIdx.x == 0) {
      told[index] = kRunningTotal | (earlier + total);
      beforeTile = earlier;
    }
  }
  __syncthreads();
  tile.store(n, beforeTile + before, sums);
}

// The three kernels: each tile's total, running sums of those (by one block), each tile again.
__global__ void scanTotalsKernel(long long n, const unsigned* __restrict__ x, unsigned* __restrict__ totals) {
  __shared__ unsigned ofWarp[32];
  Tile tile;
  tile.load(blockIdx.x, n, x);
  unsigned sum = 0;
#pragma unroll
  for (int j = 0; j < kTileVectors; ++j) {
    sum += tile.part[j].x + tile.part[j].y + tile.part[j].z + tile.part[j].w;
  }
  sum = warpTotal(sum);
  if (threadIdx.x % 32 == 0) {
    ofWarp[threadIdx.x / 32] = sum;
  }
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warpTotal(threadIdx.x < blockDim.x / 32 ? ofWarp[threadIdx.x] : 0);
    if (threadIdx.x == 0) {
      totals[blockIdx.x] = sum;
    }
  }
}

// One block; in place.
__global__ void scanMiddleKernel(long long tiles, unsigned* totals) {
  __shared__ unsigned ofWarp[32];
  unsigned earlier = 0;
  for (long long index = 0; index * blockDim.x * 4 * kTileVectors < tiles; ++index) {
    Tile tile;
    tile.load(index, tiles, totals);
    unsigned before = earlier;
    earlier += tile.scanBlock(ofWarp, before);
    tile.store(tiles, before, totals);
    __syncthreads();  // ofWarp is free again
  }
}

__global__ void scanTilesKernel(long long n, const unsigned* __restrict__ x,
                                const unsigned* __restrict__ totals, unsigned* __restrict__ sums) {
  __shared__ unsigned ofWarp[32];
  Tile tile;
  tile.load(blockIdx.x, n, x);
  unsigned before = blockIdx.x > 0 ? totals[blockIdx.x - 1] : 0;
  tile.scanBlock(ofWarp, before);
  tile.store(n, before, sums);
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "scan",
    "running sums of an array: blocks that look back at their predecessors, or three kernels",
    {"scanOnePassKernel", "scanTotalsKernel", "scanMiddleKernel", "scanTilesKernel"},
    {{"one-pass", "each block looks back at what its predecessors have told", "registers", "dram", "int32",
      "mixed"},
     {"three-kernel", "totals of the tiles, running sums of those, the tiles again", "registers", "dram",
      "int32", "mixed"},
     {"cub", "the library's scan, one pass as well", "registers", "dram", "int32", "mixed"}},
    measuredOptions({{"n", 1 << 28, 1, 1LL << 40, "values"},
                     {"block", 256, 32, 1024, "threads in a block, a multiple of 32"}},
                    20, 1),
    {"--n", "100003"}};

// Bytes that CUB wants for itself.
std::size_t scratchBytes(std::int64_t n) {
  std::size_t bytes = 0;
  WARPMETER_CHECK(cubScan(nullptr, bytes, n, nullptr, nullptr));
  return bytes;
}

class Scan {
 public:
  Scan(Run& run, std::int64_t n, unsigned tiles, std::size_t scratchBytes)
      : run_(run),
        n_(n),
        tiles_(tiles),
        scratchBytes_(scratchBytes),
        x_(n),
        sums_(n),
        told_(tiles + 1LL),
        scratch_(static_cast<std::int64_t>(scratchBytes) + 1) {}

  void upload(const std::vector<unsigned>& x) { x_.upload(x, run_.report); }
  std::vector<unsigned> download() const { return sums_.download(run_.report); }

  void launch() {
    if (run_.arguments.variant() == "cub") {
      WARPMETER_CHECK(cubScan(scratch_.get(), scratchBytes_, n_, x_.get(), sums_.get()));
    } else if (run_.arguments.variant() == "one-pass") {
      launchOnePass();
    } else {
      launchThree();
    }
  }

 private:
  void launchOnePass() {
    WARPMETER_CHECK(cudaMemsetAsync(told_.get(), 0, told_.bytes()));
    run_.report.copy({"memset", "device", static_cast<std::int64_t>(told_.bytes())});
    auto* const ticket = reinterpret_cast<unsigned*>(told_.get() + tiles_);
    scanOnePassKernel<<<tiles_, block()>>>(n_, x_.get(), sums_.get(), told_.get(), ticket);
    run_.report.launches.add({"scanOnePassKernel", tiles_, block()});
  }

  // The totals lie where the other variant has its words: half as large.
  void launchThree() {
    auto* const totals = reinterpret_cast<unsigned*>(told_.get());
    scanTotalsKernel<<<tiles_, block()>>>(n_, x_.get(), totals);
    run_.report.launches.add({"scanTotalsKernel", tiles_, block()});
    scanMiddleKernel<<<1, block()>>>(tiles_, totals);
    run_.report.launches.add({"scanMiddleKernel", 1, block()});
    scanTilesKernel<<<tiles_, block()>>>(n_, x_.get(), totals, sums_.get());
    run_.report.launches.add({"scanTilesKernel", tiles_, block()});
  }

  unsigned block() const { return static_cast<unsigned>(run_.arguments["block"]); }

  Run& run_;
  std::int64_t n_;
  unsigned tiles_;
  std::size_t scratchBytes_;
  DeviceArray<unsigned> x_, sums_;
  DeviceArray<unsigned long long> told_;
  DeviceArray<unsigned char> scratch_;
};

void scan(Run& run) {
  const std::int64_t n = run.arguments["n"];
  const std::string option = "--n " + std::to_string(n);
  const std::int64_t block = run.arguments["block"];
  const std::int64_t bytes = n * static_cast<std::int64_t>(sizeof(unsigned));
  const bool cub = run.arguments.variant() == "cub";
  if (block % 32 != 0) {
    throw Failure{kExitUsage,
                  "--block " + std::to_string(block) + " is not allowed, it must be a multiple of 32"};
  }
  requireHostMemory(2 * bytes, option);
  const unsigned tiles = blocksFor(n, block * kTileVectors * 4);

  openDevice(run);
  requireBlock(scanOnePassKernel, block);
  requireBlock(scanTilesKernel, block);
  const std::size_t scratch = cub ? scratchBytes(n) : 0;
  requireDeviceMemory(2 * bytes + 8 * (tiles + 1LL) + static_cast<std::int64_t>(scratch), option);
  // From 0 to 15; sums beyond 2^32 start again at 0, on the CPU as well.
  auto x = Random(run.arguments["seed"]).bits<unsigned>(n);
  for (unsigned& value : x) {
    value >>= 28;
  }
  Scan work(run, n, tiles, scratch);
  if (cub) {
    run.report.notice("CUB's launches are not in the list");
  }
  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    work.upload(x);
    work.launch();
    checkLaunch("scan");
    const std::vector<unsigned> sums = work.download();
    unsigned expected = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      expected += x[i];
      if (sums[i] != expected) {
        throw differs("sum " + std::to_string(i), sums[i], expected);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(n, "whole numbers");
  }
  const double launchNs = measure(run, "scan", [&] { work.launch(); });
  run.report.value("usedBytesPerSec", "values and sums, once each",
                   2e9 * static_cast<double>(bytes) / launchNs, Unit::bytesPerSec);
  const double passes = run.arguments.variant() == "three-kernel" ? 3 : 2;
  reportTraffic(run, passes * static_cast<double>(bytes), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, scan); }
