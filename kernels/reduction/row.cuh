// SPDX-License-Identifier: Apache-2.0
// What softmax and layer_norm share: a block holds a row in its registers and makes one number of it.
#pragma once

// So many neighbouring values, moved by one access.
template <int width>
struct alignas(width * sizeof(float)) Pack {
  float value[width];
};

constexpr int kHeld = 16;  // values in the registers of a thread: 64 bytes of each thread on their way

// A thread's part of a row: packs that lie block x width apart. Beyond the row's end they are fill.
template <int width>
struct HeldRow {
  static constexpr int kPacks = kHeld / width;
  Pack<width> pack[kPacks];

  // columns must be a multiple of width, and at most kHeld for each thread of the block.
  __device__ void load(int columns, const float* __restrict__ row, float fill) {
    const auto* const packs = reinterpret_cast<const Pack<width>*>(row);
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      if (at(j) < columns / width) {
        pack[j] = packs[at(j)];
      } else {
#pragma unroll
        for (int k = 0; k < width; ++k) {
          pack[j].value[k] = fill;
        }
      }
    }
  }
  __device__ void store(int columns, float* __restrict__ row) const {
    auto* const packs = reinterpret_cast<Pack<width>*>(row);
#pragma unroll
    for (int j = 0; j < kPacks; ++j) {
      if (at(j) < columns / width) {
        packs[at(j)] = pack[j];
      }
    }
  }
  // Place of a pack in the row.
  __device__ static int at(int j) { return static_cast<int>(threadIdx.x + j * blockDim.x); }
};

struct Sum {
  static constexpr float kNothing = 0;
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Largest {
  static constexpr float kNothing = -3.402823466e38f;
  __device__ float operator()(float a, float b) const { return a > b ? a : b; }
};

// Every thread of the warp gets the result.
template <class Operation>
__device__ float ofWarp(float value, Operation operation) {
#pragma unroll
  for (unsigned mask = 16; mask > 0; mask /= 2) {
    value = operation(value, __shfl_xor_sync(0xffffffffu, value, mask));
  }
  return value;
}

// Every thread of the block gets the result; the block is whole warps. One barrier: each call needs an array
// of its own, or a barrier before the next one.
template <class Operation>
__device__ float ofBlock(float value, Operation operation, float (&partial)[32]) {
  value = ofWarp(value, operation);
  if (threadIdx.x % 32 == 0) {
    partial[threadIdx.x / 32] = value;
  }
  __syncthreads();
  const unsigned lane = threadIdx.x % 32;
  return ofWarp(lane < blockDim.x / 32 ? partial[lane] : Operation::kNothing, operation);
}
