// SPDX-License-Identifier: Apache-2.0
// How fast this GPU computes: each function runs a kernel that does nothing else and returns its best rate.
#pragma once

#include <cuda_runtime.h>

namespace warpmeter::calibrate {

// Repetitions of each measurement; the best counts, as nothing makes a GPU faster than it is.
constexpr int kRepetitions = 20;

// Operations per second, an FMA is two; 0 = this GPU or this build cannot say. CUDA's error stays to be asked for.
double fp32Rate(int multiprocessors);
double fp64Rate(int multiprocessors);
double tensorRate(int multiprocessors);  // BF16 with FP32 accumulation, by mma.sync: all that 8.x and 12.x have
double hopperTensorRate(int multiprocessors);  // the same by wgmma: only with it a GPU of 9.0 reaches its rate

// Seconds of GPU time of the fastest of kRepetitions calls; 0 after an error.
template <class Launch>
double bestSeconds(Launch launch) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  if (cudaEventCreate(&begin) != cudaSuccess || cudaEventCreate(&end) != cudaSuccess) {
    return 0;
  }
  float best = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    cudaEventRecord(begin);
    launch();
    cudaEventRecord(end);
    float milliseconds = 0;
    if (cudaEventSynchronize(end) != cudaSuccess || cudaGetLastError() != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, begin, end) != cudaSuccess) {
      best = 0;
      break;
    }
    if (best == 0 || milliseconds < best) {
      best = milliseconds;
    }
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return static_cast<double>(best) / 1e3;
}

// Operations per second of kernel(iterations), which does perIteration operations on the whole GPU in each iteration.
// The iterations are raised until one launch takes milliseconds, so that starting it does not count.
template <class Launch>
double rateOf(double perIteration, Launch launch) {
  constexpr double kEnoughSeconds = 4e-3;
  int iterations = 256;
  double seconds = bestSeconds([&] { launch(iterations); });
  for (int step = 0; step < 8 && seconds > 0 && seconds < kEnoughSeconds; ++step) {
    iterations = seconds * 4 < kEnoughSeconds ? iterations * 4 : static_cast<int>(iterations * kEnoughSeconds * 1.2 / seconds);
    seconds = bestSeconds([&] { launch(iterations); });
  }
  return seconds > 0 ? perIteration * iterations / seconds : 0;
}

}  // namespace warpmeter::calibrate
