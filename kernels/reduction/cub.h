// SPDX-License-Identifier: Apache-2.0
// What CUB (headers of the toolkit) makes of the same work, each in a file of its own: one of them takes as
// long to compile as all other files of this folder. Called as CUB wants it: with scratch = nullptr
// only scratchBytes is set. All pointers are of GPU memory; the work is queued in the default stream.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace warpmeter::kernels {

// sum = x[0] + ... + x[n - 1]
cudaError_t cubReduce(void* scratch, std::size_t& scratchBytes, long long n, const float* x, float* sum);

// sums[i] = x[0] + ... + x[i]
cudaError_t cubScan(void* scratch, std::size_t& scratchBytes, long long n, const unsigned* x, unsigned* sums);

// counts[v] = how many of the n values are v, for all 256.
cudaError_t cubHistogram(void* scratch, std::size_t& scratchBytes, int n, const unsigned char* values,
                         unsigned* counts);

}  // namespace warpmeter::kernels
