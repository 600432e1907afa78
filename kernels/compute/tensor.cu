// SPDX-License-Identifier: Apache-2.0
// Lesson: tensor cores multiply small matrices in one instruction. What feeds them decides: tiles that are
// copied into shared memory ahead of their use, and operands in registers of which each is used at least four
// times.
#include <cuda_pipeline.h>

#include "common/matrix_check.h"
#include "common/measure.h"
#include "common/random.h"
#include "tensor_ops.cuh"

constexpr int kRows = 128;  // of C that a block computes
constexpr int kColumns = 256;
constexpr int kWarpSide = 64;  // a warp computes 64 x 64 of it
constexpr int kThreads = 32 * (kRows / kWarpSide) * (kColumns / kWarpSide);
constexpr int kStages = 4;  // tiles on their way or in use
// A tile holds 64 bytes of each of these rows of A and columns of B; so it looks the same for BF16 and TF32.
constexpr int kTileRows = kRows + kColumns;
constexpr int kRowBytes = 64;
constexpr int kChunkBytes = 16;
constexpr int kChunks = kRowBytes / kChunkBytes;
constexpr int kStageBytes = kTileRows * kRowBytes;

// Where a chunk of a tile lies. The order of the chunks differs from row to row, so that the same chunk of
// eight rows fills all 32 banks once.
__device__ inline int placeOf(int row, int chunk) {
  return row * kRowBytes + (chunk ^ (row / 2 % kChunks)) * kChunkBytes;
}

// C = A B, all n x n; A and C row by row, B column by column. n is a multiple of kColumns.
template <class T>
__global__ void __launch_bounds__(kThreads)
    tensorKernel(int n, const T* __restrict__ a, const T* __restrict__ b, float* __restrict__ c) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  alignas(128) extern __shared__ unsigned char stages[];
  constexpr int kBlocks = kWarpSide / 16;  // of 16 rows or columns
  constexpr int kStepChunks = 2;           // of a row or column that one instruction takes
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warpRow = thread / 32 / (kColumns / kWarpSide) * kWarpSide;
  const int warpColumn = thread / 32 % (kColumns / kWarpSide) * kWarpSide;
  const long long firstRow = static_cast<long long>(blockIdx.y) * kRows;
  const long long firstColumn = static_cast<long long>(blockIdx.x) * kColumns;
  const long long rowBytes = static_cast<long long>(n) * static_cast<int>(sizeof(T));
  const auto* const fromA = reinterpret_cast<const unsigned char*>(a) + firstRow * rowBytes;
  const auto* const fromB = reinterpret_cast<const unsigned char*>(b) + firstColumn * rowBytes;
  const int tiles = static_cast<int>(rowBytes / kRowBytes);

  // Commits even without a copy: the number of commits tells which tile has arrived.
  const auto startCopy = [&](int tile) {
    if (tile < tiles) {
#pragma unroll
      for (int i = 0; i < kTileRows * kChunks / kThreads; ++i) {
        const int row = (i * kThreads + thread) / kChunks;
        const int chunk = thread % kChunks;
        const auto* const from = row < kRows ? fromA + row * rowBytes : fromB + (row - kRows) * rowBytes;
        __pipeline_memcpy_async(stages + tile % kStages * kStageBytes + placeOf(row, chunk),
                                from + static_cast<long long>(tile) * kRowBytes + chunk * kChunkBytes,
                                kChunkBytes);
      }
    }
    __pipeline_commit();
  };

  float sums[kBlocks][2 * kBlocks][4] = {};
  for (int tile = 0; tile < kStages - 1; ++tile) {
    startCopy(tile);
  }
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();  // the tile is here for all warps, and none still reads the one that is overwritten next
    startCopy(tile + kStages - 1);
    const unsigned char* const stage = stages + tile % kStages * kStageBytes;
#pragma unroll
    for (int step = 0; step < kChunks; step += kStepChunks) {
      unsigned left[kBlocks][4];
      unsigned right[kBlocks][4];
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
        // Of A: rows 0-7 and 8-15 of the first chunk, then of the second; of B: both chunks of columns 0-7,
        // of 8-15.
        loadMatrices(left[i], stage + placeOf(warpRow + i * 16 + lane % 16, step + lane / 16));
        loadMatrices(right[i], stage + placeOf(kRows + warpColumn + i * 16 + lane / 16 * 8 + lane % 8,
                                               step + lane / 8 % 2));
      }
#pragma unroll
      for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
        for (int j = 0; j < 2 * kBlocks; ++j) {
          multiplyAdd(sums[i][j], left[i], right[j / 2] + j % 2 * 2, T{});
        }
      }
    }
  }
  // A thread holds two neighbours of a row, and two of the eighth row below.
#pragma unroll
  for (int i = 0; i < kBlocks; ++i) {
#pragma unroll
    for (int j = 0; j < 2 * kBlocks; ++j) {
      const long long row = firstRow + warpRow + i * 16 + lane / 4;
      const long long column = firstColumn + warpColumn + j * 8 + lane % 4 * 2;
      *reinterpret_cast<float2*>(c + row * n + column) = make_float2(sums[i][j][0], sums[i][j][1]);
      *reinterpret_cast<float2*>(c + (row + 8) * n + column) = make_float2(sums[i][j][2], sums[i][j][3]);
    }
  }
#endif
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "tensor",
    "C = A B on the tensor cores: tiles copied ahead into shared memory, 64 x 64 sums in each warp's "
    "registers",
    {"tensorKernel"},
    {{"bf16", "operands in BF16, sums in FP32", "registers", "tensor"},
     {"tf32", "operands in TF32, sums in FP32: half the rate", "registers", "tensor"}},
    measuredOptions({{"n", 4096, kColumns, 32768, "rows and columns of each matrix, a multiple of 256"}}, 20,
                    1),
    {"--n", "256"}};

// Sixteenths from -1 to 1: exact in BF16 and TF32, and so are their products and sums in FP32, in any order.
std::vector<float> sixteenths(std::int64_t size, Random& random) {
  std::vector<float> values = random.wholeNumbers(size, 16);
  for (float& value : values) {
    value /= 16;
  }
  return values;
}

template <class T>
void multiply(Run& run) {
  const std::int64_t n = run.arguments["n"];
  const std::string option = "--n " + std::to_string(n);
  if (n % kColumns != 0) {
    throw Failure{kExitUsage,
                  option + " is not allowed, it must be a multiple of " + std::to_string(kColumns)};
  }
  const std::int64_t operandBytes = n * n * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t resultBytes = n * n * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(2 * operandBytes + 3 * resultBytes, option);
  constexpr int sharedBytes = kStages * kStageBytes;
  const dim3 grid(static_cast<unsigned>(n / kColumns), static_cast<unsigned>(n / kRows));

  openDevice(run);
  if (deviceAttribute(run, cudaDevAttrComputeCapabilityMajor) < 8) {
    throw Failure{kExitNoGpu,
                  "this GPU has no tensor cores for BF16 and TF32: compute capability 8.0 is needed"};
  }
  requireDeviceMemory(2 * operandBytes + resultBytes, option);
  requireBlock(tensorKernel<T>, kThreads);
  WARPMETER_CHECK(
      cudaFuncSetAttribute(tensorKernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, sharedBytes));

  Random random(run.arguments["seed"]);
  const std::vector<float> a = sixteenths(n * n, random);
  const std::vector<float> b = sixteenths(n * n, random);
  DeviceArray<T> deviceA(n * n);
  DeviceArray<T> deviceB(n * n);
  DeviceArray<float> deviceC(n * n);
  const auto launch = [&] {
    tensorKernel<T>
        <<<grid, kThreads, sharedBytes>>>(static_cast<int>(n), deviceA.get(), deviceB.get(), deviceC.get());
    run.report.launches.add({"tensorKernel", grid, kThreads, 0, sharedBytes});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceA.upload(std::vector<T>(a.begin(), a.end()), run.report);
    deviceB.upload(std::vector<T>(b.begin(), b.end()), run.report);
    launch();
    checkLaunch("tensorKernel");
    run.report.checked(checkProduct(n, a, b, Stored::byColumns, deviceC.download(run.report), random, 0),
                       "double precision");
    run.nvtx.mark("checked");
  }
  const double launchNs = measure(run, "tensorKernel", launch);
  const double size = static_cast<double>(n);
  const Ceilings ceilings = deviceCeilings(run);
  reportRate(run, "flopPerSec", "arithmetic", 2e9 * size * size * size / launchNs, Unit::flopPerSec,
             sizeof(T) == 2 ? ceilings.bf16PerSec : ceilings.tf32PerSec);
}

void tensor(Run& run) {
  if (run.arguments.variant() == "bf16") {
    multiply<__nv_bfloat16>(run);
  } else {
    multiply<float>(run);
  }
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, tensor); }
