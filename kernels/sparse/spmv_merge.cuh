// SPDX-License-Identifier: Apache-2.0
// y = A x by equal shares: entries and ends of rows, merged in the order in which they are met, are cut into
// pieces of the same length, whatever rows they belong to. (D. Merrill and M. Garland, "Merge-based parallel
// sparse matrix-vector multiplication", SC 2016.)
#pragma once

constexpr int kBlock = 256;
// Knob: entries and ends of a thread. It must be odd: 32 threads then start in different banks.
constexpr int kItems = 7;
constexpr int kTile = kBlock * kItems;

// An entry's product or where a row ends.
union Word {
  int end;
  float product;
};

__device__ inline int endOf(const int* ends, int row) { return ends[row]; }
__device__ inline int endOf(const Word* ends, int row) { return ends[row].end; }

// How many ends of rows are among the first `items`. A row's end comes behind its last entry; firstEntry is
// the first one's number.
template <class Ends>
__device__ inline int endsAmong(int items, const Ends* ends, int rows, int entries, int firstEntry) {
  int low = items > entries ? items - entries : 0;
  int high = items < rows ? items : rows;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (endOf(ends, middle) <= firstEntry + items - 1 - middle) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// tileRows[t] = row in which tile t begins, for 0 to tiles. Once for each matrix, like cuSPARSE's preprocess.
__global__ void spmvTilesKernel(int rows, const int* __restrict__ starts, int tiles,
                                int* __restrict__ tileRows) {
  const int tile = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (tile <= tiles) {
    const int entries = starts[rows];
    const int items = tile < tiles ? tile * kTile : rows + entries;
    tileRows[tile] = endsAmong(items, starts + 1, rows, entries, 0);
  }
}

// A block takes kTile entries and ends, whatever rows they belong to. What is left over of its last row goes
// to carryRows and carrySums.
__global__ void __launch_bounds__(kBlock)
    spmvMergeKernel(int rows, const int* __restrict__ starts, const int* __restrict__ columns,
                    const float* __restrict__ values, const float* __restrict__ x,
                    const int* __restrict__ tileRows, float* __restrict__ y, int* __restrict__ carryRows,
                    float* __restrict__ carrySums) {
  __shared__ Word words[kTile];  // ends of rows, then products
  __shared__ int warpRows[kBlock / 32];
  __shared__ float warpSums[kBlock / 32];
  const int thread = static_cast<int>(threadIdx.x);
  const int tile = static_cast<int>(blockIdx.x);
  const int firstRow = tileRows[tile];
  const int ends = tileRows[tile + 1] - firstRow;
  const int firstEntry = tile * kTile - firstRow;
  const int left = rows + starts[rows] - tile * kTile;
  const int items = left < kTile ? left : kTile;
  const int entries = items - ends;

  int column[kItems];
  float value[kItems];
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    const bool inside = thread + k * kBlock < entries;
    column[k] = inside ? __ldcs(columns + firstEntry + thread + k * kBlock) : 0;
    value[k] = inside ? __ldcs(values + firstEntry + thread + k * kBlock) : 0.0f;
  }
  for (int i = thread; i < ends; i += kBlock) {
    words[i].end = starts[firstRow + i + 1];
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    value[k] *= x[column[k]];
  }
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (thread + k * kBlock < entries) {
      words[ends + thread + k * kBlock].product = value[k];
    }
  }
  __syncthreads();

  const int mine = thread * kItems < items ? thread * kItems : items;
  const int startRow = endsAmong(mine, words, ends, entries, firstEntry);
  int row = startRow;
  int entry = mine - startRow;
  float sum = 0;
  float firstSum = 0;  // of startRow, whose beginning may be other threads'
#pragma unroll
  for (int k = 0; k < kItems; ++k) {
    if (mine + k < items) {
      if (row < ends && words[row].end <= firstEntry + entry) {
        if (row == startRow) {
          firstSum = sum;
        } else {
          y[firstRow + row] = sum;
        }
        sum = 0;
        ++row;
      } else {
        sum += words[ends + entry].product;
        ++entry;
      }
    }
  }
  // What threads have left over of one row is added up, in the warp and then over the warps.
  const int lane = thread % 32;
  const int warp = thread / 32;
#pragma unroll
  for (unsigned offset = 1; offset < 32; offset *= 2) {
    const float otherSum = __shfl_up_sync(0xffffffffu, sum, offset);
    const int otherRow = __shfl_up_sync(0xffffffffu, row, offset);
    if (lane >= static_cast<int>(offset) && otherRow == row) {
      sum += otherSum;
    }
  }
  const float before = __shfl_up_sync(0xffffffffu, sum, 1u);
  if (lane == 31) {
    warpRows[warp] = row;
    warpSums[warp] = sum;
  }
  __syncthreads();
  float warpBefore = 0;
  for (int i = 0; i < warp; ++i) {
    warpBefore = (i > 0 && warpRows[i] == warpRows[i - 1] ? warpBefore : 0.0f) + warpSums[i];
  }
  const int warpRow = warp > 0 ? warpRows[warp - 1] : 0;
  if (row != startRow) {
    y[firstRow + startRow] =
        firstSum + (lane > 0 ? before : 0.0f) + (startRow == warpRow ? warpBefore : 0.0f);
  }
  if (thread == kBlock - 1) {
    carryRows[tile] = firstRow + row;
    carrySums[tile] = sum + (row == warpRow ? warpBefore : 0.0f);
  }
}

// Rows that begin in one tile and end in another. Nothing is left over where a tile ends with a row.
__global__ void spmvCarryKernel(int tiles, const int* __restrict__ carryRows,
                                const float* __restrict__ carrySums, float* y) {
  const int tile = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (tile < tiles && carrySums[tile] != 0.0f) {
    atomicAdd(y + carryRows[tile], carrySums[tile]);
  }
}
