// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_reduce.cuh>

#include "reduction/cub.h"

namespace warpmeter::kernels {

cudaError_t cubReduce(void* scratch, std::size_t& scratchBytes, long long n, const float* x, float* sum) {
  return cub::DeviceReduce::Sum(scratch, scratchBytes, x, sum, n);
}

}  // namespace warpmeter::kernels
