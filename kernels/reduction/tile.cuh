// SPDX-License-Identifier: Apache-2.0
// What the kernels of scan.cu do inside a block.
#pragma once

__device__ unsigned warpTotal(unsigned value) {
#pragma unroll
  for (unsigned mask = 16; mask > 0; mask /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, mask);
  }
  return value;
}

// Of 16 bytes in each thread: 128 bytes of each thread on their way. More make fewer, larger tiles, which
// have fewer predecessors to look at; the registers are the limit.
constexpr int kTileVectors = 8;

// What a block has of the array: the part of a warp are kTileVectors rows of 32 vectors.
class Tile {
 public:
  uint4 part[kTileVectors];
  long long first;  // of this thread, in vectors

  __device__ long long at(int j) const { return first + j * 32; }

  // n is in values; beyond it are zeros. x must be aligned to 16 bytes.
  __device__ void load(long long tile, long long n, const unsigned* x) {
    const long long warp = tile * (blockDim.x / 32) + threadIdx.x / 32;
    first = warp * 32 * kTileVectors + threadIdx.x % 32;
    if (whole(n)) {
#pragma unroll
      for (int j = 0; j < kTileVectors; ++j) {
        part[j] = reinterpret_cast<const uint4*>(x)[at(j)];
      }
    } else {
      const auto valueAt = [&](long long i) { return i < n ? x[i] : 0; };
#pragma unroll
      for (int j = 0; j < kTileVectors; ++j) {
        const long long i = 4 * at(j);
        part[j] = make_uint4(valueAt(i), valueAt(i + 1), valueAt(i + 2), valueAt(i + 3));
      }
    }
  }
  __device__ void store(long long n, unsigned before, unsigned* sums) {
#pragma unroll
    for (int j = 0; j < kTileVectors; ++j) {
      add(j, before);
    }
    if (whole(n)) {
#pragma unroll
      for (int j = 0; j < kTileVectors; ++j) {
        reinterpret_cast<uint4*>(sums)[at(j)] = part[j];
      }
    } else {
#pragma unroll
      for (int j = 0; j < kTileVectors; ++j) {
        const unsigned values[4] = {part[j].x, part[j].y, part[j].z, part[j].w};
        for (int k = 0; k < 4; ++k) {
          if (4 * at(j) + k < n) {
            sums[4 * at(j) + k] = values[k];
          }
        }
      }
    }
  }

  // Running sums of the warp's part, in place. Returns its total in every thread.
  __device__ unsigned scanWarp() {
    const unsigned lane = threadIdx.x % 32;
    unsigned before = 0;
#pragma unroll
    for (int j = 0; j < kTileVectors; ++j) {
      part[j].y += part[j].x;
      part[j].z += part[j].y;
      part[j].w += part[j].z;
      unsigned upTo = part[j].w;
#pragma unroll
      for (unsigned offset = 1; offset < 32; offset *= 2) {
        const unsigned other = __shfl_up_sync(0xffffffffu, upTo, offset);
        upTo += lane >= offset ? other : 0;
      }
      const unsigned shift = before + upTo - part[j].w;
      add(j, shift);
      before += __shfl_sync(0xffffffffu, upTo, 31);
    }
    return before;
  }

  // Of the tile: running sums in each warp, what the block's earlier warps have (before), and the total.
  __device__ unsigned scanBlock(unsigned (&ofWarp)[32], unsigned& before) {
    const unsigned warp = threadIdx.x / 32;
    const unsigned mine = scanWarp();
    if (threadIdx.x % 32 == 0) {
      ofWarp[warp] = mine;
    }
    __syncthreads();
    unsigned total = 0;
    for (unsigned i = 0; i < blockDim.x / 32; ++i) {
      before += i < warp ? ofWarp[i] : 0;
      total += ofWarp[i];
    }
    return total;
  }

 private:
  // Whether the warp's part lies inside the array: then all threads take the same way, without conditions.
  __device__ bool whole(long long n) const { return 4 * (first - threadIdx.x % 32 + 32 * kTileVectors) <= n; }
  __device__ void add(int j, unsigned value) {
    part[j].x += value;
    part[j].y += value;
    part[j].z += value;
    part[j].w += value;
  }
};
