// SPDX-License-Identifier: Apache-2.0
// Our calculator against the toolkit's cuda_occupancy.h.
#include <gtest/gtest.h>

#include "analyzer/occupancy_reference.h"
#include "support/view_of.h"
#include "warpmeter/analyzer/occupancy.h"

namespace warpmeter::analyzer {
namespace {

using support::must;

Occupancy ours(const DeviceLimits& device, const OccupancyCase& c) {
  KernelResources k;
  k.blockThreads = c.block;
  k.registersPerThread = c.registers;
  k.staticShared = c.staticShared;
  k.dynamicShared = c.dynamicShared;
  k.barriers = c.barriers;
  if (c.carveoutPct >= 0) k.carveoutPct = c.carveoutPct;
  return must(occupancyOf(device, k));
}

bool holds(const Occupancy& o, Limiter l) { return std::ranges::find(o.limiters, l) != o.limiters.end(); }

class OccupancyHeader : public testing::TestWithParam<int> {};

TEST_P(OccupancyHeader, EqualsOnRandomCases) {
  const DeviceLimits device = must(deviceLimits(GetParam() / 10, GetParam() % 10));
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  int different = 0, launchable = 0;
  for (int i = 0; i < 100'000; ++i) {
    const OccupancyCase c = randomCase(GetParam(), random);
    const Reference r = referenceOf(c);
    const Occupancy o = ours(device, c);
    launchable += r.blocks > 0;
    // The header keeps the factors it found before barriers lowered the limit; ours are those of the result.
    const bool byBarriers =
        o.limits.barriers < std::min({r.byWarps, r.byRegisters, r.byShared, o.limits.blocks});
    const bool equal =
        o.blocksPerSm == r.blocks && o.limits.warps == r.byWarps && o.limits.registers == r.byRegisters &&
        o.limits.sharedMemory == r.byShared &&
        holds(o, Limiter::barriers) == ((r.factors & OCC_LIMIT_BARRIERS) != 0) &&
        (byBarriers || (holds(o, Limiter::warps) == ((r.factors & OCC_LIMIT_WARPS) != 0) &&
                        holds(o, Limiter::registers) == ((r.factors & OCC_LIMIT_REGISTERS) != 0) &&
                        holds(o, Limiter::sharedMemory) == ((r.factors & OCC_LIMIT_SHARED_MEMORY) != 0) &&
                        holds(o, Limiter::blocks) == ((r.factors & OCC_LIMIT_BLOCKS) != 0)));
    if (!equal && ++different <= 3) {
      ADD_FAILURE() << "registers " << c.registers << " block " << c.block << " static " << c.staticShared
                    << " dynamic " << c.dynamicShared << " carve-out " << c.carveoutPct << " barriers "
                    << c.barriers << ": ours " << o.blocksPerSm << ", header " << r.blocks;
    }
  }
  EXPECT_EQ(different, 0);
  EXPECT_GT(launchable, 30'000);  // the cases are not mostly impossible ones
}

INSTANTIATE_TEST_SUITE_P(Capabilities, OccupancyHeader, testing::ValuesIn(kCapabilities));

}  // namespace
}  // namespace warpmeter::analyzer
