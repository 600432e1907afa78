// SPDX-License-Identifier: Apache-2.0
// A ring of ranks that add up a vector, each with its stream and its memory on one of the GPUs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/event.h"
#include "common/gpu.h"

namespace warpmeter::kernels {

inline void useDevice(int device) { WARPMETER_CHECK(cudaSetDevice(device)); }

// How rank r's pieces travel; there are as many pieces as ranks. Steps 0 to ranks - 2 add the left
// neighbour's piece to the own one, after which rank r has the sum of piece r + 1; as many steps again pass
// sums on.
struct RingPlan {
  int ranks;
  int steps() const { return 2 * (ranks - 1); }
  bool adds(int step) const { return step < ranks - 1; }
  // The piece that rank takes from its left neighbour.
  int piece(int rank, int step) const {
    return (adds(step) ? rank - 1 - step + ranks : rank - (step - (ranks - 1)) + ranks) % ranks;
  }
};

// Made while its device is current.
struct Rank {
  Rank(int gpu, int index, std::int64_t n, const std::string& variant)
      : device(gpu),
        stream(index + 1),
        input(n),
        work(n),
        landing(variant == "copies" || variant == "host" ? n : 1) {
    if (variant == "host") {
      WARPMETER_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&staging), work.bytes(), cudaHostAllocPortable));
    }
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;
  ~Rank() { cudaFreeHost(staging); }

  int device;
  Stream stream;
  DeviceArray<float> input;
  DeviceArray<float> work;     // ends as the sum
  DeviceArray<float> landing;  // what came from the left, as large as the vector
  float* staging = nullptr;    // what goes to the right, likewise
  Event step[2];               // the end of every second step
  Event staged;
  Event finished;
};

using Ranks = std::vector<std::unique_ptr<Rank>>;

// Asks all kernels of the ring for this block and loads them. Throws Failure{kExitUsage}.
void requireRingBlock(std::int64_t threads);

// Sums of all ranks' inputs into every rank's work, asynchronously. A rank overwrites a piece only after its
// right neighbour has read it: within one sum because the finished piece comes through that neighbour,
// between two sums by the event finished.
class Ring {
 public:
  // Lists what it does in run's report; --block and --variant (peer, copies, host) are taken from its
  // arguments.
  Ring(Run& run, const Ranks& ranks, std::int64_t n);

  void sum();

 private:
  struct Part {
    std::int64_t first;
    std::int64_t count;
    std::size_t bytes() const { return static_cast<std::size_t>(count) * sizeof(float); }
  };
  Rank& at(int r) const {
    return *ranks_[static_cast<std::size_t>(r + plan_.ranks) % static_cast<std::size_t>(plan_.ranks)];
  }
  Part part(int r, int step) const;
  static const float* source(const Rank& left, const Part& what, int step);
  void stage(int r, int step);
  void receive(int r, int step);
  void fetch(const Rank& rank, const Rank& left, const float* from, float* to, const Part& what);
  void list(const char* kind, const char* memory, const Part& what, const Rank& rank);

  Run& run_;
  const Ranks& ranks_;
  RingPlan plan_;
  std::int64_t n_;
  std::int64_t piece_;  // values, a multiple of 4
  unsigned block_;
  bool byKernels_;
  bool throughHost_;
  std::int64_t steps_ = 0;  // since the beginning
};

}  // namespace warpmeter::kernels
