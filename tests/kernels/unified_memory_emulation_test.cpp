// SPDX-License-Identifier: Apache-2.0
// The device code of kernels/unified_memory on the CPU.
#include "emulated_gpu.h"

// Made by the build: the program up to its host code.
#include <gtest/gtest.h>

#include "managed_device.h"

namespace warpmeter::kernels {
namespace {

class UnifiedMemoryEmulation : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { emulated::fallingOrder = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Threads, UnifiedMemoryEmulation, testing::Bool(),
                         [](const auto& falling) { return falling.param ? "falling" : "rising"; });

TEST_P(UnifiedMemoryEmulation, Managed) {
  const std::vector<float> x = Random(1).vector(100);
  std::vector<float> y(128, 0.0f);
  std::fill(y.begin() + 100, y.end(), 7.0f);
  for (int round = 1; round <= 3; ++round) {
    emulated::launch(2, 64, [&] { gatherUpKernel(100, x.data(), y.data()); });
    for (std::size_t i = 0; i < 100; ++i) {
      ASSERT_NEAR(y[i], (2 - std::ldexp(2.0, -round)) * x[i], 1e-6) << i << " in round " << round;
    }
  }
  EXPECT_EQ(std::count(y.begin(), y.end(), 7.0f), 28) << "nothing beyond the array is written";
}

}  // namespace
}  // namespace warpmeter::kernels
