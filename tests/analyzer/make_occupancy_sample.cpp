// SPDX-License-Identifier: Apache-2.0
// Writes occupancy_sample.txt: 2 000 random cases and what cuda_occupancy.h of the CUDA toolkit says of them.
// Run again only for a new toolkit or a new capability:
//   g++ -std=c++20 -w -I$CUDA/include -Ianalyzer/include -Iprofile/include -Itests \
//       tests/analyzer/make_occupancy_sample.cpp -o /somewhere/sample && /somewhere/sample >
//       tests/analyzer/occupancy_sample.txt
#include <cstdio>

#include "analyzer/occupancy_cases.h"
#include "analyzer/occupancy_reference.h"

int main() {
  using namespace warpmeter::analyzer;
  std::puts(
      "# capability registers block static dynamic carveout barriers -> blocks limits: warps registers "
      "shared");
  std::mt19937 random(20);
  for (int i = 0; i < 2000; ++i) {
    const OccupancyCase c =
        randomCase(kCapabilities[static_cast<std::size_t>(i) % kCapabilities.size()], random);
    const Reference r = referenceOf(c);
    std::printf("%d %d %d %d %d %d %d %d %d %d %d\n", c.capability, c.registers, c.block, c.staticShared,
                c.dynamicShared, c.carveoutPct, c.barriers, r.blocks, r.byWarps, r.byRegisters, r.byShared);
  }
}
