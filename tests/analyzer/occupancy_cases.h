// SPDX-License-Identifier: Apache-2.0
// Random launch configurations for the occupancy calculator; the stored sample was made of the same ones.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

namespace warpmeter::analyzer {

inline constexpr std::array<int, 11> kCapabilities{75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121};

struct OccupancyCase {
  int capability = 0, registers = 0, block = 0, staticShared = 0, dynamicShared = 0, carveoutPct = -1,
      barriers = 1;
};

// Half of the cases without shared memory or carve-out: there the other limits show. Some blocks and some
// registers are too large on purpose.
inline OccupancyCase randomCase(int capability, std::mt19937& random) {
  const auto upTo = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n + 1)); };
  OccupancyCase c;
  c.capability = capability;
  c.registers = upTo(260);
  c.block = 1 + upTo(1087);
  if (upTo(3) != 0) c.block = std::max(32, c.block / 32 * 32);
  if (upTo(1) == 0) c.staticShared = upTo(49152);
  if (upTo(1) == 0) c.dynamicShared = upTo(upTo(1) == 0 ? 16384 : 233472);
  if (upTo(1) == 0) c.carveoutPct = upTo(100);
  c.barriers = upTo(3) == 0 ? upTo(16) : 1;
  return c;
}

}  // namespace warpmeter::analyzer
