// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <utility>

#include "cold_start/big_module_kernels.h"

constexpr int kTerms = 128;

// A factor of its own for each kernel and term, so that none can share code. Stays within [-1, 1] for x
// there.
__host__ __device__ constexpr float factorOf(int index, int term) {
  return static_cast<float>((index * 31 + term * 17) % 257 + 1) / (512.0f * kTerms);
}

template <int index>
__global__ void bigKernel(float* x) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = x[i];
  float sum = 0;
#pragma unroll
  for (int term = 0; term < kTerms; ++term) {
    sum = sum * value + factorOf(index, term);
  }
  x[i] = sum;
}

namespace {

template <int... indices>
constexpr auto tableOf(std::integer_sequence<int, indices...>) {
  return std::array<void (*)(float*), sizeof...(indices)>{bigKernel<indices>...};
}

}  // namespace

void bigModule::launch(int index, unsigned blocks, unsigned block, float* x) {
  static constexpr auto kTable = tableOf(std::make_integer_sequence<int, kKernels>{});
  kTable[static_cast<std::size_t>(index)]<<<blocks, block>>>(x);
}

double bigModule::reference(int index, double x) {
  double sum = 0;
  for (int term = 0; term < kTerms; ++term) {
    sum = sum * x + static_cast<double>(factorOf(index, term));
  }
  return sum;
}
