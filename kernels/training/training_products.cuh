// SPDX-License-Identifier: Apache-2.0
// The matrix products of training: FP32 on the ordinary units, BF16 and FP16 on the tensor cores. network.cuh
// includes cuda_pipeline.h and tensor_ops.cuh before.
#pragma once

// c = a b', then what comes behind it. a is rows x depth, b columns x depth, c rows x columns, all row by
// row; all three numbers are multiples of 8.
template <class T>
struct Product {
  int rows, columns, depth;
  const T* a;
  const T* b;
  float* c;
  const float* bias;  // added to each row; may be null
  bool relu;          // negative results become 0
  const float* gate;  // where this is not positive, the result is 0; may be null

  __device__ float finished(float value, int row, int column) const {
    if (bias != nullptr) {
      value += bias[column];
    }
    if (relu && value < 0) {
      value = 0;
    }
    const bool shut = gate != nullptr && !(gate[static_cast<long long>(row) * columns + column] > 0);
    return shut ? 0.0f : value;
  }
  __device__ void store(int row, int column, float first, float second) const {
    if (row < rows && column < columns) {
      *reinterpret_cast<float2*>(c + static_cast<long long>(row) * columns + column) =
          make_float2(finished(first, row, column), finished(second, row, column + 1));
    }
  }
};

constexpr int kSide = 128;  // of what a block computes
constexpr int kProductThreads = 256;

// As tensor.cu, with 64 x 32 sums in each warp and tiles that may reach over the ends.
constexpr int kStages = 3;
constexpr int kRowBytes = 64;  // of a row of a tile, in pieces of 16 bytes
constexpr int kPieces = kRowBytes / 16;
constexpr int kStageBytes = 2 * kSide * kRowBytes;

__device__ inline int placeOf(int row, int piece) {
  return row * kRowBytes + (piece ^ (row / 2 % kPieces)) * 16;
}

template <class T>
__global__ void __launch_bounds__(kProductThreads, 2) productTensorKernel(Product<T> product) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  alignas(128) __shared__ unsigned char stages[kStages * kStageBytes];
  constexpr int kPerPiece = 16 / static_cast<int>(sizeof(T));
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warpRow = thread / 128 * 64;
  const int warpColumn = thread / 32 % 4 * 32;
  const int firstRow = static_cast<int>(blockIdx.y) * kSide;
  const int firstColumn = static_cast<int>(blockIdx.x) * kSide;
  const int tiles = (product.depth + kPieces * kPerPiece - 1) / (kPieces * kPerPiece);
  const auto startCopy = [&](int tile) {
    if (tile < tiles) {
#pragma unroll
      for (int i = 0; i < 2 * kSide * kPieces / kProductThreads; ++i) {
        const bool ofA = i < kSide * kPieces / kProductThreads;
        const int row = (i * kProductThreads + thread) / kPieces;  // of a, then of b
        const int piece = thread % kPieces;
        const int k = (tile * kPieces + piece) * kPerPiece;
        const int from = ofA ? firstRow + row : firstColumn + row - kSide;
        unsigned char* const to = stages + tile % kStages * kStageBytes + placeOf(row, piece);
        if (k < product.depth && from < (ofA ? product.rows : product.columns)) {
          const T* const matrix = ofA ? product.a : product.b;
          __pipeline_memcpy_async(to, matrix + static_cast<long long>(from) * product.depth + k, 16);
        } else {
          *reinterpret_cast<uint4*>(to) = make_uint4(0, 0, 0, 0);
        }
      }
    }
    __pipeline_commit();
  };

  float sums[4][4][4] = {};
  for (int tile = 0; tile < kStages - 1; ++tile) {
    startCopy(tile);
  }
  for (int tile = 0; tile < tiles; ++tile) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    startCopy(tile + kStages - 1);
    const unsigned char* const stage = stages + tile % kStages * kStageBytes;
#pragma unroll
    for (int step = 0; step < kPieces; step += 2) {
      unsigned left[4][4];
      unsigned right[2][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        loadMatrices(left[i], stage + placeOf(warpRow + i * 16 + lane % 16, step + lane / 16));
      }
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        loadMatrices(right[j], stage + placeOf(kSide + warpColumn + j * 16 + lane / 16 * 8 + lane % 8,
                                               step + lane / 8 % 2));
      }
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        multiplyAdd(sums[i / 4][i % 4], left[i / 4], right[i % 4 / 2] + i % 2 * 2, T{});
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const float(&sum)[4] = sums[i / 4][i % 4];
    const int row = firstRow + warpRow + i / 4 * 16 + lane / 4;
    const int column = firstColumn + warpColumn + i % 4 * 8 + lane % 4 * 2;
    product.store(row, column, sum[0], sum[1]);
    product.store(row + 8, column, sum[2], sum[3]);
  }
#endif
}

// As matmul's registers: 8 x 8 sums in each thread, the next tiles in registers.
constexpr int kDepth = 8;

__global__ void __launch_bounds__(kProductThreads, 2) productFp32Kernel(Product<float> product) {
  alignas(16) __shared__ float tiles[2][2][kDepth][kSide + 4];  // a and b, turned
  const int thread = static_cast<int>(threadIdx.x);
  const int firstRow = static_cast<int>(blockIdx.y) * kSide;
  const int firstColumn = static_cast<int>(blockIdx.x) * kSide;
  const int row = thread / 64 * 32 + thread % 32 / 8 * 4;    // and 16 below; a warp has 32 x 64
  const int column = thread / 32 % 2 * 64 + thread % 8 * 4;  // and 32 further
  float4 next[2];
  const auto load = [&](int k) {
    const int rowA = firstRow + thread / 2;
    const int rowB = firstColumn + thread / 2;
    const int place = k + thread % 2 * 4;
    const float4 none = make_float4(0, 0, 0, 0);
    const auto four = [&](const float* from, int of) {
      return *reinterpret_cast<const float4*>(from + static_cast<long long>(of) * product.depth + place);
    };
    next[0] = rowA < product.rows ? four(product.a, rowA) : none;
    next[1] = rowB < product.columns ? four(product.b, rowB) : none;
  };
  const auto store = [&](int buffer) {
#pragma unroll
    for (int matrix = 0; matrix < 2; ++matrix) {
      float(&tile)[kDepth][kSide + 4] = tiles[buffer][matrix];
      tile[thread % 2 * 4][thread / 2] = next[matrix].x;
      tile[thread % 2 * 4 + 1][thread / 2] = next[matrix].y;
      tile[thread % 2 * 4 + 2][thread / 2] = next[matrix].z;
      tile[thread % 2 * 4 + 3][thread / 2] = next[matrix].w;
    }
  };

  float sums[8][8] = {};
  load(0);
  store(0);
  __syncthreads();
  for (int k = 0, buffer = 0; k < product.depth; k += kDepth, buffer ^= 1) {
    const bool more = k + kDepth < product.depth;
    if (more) {
      load(k + kDepth);
    }
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
      const float4 up = *reinterpret_cast<const float4*>(&tiles[buffer][0][i][row]);
      const float4 down = *reinterpret_cast<const float4*>(&tiles[buffer][0][i][row + 16]);
      const float4 near = *reinterpret_cast<const float4*>(&tiles[buffer][1][i][column]);
      const float4 far = *reinterpret_cast<const float4*>(&tiles[buffer][1][i][column + 32]);
      const float left[8] = {up.x, up.y, up.z, up.w, down.x, down.y, down.z, down.w};
      const float right[8] = {near.x, near.y, near.z, near.w, far.x, far.y, far.z, far.w};
#pragma unroll
      for (int j = 0; j < 64; ++j) {
        sums[j / 8][j % 8] += left[j / 8] * right[j % 8];
      }
    }
    if (more) {
      store(buffer ^ 1);
      __syncthreads();
    }
  }
#pragma unroll
  for (int j = 0; j < 64; j += 2) {
    product.store(firstRow + row + j / 8 % 4 + j / 32 * 16, firstColumn + column + j % 4 + j % 8 / 4 * 32,
                  sums[j / 8][j % 8], sums[j / 8][j % 8 + 1]);
  }
}
