// SPDX-License-Identifier: Apache-2.0
// What happens in a step of training beside the matrix products.
#pragma once

// What the steps share, in GPU memory.
struct Progress {
  float scale;     // of the gradients
  float loss;      // of the step that runs
  float lastLoss;  // of the one before
  int overflow;    // a gradient of this step is not finite
  int good;        // steps in a row without that
  int skipped;     // steps that changed nothing because of it
};

// rounded = from, and turned = from with rows for columns, both in T; either may be null. Blocks of 32 x 8.
template <class T>
__global__ void castKernel(int rows, int columns, const float* __restrict__ from, T* rounded, T* turned) {
  __shared__ float tile[32][33];
  const int x = static_cast<int>(threadIdx.x);
  for (int y = static_cast<int>(threadIdx.y); y < 32; y += 8) {
    const int row = static_cast<int>(blockIdx.y) * 32 + y;
    const int column = static_cast<int>(blockIdx.x) * 32 + x;
    if (row < rows && column < columns) {
      const long long place = static_cast<long long>(row) * columns + column;
      tile[y][x] = from[place];
      if (rounded != nullptr) {
        rounded[place] = static_cast<T>(tile[y][x]);
      }
    }
  }
  __syncthreads();
  for (int y = static_cast<int>(threadIdx.y); y < 32 && turned != nullptr; y += 8) {
    const int row = static_cast<int>(blockIdx.x) * 32 + y;  // of turned
    const int column = static_cast<int>(blockIdx.y) * 32 + x;
    if (row < columns && column < rows) {
      turned[static_cast<long long>(row) * rows + column] = static_cast<T>(tile[x][y]);
    }
  }
}

// loss = mean of (y - wanted)^2; gradient = scale times its derivative by y. Blocks of 256.
__global__ void lossKernel(long long n, const float* __restrict__ y, const float* __restrict__ wanted,
                           float* __restrict__ gradient, Progress* progress) {
  __shared__ float sums[256];
  const long long i = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  const float difference = i < n ? y[i] - wanted[i] : 0.0f;
  const float share = 1.0f / static_cast<float>(n);
  if (i < n) {
    gradient[i] = 2 * difference * share * progress->scale;
  }
  sums[threadIdx.x] = difference * difference * share;
  for (unsigned width = 128; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) {
      sums[threadIdx.x] += sums[threadIdx.x + width];
    }
  }
  if (threadIdx.x == 0) {
    atomicAdd(&progress->loss, sums[0]);
  }
}

// sums[column] of all rows. Blocks of 32 x 32.
__global__ void columnSumsKernel(int rows, int columns, const float* __restrict__ from,
                                 float* __restrict__ sums) {
  __shared__ float partial[32][33];
  const int column = static_cast<int>(blockIdx.x * 32 + threadIdx.x);
  float sum = 0;
  for (int row = static_cast<int>(threadIdx.y); row < rows && column < columns; row += 32) {
    sum += from[static_cast<long long>(row) * columns + column];
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y == 0 && column < columns) {
    for (int i = 1; i < 32; ++i) {
      sum += partial[i][threadIdx.x];
    }
    sums[column] = sum;
  }
}

__global__ void findOverflowKernel(long long n, const float* __restrict__ gradient, Progress* progress) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n && !(gradient[i] - gradient[i] == 0)) {  // infinite, or no number
    progress->overflow = 1;
  }
}

__global__ void updateKernel(long long n, float rate, const float* __restrict__ gradient,
                             const Progress* progress, float* __restrict__ weights) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n && progress->overflow == 0) {
    weights[i] -= rate * (gradient[i] / progress->scale);
  }
}

constexpr int kGoodSteps = 2000;  // after so many the scale is tried at twice its value

__global__ void endOfStepKernel(Progress* progress) {
  Progress now = *progress;
  now.lastLoss = now.loss;
  now.loss = 0;
  if (now.overflow != 0) {
    now.scale /= 2;
    now.good = 0;
    ++now.skipped;
  } else if (++now.good == kGoodSteps && now.scale > 1) {
    now.scale *= 2;
    now.good = 0;
  }
  now.overflow = 0;
  *progress = now;
}
