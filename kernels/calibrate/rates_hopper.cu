// SPDX-License-Identifier: Apache-2.0
// The tensor cores of 9.0 by wgmma. This file
// alone is compiled for sm_90a; on other GPUs its kernel has no image, which is an answer and not a fault.
#include <cuda_bf16.h>

#include <cstdint>

#include "calibrate/rates.h"
#include "common/wgmma.cuh"

namespace warpmeter::calibrate {
namespace {

using namespace kernels;

constexpr int kM = kWgmmaRows, kN = kWgmmaColumns, kK = kWgmmaDepth;
constexpr int kThreads = 256;  // two warpgroups: one issues while the other waits
constexpr int kUnrolled = 8;   // products between two waits

// Without swizzle a tile lies in pieces of 8 rows by 16 bytes, 128 bytes each; two of them side by side are
// the 16 columns. Fields in units of 16 bytes: address at bit 0, step along the columns at 16, along the rows
// at 32.
__device__ std::uint64_t tileDescriptor(const void* tile) {
  const std::uint64_t address = static_cast<std::uint32_t>(__cvta_generic_to_shared(tile));
  return (address & 0x3ffff) >> 4 | std::uint64_t{128 >> 4} << 16 | std::uint64_t{256 >> 4} << 32;
}

// Every element of the product gets sum += (row of a) (column of b), over and over. values: what the tiles
// hold, one for each of kK * 8 places.
__global__ void __launch_bounds__(kThreads) hopperKernel(int iterations, bool ones, float* out) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ alignas(128) __nv_bfloat16 a[kM * kK];
  __shared__ alignas(128) __nv_bfloat16 b[kN * kK];
  // Not all alike: equal bits draw less power, and a GPU at its power limit computes slower.
  for (int i = static_cast<int>(threadIdx.x); i < kM * kK; i += kThreads) {
    a[i] = __float2bfloat16(ones ? 1.0f : static_cast<float>(i * 7 % 11) - 5.0f);
  }
  for (int i = static_cast<int>(threadIdx.x); i < kN * kK; i += kThreads) {
    b[i] = __float2bfloat16(ones ? 1.0f : static_cast<float>(i * 5 % 13) - 6.0f);
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  float d[kWgmmaSums];
  for (float& value : d) {
    value = 0;
  }
  const std::uint64_t tileA = tileDescriptor(a), tileB = tileDescriptor(b);
  for (int i = 0; i < iterations; ++i) {
    wgmmaFence();
#pragma unroll
    for (int u = 0; u < kUnrolled; ++u) {
      wgmma(d, tileA, tileB);
    }
    wgmmaCommit();
    wgmmaWait<0>();
  }
  float least = d[0], most = d[0];
  for (float value : d) {
    least = fminf(least, value);
    most = fmaxf(most, value);
  }
  if (ones && (least != most || blockIdx.x + threadIdx.x == 0)) {
    *out = least == most ? least : -1.0f;
  }
  if (!ones && least == 0.25f) {  // never: whole numbers
    *out = most;
  }
#endif
}

}  // namespace

double hopperTensorRate(int multiprocessors) {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(hopperKernel)) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  float* out = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&out), sizeof(float)) != cudaSuccess) {
    return 0;
  }
  // A product of ones first: a rate of wrong results would be worth nothing.
  constexpr int kTried = 4;
  float answer = 0;
  hopperKernel<<<multiprocessors, kThreads>>>(kTried, true, out);
  double rate = 0;
  if (cudaMemcpy(&answer, out, sizeof answer, cudaMemcpyDeviceToHost) == cudaSuccess &&
      answer == static_cast<float>(kTried * kUnrolled * kK)) {
    const double perIteration = 2.0 * kM * kN * kK * kUnrolled * (kThreads / 128) * multiprocessors;
    rate = rateOf(perIteration, [&](int iterations) {
      hopperKernel<<<multiprocessors, kThreads>>>(iterations, false, out);
    });
  }
  cudaFree(out);
  return rate;
}

}  // namespace warpmeter::calibrate
