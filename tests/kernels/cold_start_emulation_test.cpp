// SPDX-License-Identifier: Apache-2.0
// The device code of kernels/cold_start/big_module on the CPU.
#include "emulated_gpu.h"

// Made by the build: the file up to its host code.
#include <gtest/gtest.h>

#include "big_module_kernels_device.h"
#include "common/random.h"

namespace warpmeter::kernels {
namespace {

class ColdStartEmulation : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { emulated::fallingOrder = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Threads, ColdStartEmulation, testing::Bool(),
                         [](const auto& falling) { return falling.param ? "falling" : "rising"; });

template <int index>
std::vector<float> checked(const std::vector<float>& x) {
  std::vector<float> y = x;
  emulated::launch(2, 32, [&] { bigKernel<index>(y.data()); });
  for (std::size_t i = 0; i < 64; ++i) {
    double sum = 0;
    double power = 1;  // the last term's factor stands alone, the first one's with the highest power
    for (int term = 127; term >= 0; --term) {
      sum += power * ((index * 31 + term * 17) % 257 + 1) / 65536;
      power *= x[i];
    }
    EXPECT_NEAR(y[i], sum, 2e-5) << "value " << i << " of kernel " << index;
    EXPECT_LE(std::abs(y[i]), 1);
  }
  EXPECT_EQ(y[64], x[64]);
  return y;
}

TEST_P(ColdStartEmulation, KernelsOfTheBigModuleDiffer) {
  std::vector<float> x = Random(1).vector(65);
  x[0] = 1;
  x[1] = -1;
  const std::vector<float> first = checked<0>(x);
  const std::vector<float> middle = checked<100>(x);
  const std::vector<float> last = checked<bigModule::kKernels - 1>(x);
  EXPECT_NE(first[2], middle[2]);
  EXPECT_NE(first[2], last[2]);
}

}  // namespace
}  // namespace warpmeter::kernels
