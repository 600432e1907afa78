// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_histogram.cuh>

#include "reduction/cub.h"

namespace warpmeter::kernels {

cudaError_t cubHistogram(void* scratch, std::size_t& scratchBytes, int n, const unsigned char* values,
                         unsigned* counts) {
  constexpr int kBins = 256;
  return cub::DeviceHistogram::HistogramEven(scratch, scratchBytes, values, counts, kBins + 1, 0, kBins, n);
}

}  // namespace warpmeter::kernels
