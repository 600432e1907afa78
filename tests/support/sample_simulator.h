// SPDX-License-Identifier: Apache-2.0
// A GPU that runs kernels by a schedule and is sampled: ground truth for the attribution of counters. Not a
// model of a chip; what it shares with one is what makes attribution hard: rates that rise and fall at a
// launch's edges, launches that differ, samples that begin anywhere, counts with noise, and a clock offset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace warpmeter::support {

struct SimKernel {
  std::string name;
  double us = 10, jitter = 0.03;  // mean duration and its relative standard deviation between launches
  double vary = 0.03;             // the same of the counts
  double warps = 32;              // per SM and active cycle, away from the edges
  double cover = 1;               // share of the SMs that have blocks
  double instPerUs = 1e5, readPerUs = 1e6, writePerUs = 5e5;
  double rampUs = 1, tailUs = 1;  // how long a launch takes to reach its rate, and to end
  double rampFrom = 0.2, tailTo = 0.1;
};

struct SimLaunch {
  std::uint32_t kernel = 0;  // copies: index beyond the kernels
  std::uint32_t stream = 0;
  std::int64_t startNs = 0, endNs = 0;
};

// What one kernel counts in a launch on average, over all launches that there could be.
struct SimTruth {
  double cycles = 0, warps = 0, inst = 0, read = 0, write = 0;
  double occupancyPct() const { return warps / cycles / 64 * 100; }
};

enum class SimCounter : std::uint8_t { cycles, warps, inst, read, write, elapsed };
inline constexpr std::size_t kSimCounters = 6;

struct SimSet {
  std::vector<SimCounter> counters;
  std::int64_t intervalNs = 2000;
};

struct SimBatch {
  std::size_t set = 0;
  std::int64_t startNs = 0;
  std::vector<std::int64_t> endNs;
  std::vector<std::vector<std::int64_t>> values;  // [counter of the set][sample]
};

struct SimOptions {
  double burstMs = 20, pauseMs = 60;  // pause 0: sampled without holes
  std::int64_t clockOffsetNs = 700;   // samples carry times later by this
  double noise = 0.01;                // of each count, relative, beside its Poisson part
  double foreign = 0;                 // share of time in which another process keeps some SMs busy
};

class SampleSimulator {
 public:
  static constexpr double kSms = 132, kCyclesPerUs = 1700;

  explicit SampleSimulator(std::uint64_t seed) : random_(seed) {}

  std::uint32_t add(SimKernel kernel);
  // Appends a launch to a stream: it starts gapUs after the last one of that stream ended, and not before
  // `notBefore`.
  void launch(std::uint32_t kernel, std::uint32_t stream, double gapUs, std::int64_t notBefore = 0);
  void copy(std::uint32_t stream, double gapUs,
            double us);  // host to device, reads and writes no counter but DRAM
  std::int64_t endOf(std::uint32_t stream) const;
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  // Samples the whole schedule, the sets in turn, one burst each.
  std::vector<SimBatch> sample(const std::vector<SimSet>& sets, const SimOptions& options);

  const std::vector<SimKernel>& kernels() const { return kernels_; }
  const std::vector<SimLaunch>& launches() const { return launches_; }
  SimTruth truth(std::uint32_t kernel) const;

 private:
  struct Draw {  // how a launch differs from the mean
    float cycles = 1, warps = 1, inst = 1, memory = 1;
  };
  std::mt19937_64 random_;
  std::vector<SimKernel> kernels_;
  std::vector<SimLaunch> launches_;
  std::vector<Draw> draws_;
  std::vector<std::int64_t> streamEnd_;
  double normal() { return std::normal_distribution<double>()(random_); }
};

// CUPTI's name of a counter.
const char* nameOf(SimCounter counter);

}  // namespace warpmeter::support
