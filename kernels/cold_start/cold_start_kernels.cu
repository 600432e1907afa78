// SPDX-License-Identifier: Apache-2.0
// Compiled twice, with WARPMETER_COLD_FORM = Sass and = Ptx; each object brings its own fat binary.
#include "cold_start_kernels.h"

namespace {

// Unrolled, so that there is something to compile and to load. Stays within [-1, 1] for x in [-1, 1].
template <int terms>
__device__ float polynomial(float x) {
  float sum = 0;
#pragma unroll
  for (int term = 1; term <= terms; ++term) {
    sum = sum * x + 1.0f / static_cast<float>((term + 1) * (term + 1));
  }
  return 0.5f * sum;
}

}  // namespace

#define WARPMETER_JOIN_(a, b) a##b
#define WARPMETER_JOIN(a, b) WARPMETER_JOIN_(a, b)
#define WARPMETER_COLD_KERNEL(index)                          \
  __global__ void coldKernel##index(float* x) {               \
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x; \
    x[i] = polynomial<64 * (index + 1)>(x[i]);                \
  }

namespace WARPMETER_JOIN(cold, WARPMETER_COLD_FORM) {
  WARPMETER_COLD_KERNEL(0)
  WARPMETER_COLD_KERNEL(1)
  WARPMETER_COLD_KERNEL(2)
  WARPMETER_COLD_KERNEL(3)
  WARPMETER_COLD_KERNEL(4)
  WARPMETER_COLD_KERNEL(5)
  WARPMETER_COLD_KERNEL(6)
  WARPMETER_COLD_KERNEL(7)
}  // namespace )

void coldStart::WARPMETER_JOIN(launch, WARPMETER_COLD_FORM)(int index, unsigned blocks, unsigned block,
                                                            float* x) {
  using namespace WARPMETER_JOIN(cold, WARPMETER_COLD_FORM);
  constexpr void (*kLaunchable[kKernels])(float*) = {coldKernel0, coldKernel1, coldKernel2, coldKernel3,
                                                     coldKernel4, coldKernel5, coldKernel6, coldKernel7};
  kLaunchable[index]<<<blocks, block>>>(x);
}
