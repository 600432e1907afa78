// SPDX-License-Identifier: Apache-2.0
// The variant tiled of convolution: copies travel into shared memory (cuda_pipeline.h, which convolution.cu
// includes) while the values that came before are multiplied.
#pragma once

constexpr int kTaps = 9;  // of a filter: 3 x 3, a border of one pixel of zeros around the image

// x is [image][channel][row][column], y [image][filter][row][column], filters [channel][tap][filter]: that of
// neighbouring filters lies side by side.
struct Shape {
  int images, channels, filters, height, width;

  __host__ __device__ int pixels() const { return height * width; }
};

// Knobs of the tiled kernel: a block computes kBlockFilters filters for kTiles tiles of 8 x 8 pixels, a
// thread 8 filters for the 8 pixels of a tile's row. kStep channels are in shared memory, the next kStep on
// their way.
constexpr int kTile = 8;
constexpr int kTiles = 2;
constexpr int kBlockFilters = 64;
constexpr int kStep = 4;
constexpr int kThreads = kBlockFilters / 8 * kTile * kTiles;
constexpr int kPatch = kTile + 2;  // a tile and its neighbours
constexpr int kPatchPitch = 12;    // rows of 16-byte words; four rows of a patch meet in no bank
constexpr int kPatchValues = kTiles * kStep * kPatch * kPatch;
constexpr int kPatchLoads = (kPatchValues + kThreads - 1) / kThreads;
constexpr int kFilterWords = kStep * kTaps * kBlockFilters / 4;
constexpr int kFilterLoads = (kFilterWords + kThreads - 1) / kThreads;

// The tiles of all images are numbered one after the other; blockIdx.x has kTiles of them, blockIdx.y
// kBlockFilters filters. channels and filters are multiples of 4.
__global__ void __launch_bounds__(kThreads, 3)
    convolutionTiledKernel(Shape shape, const float* __restrict__ x, const float* __restrict__ filters,
                           float* __restrict__ y) {
  alignas(16) __shared__ float patches[2][kTiles * kStep * kPatch][kPatchPitch];
  alignas(16) __shared__ float taps[2][kStep * kTaps][kBlockFilters];
  const int thread = static_cast<int>(threadIdx.x);
  const int firstFilter = static_cast<int>(blockIdx.y) * kBlockFilters;
  const int across = (shape.width + kTile - 1) / kTile;
  const int down = (shape.height + kTile - 1) / kTile;

  // Where this thread's values of a patch come from, for the first channels; -1 outside the image.
  int places[kPatchLoads];
#pragma unroll
  for (int i = 0; i < kPatchLoads; ++i) {
    const int value = i * kThreads + thread;
    const int tile = static_cast<int>(blockIdx.x) * kTiles + value / (kStep * kPatch * kPatch);
    const int channel = value / (kPatch * kPatch) % kStep;
    const int row = tile / across % down * kTile + value / kPatch % kPatch - 1;
    const int column = tile % across * kTile + value % kPatch - 1;
    const int image = tile / across / down;
    const bool inside = value < kPatchValues && image < shape.images && row >= 0 && row < shape.height &&
                        column >= 0 && column < shape.width;
    places[i] =
        inside ? (image * shape.channels + channel) * shape.pixels() + row * shape.width + column : -1;
  }
  const auto startCopies = [&](int channel, int buffer) {
#pragma unroll
    for (int i = 0; i < kPatchLoads; ++i) {
      const int value = i * kThreads + thread;
      float* const to = &patches[buffer][value / kPatch][value % kPatch];
      if (places[i] >= 0) {
        __pipeline_memcpy_async(to, x + places[i] + channel * shape.pixels(), sizeof(float));
      } else if (value < kPatchValues) {
        *to = 0;
      }
    }
#pragma unroll
    for (int i = 0; i < kFilterLoads; ++i) {
      const int word = i * kThreads + thread;
      const int tap = word / (kBlockFilters / 4);
      const int filter = word % (kBlockFilters / 4) * 4;
      if (word < kFilterWords) {
        float* const to = &taps[buffer][tap][filter];
        if (firstFilter + filter < shape.filters) {
          __pipeline_memcpy_async(to,
                                  filters + (channel * kTaps + tap) * shape.filters + firstFilter + filter,
                                  4 * sizeof(float));
        } else {
          *reinterpret_cast<float4*>(to) = make_float4(0, 0, 0, 0);
        }
      }
    }
    __pipeline_commit();
  };

  // A thread has filters 4 q .. 4 q + 3 and 32 further, so that eight threads read a line of banks.
  const int filter = thread % 8 * 4;
  const int row = thread / 8 % kTile;
  const int tile = thread / 8 / kTile;
  float sums[8][kTile] = {};
  startCopies(0, 0);
  for (int channel = 0, buffer = 0; channel < shape.channels; channel += kStep, buffer ^= 1) {
    __pipeline_wait_prior(0);
    __syncthreads();  // these channels are here for all threads, and none still reads the others
    if (channel + kStep < shape.channels) {
      startCopies(channel + kStep, buffer ^ 1);
    }
#pragma unroll 1
    for (int step = 0; step < kStep; ++step) {
#pragma unroll
      for (int down3 = 0; down3 < 3; ++down3) {
        const float* const line = patches[buffer][(tile * kStep + step) * kPatch + row + down3];
        const float4 first = *reinterpret_cast<const float4*>(line);
        const float4 second = *reinterpret_cast<const float4*>(line + 4);
        const float2 third = *reinterpret_cast<const float2*>(line + 8);
        const float values[kPatch] = {first.x,  first.y,  first.z,  first.w, second.x,
                                      second.y, second.z, second.w, third.x, third.y};
#pragma unroll
        for (int across3 = 0; across3 < 3; ++across3) {
          const float* const tap = &taps[buffer][step * kTaps + down3 * 3 + across3][filter];
          const float4 low = *reinterpret_cast<const float4*>(tap);
          const float4 high = *reinterpret_cast<const float4*>(tap + 32);
          const float weights[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
          for (int i = 0; i < 8 * kTile; ++i) {
            sums[i / kTile][i % kTile] += weights[i / kTile] * values[i % kTile + across3];
          }
        }
      }
    }
  }

  const int ofAll = static_cast<int>(blockIdx.x) * kTiles + tile;
  const int image = ofAll / across / down;
  const int toRow = ofAll / across % down * kTile + row;
  const int toColumn = ofAll % across * kTile;
  if (image >= shape.images || toRow >= shape.height) {
    return;
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int toFilter = firstFilter + filter + i % 4 + i / 4 * 32;
    if (toFilter < shape.filters) {
      float* const to =
          y + (image * shape.filters + toFilter) * shape.pixels() + toRow * shape.width + toColumn;
#pragma unroll
      for (int four = 0; four < kTile; four += 4) {
        if (shape.width % 4 == 0 && toColumn + four < shape.width) {
          *reinterpret_cast<float4*>(to + four) =
              make_float4(sums[i][four], sums[i][four + 1], sums[i][four + 2], sums[i][four + 3]);
        } else {
#pragma unroll
          for (int j = four; j < four + 4; ++j) {
            if (toColumn + j < shape.width) {
              to[j] = sums[i][j];
            }
          }
        }
      }
    }
  }
}
