// SPDX-License-Identifier: Apache-2.0
// The host side of what softmax and layer_norm share: a matrix, a block for each of its rows.
#pragma once

#include <algorithm>
#include <string>

#include "common/measure.h"
#include "common/random.h"
#include "reduction/row.cuh"

namespace warpmeter::kernels {

inline std::vector<Option> rowOptions() {
  return measuredOptions(
      {{"rows", 16384, 1, 2147483647, "rows, independent of one another"},
       {"columns", 4096, 1, 1 << 24, "values in a row"},
       {"block", 256, 32, 1024, "threads in a block, a multiple of 32; a block takes a row"}},
      50, 1);
}

// Throws Failure{kExitUsage} when the block is not whole warps, or when a row does not fit into the registers
// of a block that is to hold it.
inline void requireRows(const Run& run, bool held) {
  const std::int64_t columns = run.arguments["columns"];
  const std::int64_t block = run.arguments["block"];
  if (block % 32 != 0) {
    throw Failure{kExitUsage,
                  "--block " + std::to_string(block) + " is not allowed, it must be a multiple of 32"};
  }
  if (held && columns > kHeld * block) {
    throw Failure{kExitUsage, "--columns " + std::to_string(columns) + " is too large: a block of " +
                                  std::to_string(block) + " threads holds a row of at most " +
                                  std::to_string(kHeld * block)};
  }
}

// Calls checkRow(row) for all rows of a small matrix, for random ones of a large one: a CPU takes seconds for
// 67 million exponentials. Returns how many rows those were.
template <class CheckRow>
std::int64_t forSampledRows(std::int64_t rows, Random& random, const CheckRow& checkRow) {
  const std::int64_t sampled = std::min<std::int64_t>(rows, 256);
  for (std::int64_t i = 0; i < sampled; ++i) {
    checkRow(sampled == rows ? i
                             : static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(rows)));
  }
  return sampled;
}

// What a thread's part of a sum over a row and the block's levels round off, relative to the values added.
inline double rowRounding(const Run& run) {
  return 0x1p-24 * static_cast<double>(run.arguments["columns"] / run.arguments["block"] + 32);
}

// reads: how often a launch reads the matrix; it writes one once.
inline void reportRows(Run& run, double matrixBytes, int reads, double launchNs) {
  run.report.value("usedBytesPerSec", "x and y, once each", 2e9 * matrixBytes / launchNs, Unit::bytesPerSec);
  reportTraffic(run, (reads + 1) * matrixBytes, launchNs);
}

}  // namespace warpmeter::kernels
