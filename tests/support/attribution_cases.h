// SPDX-License-Identifier: Apache-2.0
// Simulated runs with known truth, through a profile file and summarizeCounters(): how far off the values
// are, and how often the intervals hold the truth. Shared by the test and the longer run behind
// docs/accuracy.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/sample_simulator.h"
#include "warpmeter/analyzer/counters.h"

namespace warpmeter::support {

enum class Schedule : std::uint8_t {
  mlp,       // 5-10 kernels of 5-100 us back to back on one stream, bursts of 2 us samples
  mlpFine,   // the same, 1 us
  graph,     // 3-15 us, gaps below 1 us, pauses between replays, 1 us
  isolated,  // 5-100 us, idle before and after each, 2 us
  streams,   // two streams of their own kernels at once, copies beside them, 2 us
  coarse,    // 20-100 us back to back, 20 us without holes
};
inline constexpr int kSchedules = 6;
std::string_view nameOf(Schedule schedule);

enum class Quantity : std::uint8_t { occupancy, instructions, dramRead };
std::string_view nameOf(Quantity quantity);

// One value against the truth. Occupancy: points; amounts: percent of the truth, DRAM bytes of at least a third of
// what 4 TB/s move in that time: 3 of them are the larger of 3 % and 1 % of the ceiling.
struct Outcome {
  Schedule schedule{};
  Quantity quantity{};
  double kernelUs = 0;
  std::int64_t launches = 0;
  bool measured = false;
  analyzer::Metric metric;
  double truth = 0, error = 0, width = 0;  // width of the interval, as error
  bool covered(double stretch = 1) const;  // by the interval, stretched around the value
};

SampleSimulator simulate(Schedule schedule, std::uint64_t seed, double seconds);
std::vector<Outcome> evaluate(Schedule schedule, std::uint64_t seed, double seconds);

// Writes launches and samples as a profile.
void writeSimulated(const std::filesystem::path& path, const SampleSimulator& simulator,
                    const std::vector<SimSet>& sets, const std::vector<SimBatch>& batches);

struct Coverage {
  std::size_t values = 0, measured = 0, covered = 0, byHalf = 0, byDouble = 0;
  double meanError = 0, worstError = 0, meanWidth = 0;
  double pct(std::size_t n) const {
    return measured == 0 ? 0 : 100 * static_cast<double>(n) / static_cast<double>(measured);
  }
};
Coverage coverageOf(std::span<const Outcome> outcomes);

}  // namespace warpmeter::support
