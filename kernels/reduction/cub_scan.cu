// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_scan.cuh>

#include "reduction/cub.h"

namespace warpmeter::kernels {

cudaError_t cubScan(void* scratch, std::size_t& scratchBytes, long long n, const unsigned* x,
                    unsigned* sums) {
  return cub::DeviceScan::InclusiveSum(scratch, scratchBytes, x, sums, n);
}

}  // namespace warpmeter::kernels
