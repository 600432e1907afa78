// SPDX-License-Identifier: Apache-2.0
// Lesson: rows that become columns make a warp write to 32 places. A tile in shared memory turns them round,
// and one unused column in it keeps the 32 banks from being asked for the same one.
#include "common/measure.h"
#include "common/random.h"

// Of a tile. Rows of 64 words are 256 bytes on their way from and to neighbouring places in memory; with the
// block below a thread has 16 elements under way.
constexpr int kSide = 64;

// A thread's elements of a tile: rows of them below one another, in steps of kSide / rows. Outside the matrix
// they are copies of its last ones: loads without a condition are all under way before the first is used.
template <int rows>
struct Elements {
  static constexpr int kStep = kSide / rows;
  float value[rows];

  __device__ void load(int n, const float* __restrict__ from, int row, int column) {
#pragma unroll
    for (int j = 0; j < rows; ++j) {
      const long long clamped = row + j * kStep < n ? row + j * kStep : n - 1;
      value[j] = from[clamped * n + (column < n ? column : n - 1)];
    }
  }
};

// to = from transposed, both n x n and row by row. A block turns one tile.
template <int rows>
__global__ void transposeNaiveKernel(int n, const float* __restrict__ from, float* __restrict__ to) {
  const int column = static_cast<int>(blockIdx.x) * kSide + static_cast<int>(threadIdx.x);
  const int row = static_cast<int>(blockIdx.y) * kSide + static_cast<int>(threadIdx.y);
  Elements<rows> mine;
  mine.load(n, from, row, column);
#pragma unroll
  for (int j = 0; j < rows; ++j) {
    if (row + j * mine.kStep < n && column < n) {
      to[static_cast<long long>(column) * n + row + j * mine.kStep] = mine.value[j];
    }
  }
}

// Reads and writes whole rows; the turn happens in the tile, whose rows are pitch words apart.
template <int rows, int pitch>
__device__ void transposeThroughTile(int n, const float* __restrict__ from, float* __restrict__ to,
                                     float (&tile)[kSide][pitch]) {
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  Elements<rows> mine;
  mine.load(n, from, static_cast<int>(blockIdx.y) * kSide + y, static_cast<int>(blockIdx.x) * kSide + x);
#pragma unroll
  for (int j = 0; j < rows; ++j) {
    tile[y + j * mine.kStep][x] = mine.value[j];
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < rows; ++j) {
    mine.value[j] = tile[x][y + j * mine.kStep];
  }
  const int column = static_cast<int>(blockIdx.y) * kSide + x;
  const int row = static_cast<int>(blockIdx.x) * kSide + y;
#pragma unroll
  for (int j = 0; j < rows; ++j) {
    if (row + j * mine.kStep < n && column < n) {
      to[static_cast<long long>(row + j * mine.kStep) * n + column] = mine.value[j];
    }
  }
}

// A column of this tile lies in one bank: 32 threads read it one after the other.
template <int rows>
__global__ void transposeTiledKernel(int n, const float* __restrict__ from, float* __restrict__ to) {
  __shared__ float tile[kSide][kSide];
  transposeThroughTile<rows>(n, from, to, tile);
}

template <int rows>
__global__ void transposePaddedKernel(int n, const float* __restrict__ from, float* __restrict__ to) {
  __shared__ float tile[kSide][kSide + 1];
  transposeThroughTile<rows>(n, from, to, tile);
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "transpose",
    "turns a matrix: scattered writes, a tile in shared memory with bank conflicts, the tile without them",
    {"transposeNaiveKernel", "transposeTiledKernel", "transposePaddedKernel"},
    {{"naive", "every thread of a warp writes into another row: 32 sectors for 128 bytes", "registers",
      "latency", "", "mixed"},
     {"tiled", "whole rows are written, but a column of the tile lies in one bank", "registers", "l1", "",
      "mixed"},
     {"padded", "a 65th column in the tile spreads its columns over all banks", "registers", "dram", "",
      "mixed"}},
    measuredOptions({{"n", 8192, 1, 131072, "rows and columns"},
                     {"block", 256, 256, 1024, "threads in a block: 256, 512 or 1024"}},
                    50, 1),
    {"--n", "70"}};

using Kernel = void (*)(int, const float*, float*);

template <int rows>
Kernel kernelOf(const std::string& variant) {
  return variant == "naive"   ? transposeNaiveKernel<rows>
         : variant == "tiled" ? transposeTiledKernel<rows>
                              : transposePaddedKernel<rows>;
}

Kernel chosenKernel(const Arguments& arguments) {
  switch (arguments["block"]) {
    case 256:
      return kernelOf<16>(arguments.variant());
    case 512:
      return kernelOf<8>(arguments.variant());
    case 1024:
      return kernelOf<4>(arguments.variant());
    default:
      throw Failure{kExitUsage, "--block " + std::to_string(arguments["block"]) +
                                    " is not allowed, there is: 256, 512, 1024"};
  }
}

void transpose(Run& run) {
  const Kernel kernel = chosenKernel(run.arguments);
  const std::string& variant = run.arguments.variant();
  const char* name = variant == "naive"   ? "transposeNaiveKernel"
                     : variant == "tiled" ? "transposeTiledKernel"
                                          : "transposePaddedKernel";
  const std::int64_t n = run.arguments["n"];
  const std::string option = "--n " + std::to_string(n);
  const auto matrixBytes = n * n * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(2 * matrixBytes, option);
  const dim3 block(kSide, static_cast<unsigned>(run.arguments["block"]) / kSide);
  const dim3 grid(blocksFor(n, kSide), blocksFor(n, kSide));

  openDevice(run);
  requireDeviceMemory(2 * matrixBytes, option);
  requireBlock(kernel, run.arguments["block"]);
  const std::vector<float> from = Random(run.arguments["seed"]).vector(n * n);
  DeviceArray<float> deviceFrom(n * n);
  DeviceArray<float> deviceTo(n * n);
  const auto launch = [&] {
    kernel<<<grid, block>>>(static_cast<int>(n), deviceFrom.get(), deviceTo.get());
    run.report.launches.add({name, grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceFrom.upload(from, run.report);
    launch();
    checkLaunch(name);
    const std::vector<float> to = deviceTo.download(run.report);
    for (std::int64_t i = 0; i < n * n; ++i) {
      const float expected = from[i % n * n + i / n];
      if (to[i] != expected) {
        throw differs("element [" + std::to_string(i / n) + "][" + std::to_string(i % n) + "]", to[i],
                      expected);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(n * n, "the original elements");
  }
  const double launchNs = measure(run, name, launch);
  reportTraffic(run, 2.0 * static_cast<double>(matrixBytes), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, transpose); }
