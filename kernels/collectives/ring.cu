// SPDX-License-Identifier: Apache-2.0
// The kernels of the ring, and who waits for whom.
#include <algorithm>

#include "collectives/ring.h"

constexpr int kVectors = 4;  // of 16 bytes, under way in each thread: the neighbour's memory is far away

// to = own + left. All three lie 16-byte aligned; left may lie on another GPU. Each block takes
// blockDim.x x kVectors vectors.
__global__ void addKernel(long long n, const float* own, const float* left, float* to) {
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x * kVectors + threadIdx.x;
  const auto* const owns = reinterpret_cast<const float4*>(own);
  const auto* const lefts = reinterpret_cast<const float4*>(left);
  float4 a[kVectors];
  float4 b[kVectors];
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    const long long i = first + static_cast<long long>(j) * blockDim.x;
    if (i < n / 4) {
      b[j] = lefts[i];
      a[j] = owns[i];
    }
  }
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    const long long i = first + static_cast<long long>(j) * blockDim.x;
    if (i < n / 4) {
      reinterpret_cast<float4*>(to)[i] =
          make_float4(a[j].x + b[j].x, a[j].y + b[j].y, a[j].z + b[j].z, a[j].w + b[j].w);
    }
  }
  if (first < n % 4) {
    to[n / 4 * 4 + first] = own[n / 4 * 4 + first] + left[n / 4 * 4 + first];
  }
}

// to = left, in the same way.
__global__ void takeKernel(long long n, const float* left, float* to) {
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x * kVectors + threadIdx.x;
  const auto* const lefts = reinterpret_cast<const float4*>(left);
  float4 b[kVectors];
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    const long long i = first + static_cast<long long>(j) * blockDim.x;
    if (i < n / 4) {
      b[j] = lefts[i];
    }
  }
#pragma unroll
  for (int j = 0; j < kVectors; ++j) {
    const long long i = first + static_cast<long long>(j) * blockDim.x;
    if (i < n / 4) {
      reinterpret_cast<float4*>(to)[i] = b[j];
    }
  }
  if (first < n % 4) {
    to[n / 4 * 4 + first] = left[n / 4 * 4 + first];
  }
}

namespace {

using namespace warpmeter::kernels;

// Values that a block takes: four in a vector.
std::int64_t perBlock(unsigned block) { return std::int64_t{block} * kVectors * 4; }

}  // namespace

namespace warpmeter::kernels {

void requireRingBlock(std::int64_t threads) {
  requireBlock(addKernel, threads);
  requireBlock(takeKernel, threads);
}

Ring::Ring(Run& run, const Ranks& ranks, std::int64_t n)
    : run_(run),
      ranks_(ranks),
      plan_{static_cast<int>(ranks.size())},
      n_(n),
      piece_(((n + plan_.ranks - 1) / plan_.ranks + 3) / 4 * 4),
      block_(static_cast<unsigned>(run.arguments["block"])),
      byKernels_(run.arguments.variant() == "peer"),
      throughHost_(run.arguments.variant() == "host") {}

void Ring::sum() {
  for (int r = 0; r < plan_.ranks; ++r) {
    at(r + 1).finished.holdBack(at(r).stream);
  }
  for (int step = 0; step < plan_.steps(); ++step) {
    for (int r = 0; throughHost_ && r < plan_.ranks; ++r) {
      stage(r, step);
    }
    for (int r = 0; r < plan_.ranks; ++r) {
      receive(r, step);
    }
    ++steps_;
  }
  for (int r = 0; r < plan_.ranks; ++r) {
    useDevice(at(r).device);
    at(r).finished.record(at(r).stream);
  }
}

Ring::Part Ring::part(int r, int step) const {
  const std::int64_t first = std::min(plan_.piece(r, step) * piece_, n_);
  return {first, std::min(piece_, n_ - first)};
}

// Its own values are still in the input in the first step.
const float* Ring::source(const Rank& left, const Part& what, int step) {
  return (step == 0 ? left.input.get() : left.work.get()) + what.first;
}

// Rank r lays out what its right neighbour is about to take.
void Ring::stage(int r, int step) {
  Rank& rank = at(r);
  const Part what = part((r + 1) % plan_.ranks, step);
  useDevice(rank.device);
  if (what.count > 0) {
    WARPMETER_CHECK(cudaMemcpyAsync(rank.staging + what.first, source(rank, what, step), what.bytes(),
                                    cudaMemcpyDeviceToHost, rank.stream));
    list("d2h", "pinned", what, rank);
  }
  rank.staged.record(rank.stream);
}

void Ring::receive(int r, int step) {
  Rank& rank = at(r);
  Rank& left = at(r - 1);
  const Part what = part(r, step);
  float* const to = rank.work.get() + what.first;
  useDevice(rank.device);
  // What it recorded in the step before. Two events in turn: with one, those that come later in the loop
  // would wait for this step of their neighbours, and all ranks would run one after the other.
  left.step[(steps_ + 1) % 2].holdBack(rank.stream);
  if (throughHost_) {
    left.staged.holdBack(rank.stream);
  }
  if (what.count > 0) {
    const float* from = source(left, what, step);
    if (!byKernels_) {
      float* const there = plan_.adds(step) ? rank.landing.get() + what.first : to;
      fetch(rank, left, from, there, what);
      from = there;
    }
    const unsigned grid = blocksFor(what.count, perBlock(block_));
    if (plan_.adds(step)) {
      addKernel<<<grid, block_, 0, rank.stream>>>(what.count, rank.input.get() + what.first, from, to);
      run_.report.launches.add({"addKernel", grid, block_, rank.stream.index()});
    } else if (byKernels_) {
      takeKernel<<<grid, block_, 0, rank.stream>>>(what.count, from, to);
      run_.report.launches.add({"takeKernel", grid, block_, rank.stream.index()});
    }
    checkLaunch("a kernel of the ring");
  }
  rank.step[steps_ % 2].record(rank.stream);
}

void Ring::fetch(const Rank& rank, const Rank& left, const float* from, float* to, const Part& what) {
  if (throughHost_) {
    WARPMETER_CHECK(
        cudaMemcpyAsync(to, left.staging + what.first, what.bytes(), cudaMemcpyHostToDevice, rank.stream));
    list("h2d", "pinned", what, rank);
  } else {
    WARPMETER_CHECK(cudaMemcpyPeerAsync(to, rank.device, from, left.device, what.bytes(), rank.stream));
    list("d2d", "device", what, rank);
  }
}

void Ring::list(const char* kind, const char* memory, const Part& what, const Rank& rank) {
  run_.report.copy({kind, memory, static_cast<std::int64_t>(what.bytes()), rank.stream.index()});
}

}  // namespace warpmeter::kernels
