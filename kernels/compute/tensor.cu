// SPDX-License-Identifier: Apache-2.0
// Lesson: tensor cores multiply small matrices in one instruction. What feeds them decides: tiles that are
// copied into shared memory ahead of their use, and operands in registers of which each is used at least four
// times.
#include <cuda_pipeline.h>

#include <type_traits>

#include "common/matrix_check.h"
#include "common/measure.h"
#include "common/random.h"
#include "compute/cublas.h"
#include "compute/tensor_hopper.h"
#include "tensor_ops.cuh"

constexpr int kRows = 128;  // of C that a block computes
constexpr int kColumns = 256;
constexpr int kWarpSide = 64;  // a warp computes 64 x 64 of it
constexpr int kThreads = 32 * (kRows / kWarpSide) * (kColumns / kWarpSide);
constexpr int kStages = 4;  // tiles on their way or in use
// A tile holds 64 bytes of each of these rows of A and columns of B; so it looks the same for all types.
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

// What products of T are added up in, two neighbours of which leave together.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, signed char>, int, float>;
template <class T>
using TwoSums = std::conditional_t<std::is_same_v<T, signed char>, int2, float2>;

// C = A B, all n x n; A and C row by row, B column by column. n is a multiple of kColumns.
template <class T>
__global__ void __launch_bounds__(kThreads)
    tensorKernel(int n, const T* __restrict__ a, const T* __restrict__ b, Sum<T>* __restrict__ c) {
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

  Sum<T> sums[kBlocks][2 * kBlocks][4] = {};
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
      *reinterpret_cast<TwoSums<T>*>(c + row * n + column) = {sums[i][j][0], sums[i][j][1]};
      *reinterpret_cast<TwoSums<T>*>(c + (row + 8) * n + column) = {sums[i][j][2], sums[i][j][3]};
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
    {"tensorKernel", "tensorHopperKernel"},
    {{"bf16", "operands in BF16, sums in FP32", "registers", "latency", "bf16", "read"},
     {"tf32", "operands in TF32, sums in FP32: half the rate", "registers", "latency", "tf32", "read"},
     {"fp16", "operands in FP16, sums in FP32", "registers", "latency", "fp16", "read"},
     {"int8", "operands of 8 bits, sums of 32: twice the rate", "registers", "latency", "int8", "read"},
     {"wgmma", "BF16 straight from shared memory, brought by the copy engine: GPUs of 9.0 alone", "registers",
      "tensor", "bf16", "read"},
     {"cublas", "cuBLAS beside it: BF16, sums and C in FP32", "", "tensor", "bf16", "read"}},
    measuredOptions({{"n", 4096, kColumns, 32768, "rows and columns of each matrix, a multiple of 256"}}, 20,
                    1),
    {"--n", "256"}};

// Whole numbers from -16 to 16, sixteenths of them but for INT8: exact in every type, and so are their
// products and sums, in any order (n is at most 32768: 16 x 16 x n stays below 2^24).
template <class T>
std::vector<float> operand(std::int64_t size, Random& random) {
  std::vector<float> values = random.wholeNumbers(size, 16);
  if constexpr (!std::is_same_v<T, signed char>) {
    for (float& value : values) {
      value /= 16;
    }
  }
  return values;
}

template <class T>
double ceilingOf(const Ceilings& ceilings) {
  return std::is_same_v<T, signed char> ? ceilings.int8PerSec
         : std::is_same_v<T, float>     ? ceilings.tf32PerSec
                                        : ceilings.bf16PerSec;  // FP16 is as fast
}

template <class T>
class Product {
 public:
  explicit Product(Run& run) : run_(run), n_(run.arguments["n"]), variant_(run.arguments.variant()) {}

  void run() {
    require();
    if (!open()) {
      return;
    }
    Random random(run_.arguments["seed"]);
    const std::vector<float> a = operand<T>(n_ * n_, random);
    const std::vector<float> b = operand<T>(n_ * n_, random);
    DeviceArray<T> deviceA(n_ * n_);
    DeviceArray<T> deviceB(n_ * n_);
    DeviceArray<Sum<T>> deviceC(n_ * n_);
    deviceA.upload(std::vector<T>(a.begin(), a.end()), run_.report);
    deviceB.upload(std::vector<T>(b.begin(), b.end()), run_.report);
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      if (variant_ == "wgmma") {
        const HopperProduct product(static_cast<int>(n_), deviceA.get(), deviceB.get(), deviceC.get());
        measured("tensorHopperKernel", a, b, deviceC, random, [&] {
          product.launch();
          run_.report.launches.add(
              {"tensorHopperKernel", product.grid(), product.block(), 0, product.sharedBytes()});
        });
        return;
      }
      if (variant_ == "cublas") {
        measured("cublas", a, b, deviceC, random, [&] {
          cublas_.multiply(static_cast<int>(n_), deviceA.get(), deviceB.get(), true, deviceC.get(),
                           CUDA_R_16BF);
        });
        return;
      }
    }
    constexpr int sharedBytes = kStages * kStageBytes;
    const dim3 grid(static_cast<unsigned>(n_ / kColumns), static_cast<unsigned>(n_ / kRows));
    WARPMETER_CHECK(
        cudaFuncSetAttribute(tensorKernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, sharedBytes));
    measured("tensorKernel", a, b, deviceC, random, [&] {
      tensorKernel<T><<<grid, kThreads, sharedBytes>>>(static_cast<int>(n_), deviceA.get(), deviceB.get(),
                                                       deviceC.get());
      run_.report.launches.add({"tensorKernel", grid, kThreads, 0, sharedBytes});
    });
  }

 private:
  void require() {
    const std::string option = "--n " + std::to_string(n_);
    if (n_ % kColumns != 0) {
      throw Failure{kExitUsage,
                    option + " is not allowed, it must be a multiple of " + std::to_string(kColumns)};
    }
    const std::int64_t operandBytes = n_ * n_ * static_cast<std::int64_t>(sizeof(T));
    const std::int64_t resultBytes = n_ * n_ * static_cast<std::int64_t>(sizeof(float));
    requireHostMemory(2 * operandBytes + 4 * resultBytes, option);
    openDevice(run_);
    if (deviceAttribute(run_, cudaDevAttrComputeCapabilityMajor) < 8) {
      throw Failure{kExitNoGpu,
                    "this GPU has no tensor cores for BF16 and TF32: compute capability 8.0 is needed"};
    }
    requireDeviceMemory(2 * operandBytes + resultBytes, option);
    requireBlock(tensorKernel<T>, kThreads);
  }

  // Whether the variant can run here; if not, the report says why.
  bool open() {
    if (variant_ == "wgmma" && !HopperProduct::possible()) {
      run_.report.notice("wgmma is of compute capability 9.0 alone, this GPU has another: nothing measured");
      return false;
    }
    if (variant_ == "cublas") {
      if (!cublas_.open(run_)) {
        return false;
      }
      cublas_.start(run_);
    }
    return true;
  }

  template <class Launch>
  void measured(const char* name, const std::vector<float>& a, const std::vector<float>& b,
                const DeviceArray<Sum<T>>& deviceC, Random& random, const Launch& launch) {
    {
      Phase phase(run_.nvtx, "check");  // also the warm-up
      launch();
      checkLaunch(name);
      const std::vector<Sum<T>> c = deviceC.download(run_.report);
      run_.report.checked(
          checkProduct(n_, a, b, Stored::byColumns, std::vector<float>(c.begin(), c.end()), random, 0),
          "double precision");
      run_.nvtx.mark("checked");
    }
    const double launchNs = measure(run_, name, launch);
    const double size = static_cast<double>(n_);
    reportRate(run_, "flopPerSec", "arithmetic", 2e9 * size * size * size / launchNs, Unit::flopPerSec,
               ceilingOf<T>(deviceCeilings(run_)));
  }

  Run& run_;
  std::int64_t n_;
  const std::string& variant_;
  Cublas cublas_;
};

void tensor(Run& run) {
  const std::string& variant = run.arguments.variant();
  if (variant == "tf32") {
    Product<float>(run).run();
  } else if (variant == "fp16") {
    Product<__half>(run).run();
  } else if (variant == "int8") {
    Product<signed char>(run).run();
  } else {
    Product<__nv_bfloat16>(run).run();
  }
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, tensor); }
