// SPDX-License-Identifier: Apache-2.0
// Lesson: reading a tile once into shared memory and using it many times takes the load off L2; using it many
// times again in registers takes the load off shared memory, and then the multiply-add units decide.
#include "common/matrix_check.h"
#include "common/measure.h"
#include "common/random.h"
#include "compute/cublas.h"

// C = A B, all n x n, row by row. Every thread reads a row of A and a column of B for one element of C.
__global__ void matmulNaiveKernel(int n, const float* a, const float* b, float* c) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (row >= n || column >= n) {
    return;
  }
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    sum += a[static_cast<long long>(row) * n + k] * b[static_cast<long long>(k) * n + column];
  }
  c[static_cast<long long>(row) * n + column] = sum;
}

// The block walks along k in tiles that it loads together; each loaded value is used side times.
template <int side>
__global__ void matmulTiledKernel(int n, const float* a, const float* b, float* c) {
  __shared__ float tileA[side][side];
  __shared__ float tileB[side][side];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * side + x;
  const int row = static_cast<int>(blockIdx.y) * side + y;
  float sum = 0;
  for (int k = 0; k < n; k += side) {
    tileA[y][x] = row < n && k + x < n ? a[static_cast<long long>(row) * n + k + x] : 0.0f;
    tileB[y][x] = k + y < n && column < n ? b[static_cast<long long>(k + y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < side; ++i) {
      sum += tileA[y][i] * tileB[i][x];
    }
    __syncthreads();
  }
  if (row < n && column < n) {
    c[static_cast<long long>(row) * n + column] = sum;
  }
}

// For the variant with sums in registers. Knobs: a block computes kTile x kTile of C with kBlockThreads
// threads, 8 x 8 of them in each, and walks along k in steps of kDepth.
constexpr int kTile = 128;
constexpr int kDepth = 8;
constexpr int kBlockThreads = 256;
constexpr int kPitch = kTile + 4;  // rows of 16-byte words; stores of a turned tile meet in two banks at most
constexpr int kFours = kTile * kDepth / 4 / kBlockThreads;  // 16-byte words of a tile that a thread brings

// Four neighbours in a row; outside the matrix 0. vectors: n is a multiple of 4, so they are aligned.
template <bool vectors>
__device__ float4 loadFour(int n, const float* from, int row, int column) {
  const float* const place = from + static_cast<long long>(row) * n + column;
  if constexpr (vectors) {
    return row < n && column < n ? *reinterpret_cast<const float4*>(place) : make_float4(0, 0, 0, 0);
  } else {
    return make_float4(row < n && column < n ? place[0] : 0, row < n && column + 1 < n ? place[1] : 0,
                       row < n && column + 2 < n ? place[2] : 0, row < n && column + 3 < n ? place[3] : 0);
  }
}

template <bool vectors>
__device__ void storeFour(int n, float* to, int row, int column, const float (&four)[4]) {
  float* const place = to + static_cast<long long>(row) * n + column;
  if constexpr (vectors) {
    if (row < n && column < n) {
      *reinterpret_cast<float4*>(place) = make_float4(four[0], four[1], four[2], four[3]);
    }
  } else {
    for (int i = 0; i < 4; ++i) {
      if (row < n && column + i < n) {
        place[i] = four[i];
      }
    }
  }
}

__device__ inline void fetchFour(float* to, const float* from) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}

// Each value that comes out of shared memory is used eight times in registers. The next tiles travel into
// registers meanwhile, then into the other buffer of the shared memory: one barrier for each step.
template <bool vectors>
__global__ void __launch_bounds__(kBlockThreads, 2)
    matmulRegistersKernel(int n, const float* __restrict__ a, const float* __restrict__ b,
                          float* __restrict__ c) {
  alignas(16) __shared__ float tileA[2][kDepth][kPitch];  // turned: a column of A is a row here
  alignas(16) __shared__ float tileB[2][kDepth][kPitch];
  const int thread = static_cast<int>(threadIdx.x);
  const int firstRow = static_cast<int>(blockIdx.y) * kTile;
  const int firstColumn = static_cast<int>(blockIdx.x) * kTile;
  // 4 x 2 warps of 4 x 8 threads; a thread has rows row..row+3 and row+16..row+19, columns column..column+3
  // and column+32..column+35: a warp's loads fill a line of banks.
  const int row = thread / 64 * 32 + thread % 32 / 8 * 4;
  const int column = thread / 32 % 2 * 64 + thread % 8 * 4;

  float4 nextA[kFours];
  float4 nextB[kFours];
  const auto load = [&](int k) {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const int word = thread + i * kBlockThreads;
      nextA[i] = loadFour<vectors>(n, a, firstRow + word / (kDepth / 4), k + word % (kDepth / 4) * 4);
      nextB[i] = loadFour<vectors>(n, b, k + word / (kTile / 4), firstColumn + word % (kTile / 4) * 4);
    }
  };
  const auto store = [&](int buffer) {
#pragma unroll
    for (int i = 0; i < kFours; ++i) {
      const int word = thread + i * kBlockThreads;
      const int depth = word % (kDepth / 4) * 4;
      tileA[buffer][depth][word / (kDepth / 4)] = nextA[i].x;
      tileA[buffer][depth + 1][word / (kDepth / 4)] = nextA[i].y;
      tileA[buffer][depth + 2][word / (kDepth / 4)] = nextA[i].z;
      tileA[buffer][depth + 3][word / (kDepth / 4)] = nextA[i].w;
      *reinterpret_cast<float4*>(&tileB[buffer][word / (kTile / 4)][word % (kTile / 4) * 4]) = nextB[i];
    }
  };

  float sums[8][8] = {};
  load(0);
  store(0);
  __syncthreads();
  int buffer = 0;
  for (int k = 0; k < n; k += kDepth) {
    const bool more = k + kDepth < n;
    if (more) {
      load(k + kDepth);
    }
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      float left[8];
      float right[8];
#pragma unroll
      for (int part = 0; part < 2; ++part) {
        fetchFour(left + 4 * part, &tileA[buffer][i][row + 16 * part]);
        fetchFour(right + 4 * part, &tileB[buffer][i][column + 32 * part]);
      }
#pragma unroll
      for (int y = 0; y < 8; ++y) {
#pragma unroll
        for (int x = 0; x < 8; ++x) {
          sums[y][x] += left[y] * right[x];
        }
      }
    }
    if (more) {
      store(buffer ^ 1);
      __syncthreads();
      buffer ^= 1;
    }
  }
#pragma unroll
  for (int y = 0; y < 8; ++y) {
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      const float four[4] = {sums[y][4 * part], sums[y][4 * part + 1], sums[y][4 * part + 2],
                             sums[y][4 * part + 3]};
      storeFour<vectors>(n, c, firstRow + row + y % 4 + y / 4 * 16, firstColumn + column + 32 * part, four);
    }
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "matmul",
    "C = A B in FP32: operands one by one, tiles in shared memory, sums of 8 x 8 in registers",
    {"matmulNaiveKernel", "matmulTiledKernel", "matmulRegistersKernel"},
    {{"registers", "a thread computes 8 x 8: one value out of shared memory is used eight times", "registers",
      "issue", "fp32", "read"},
     {"tiled", "a block loads tiles into shared memory and shares them", "warps", "l1", "fp32", "read"},
     {"naive", "every operand comes through L1", "warps", "l1", "fp32", "read"},
     {"cublas", "cuBLAS beside it, without TF32", "", "", "fp32", "read"}},
    measuredOptions({{"n", 4096, 1, 32768, "rows and columns of each matrix"},
                     {"block", 16, 1, 32, "side of the block of naive, and of tiled: 8, 16 or 32"}},
                    20, 0),
    {"--n", "37"}};

using Kernel = void (*)(int, const float*, const float*, float*);

// How a variant runs; without a kernel it is cuBLAS.
struct Way {
  const char* name;
  Kernel kernel;
  dim3 block;
  unsigned side;  // of what a block computes
};

Way chosenWay(const Arguments& arguments) {
  const std::string& variant = arguments.variant();
  const auto side = static_cast<unsigned>(arguments["block"]);
  if (variant == "cublas") {
    return {"cublas", nullptr, 0, 1};
  }
  if (variant == "registers") {
    return {"matmulRegistersKernel",
            arguments["n"] % 4 == 0 ? matmulRegistersKernel<true> : matmulRegistersKernel<false>,
            kBlockThreads, kTile};
  }
  if (variant == "naive") {
    return {"matmulNaiveKernel", matmulNaiveKernel, {side, side}, side};
  }
  const Kernel kernel = side == 8    ? matmulTiledKernel<8>
                        : side == 16 ? matmulTiledKernel<16>
                        : side == 32 ? matmulTiledKernel<32>
                                     : nullptr;
  if (kernel == nullptr) {
    throw Failure{kExitUsage, "--block " + std::to_string(side) + " is not allowed, tiled takes 8, 16 or 32"};
  }
  return {"matmulTiledKernel", kernel, {side, side}, side};
}

void matmul(Run& run) {
  const Way way = chosenWay(run.arguments);
  const std::int64_t n = run.arguments["n"];
  const auto matrixBytes = n * n * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(3 * matrixBytes, "--n " + std::to_string(n));
  const dim3 grid(blocksFor(n, way.side), blocksFor(n, way.side));

  openDevice(run);
  requireDeviceMemory(3 * matrixBytes, "--n " + std::to_string(n));
  Cublas cublas;
  if (way.kernel != nullptr) {
    requireBlock(way.kernel, way.block.x * way.block.y);
  } else if (!cublas.open(run)) {
    return;
  } else {
    cublas.start(run);
  }

  Random random(run.arguments["seed"]);
  const std::vector<float> a = random.vector(n * n);
  const std::vector<float> b = random.vector(n * n);
  DeviceArray<float> deviceA(n * n);
  DeviceArray<float> deviceB(n * n);
  DeviceArray<float> deviceC(n * n);
  const auto launch = [&] {
    if (way.kernel == nullptr) {
      cublas.multiply(static_cast<int>(n), deviceA.get(), deviceB.get(), false, deviceC.get(), CUDA_R_32F);
      return;
    }
    way.kernel<<<grid, way.block>>>(static_cast<int>(n), deviceA.get(), deviceB.get(), deviceC.get());
    run.report.launches.add({way.name, grid, way.block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceA.upload(a, run.report);
    deviceB.upload(b, run.report);
    launch();
    checkLaunch(way.name);
    // Higham, "Accuracy and Stability of Numerical Algorithms", 3.1: a sum of n products errs by at most
    // about n u times the sum of their magnitudes.
    run.report.checked(checkProduct(n, a, b, Stored::byRows, deviceC.download(run.report), random, 0x1p-24),
                       "double precision");
    run.nvtx.mark("checked");
  }

  const double launchNs = measure(run, way.name, launch);
  const double size = static_cast<double>(n);
  reportRate(run, "flopPerSec", "arithmetic", 2e9 * size * size * size / launchNs, Unit::flopPerSec,
             deviceCeilings(run).fp32PerSec);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, matmul); }
