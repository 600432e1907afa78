// SPDX-License-Identifier: Apache-2.0
// The device code of kernels/reduction on the CPU.
#include "emulated_gpu.h"
// Made by the build: each program up to its host code.
#include "emulation_helpers.h"
#include "reduce_device.h"

namespace warpmeter::kernels {
namespace {

class ReductionEmulation : public BothOrders {};
INSTANTIATE_TEST_SUITE_P(Threads, ReductionEmulation, testing::Bool(), orderName);

TEST_P(ReductionEmulation, Reduce) {
  for (const std::int64_t n : {1, 3, 1003, 4096}) {
    const std::vector<float> x = Random(n).wholeNumbers(n, 8);
    double expected = 0;
    for (const float value : x) {
      expected += value;
    }
    for (const unsigned block : {32u, 128u, 1024u}) {
      for (const auto kernel : {reduceAtomicKernel, reduceSharedKernel, reduceShuffleKernel}) {
        const unsigned grid = blocksOf(n, block);
        float sum = 0;
        emulated::launch(kernel == reduceAtomicKernel ? grid : std::min(grid, 3u), block,
                         [&] { kernel(n, x.data(), &sum); });
        EXPECT_EQ(sum, expected) << n << " values, blocks of " << block;
      }
    }
  }
}

}  // namespace
}  // namespace warpmeter::kernels
