// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <mma.h>

#include "calibrate/rates.h"

namespace warpmeter::calibrate {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerSm = 8;
constexpr int kChains = 8;  // independent: one waits while the others compute
constexpr int kUnrolled = 16;

// y = a y + b in every chain; the results are used only if they are what they never become.
template <class T>
__global__ void __launch_bounds__(kThreads) fmaKernel(int iterations, T a, T b, T* out) {
  T y[kChains];
  for (int c = 0; c < kChains; ++c) {
    y[c] = static_cast<T>(threadIdx.x + c);
  }
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (int u = 0; u < kUnrolled; ++u) {
#pragma unroll
      for (int c = 0; c < kChains; ++c) {
        y[c] = fma(a, y[c], b);
      }
    }
  }
  T sum = 0;
  for (int c = 0; c < kChains; ++c) {
    sum += y[c];
  }
  if (sum == static_cast<T>(-1)) {
    *out = sum;
  }
}

template <class T>
double fmaRate(int multiprocessors) {
  T* out = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&out), sizeof(T)) != cudaSuccess) {
    return 0;
  }
  const int blocks = multiprocessors * kBlocksPerSm;
  const double perIteration = 2.0 * kChains * kUnrolled * kThreads * blocks;
  const double rate = rateOf(perIteration, [&](int iterations) {
    fmaKernel<T><<<blocks, kThreads>>>(iterations, static_cast<T>(0.5), static_cast<T>(1), out);
  });
  cudaFree(out);
  return rate;
}

constexpr int kTiles = 4;  // accumulators of a warp: independent products
constexpr int kSide = 16;

__global__ void __launch_bounds__(kThreads) tensorKernel(int iterations, float* out) {
#if __CUDA_ARCH__ >= 800
  namespace wmma = nvcuda::wmma;
  wmma::fragment<wmma::matrix_a, kSide, kSide, kSide, __nv_bfloat16, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, kSide, kSide, kSide, __nv_bfloat16, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, kSide, kSide, kSide, float> sums[kTiles];
  // Not all alike: equal bits draw less power, and a GPU at its power limit computes slower.
  for (int i = 0; i < a.num_elements; ++i) {
    a.x[i] = __float2bfloat16(static_cast<float>((threadIdx.x * 7 + i * 3) % 11) - 5.0f);
  }
  for (int i = 0; i < b.num_elements; ++i) {
    b.x[i] = __float2bfloat16(static_cast<float>((threadIdx.x * 5 + i * 9) % 13) - 6.0f);
  }
  // Each starts from another number, and every element is used below: what is equal is computed once, what is
  // unused not at all, and a rate above the hardware's comes out.
  for (int t = 0; t < kTiles; ++t) {
    wmma::fill_fragment(sums[t], static_cast<float>(t));
  }
  for (int i = 0; i < iterations; ++i) {
#pragma unroll
    for (auto& sum : sums) {
      wmma::mma_sync(sum, a, b, sum);
    }
  }
  float all = 0;
  for (auto& sum : sums) {
    for (int i = 0; i < sum.num_elements; ++i) {
      all += sum.x[i];
    }
  }
  if (all == -1.0f) {
    *out = all;
  }
#endif
}

}  // namespace

double fp32Rate(int multiprocessors) { return fmaRate<float>(multiprocessors); }

double fp64Rate(int multiprocessors) { return fmaRate<double>(multiprocessors); }

double tensorRate(int multiprocessors) {
  float* out = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&out), sizeof(float)) != cudaSuccess) {
    return 0;
  }
  const int blocks = multiprocessors * 2;
  const double perIteration = 2.0 * kSide * kSide * kSide * kTiles * (kThreads / 32) * blocks;
  const double rate =
      rateOf(perIteration, [&](int iterations) { tensorKernel<<<blocks, kThreads>>>(iterations, out); });
  cudaFree(out);
  return rate;
}

}  // namespace warpmeter::calibrate
