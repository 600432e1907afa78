// SPDX-License-Identifier: Apache-2.0
// What the emulation tests of the single folders share. Include after emulated_gpu.h.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "emulated_gpu.h"

namespace warpmeter::kernels {

// Each test runs twice: threads in rising and in falling order.
class BothOrders : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { emulated::fallingOrder = GetParam(); }
};

inline std::string orderName(const testing::TestParamInfo<bool>& falling) {
  return falling.param ? "falling" : "rising";
}

constexpr std::size_t kMargin = 64;

// Longer than asked for: the end must stay as it is.
template <class T>
std::vector<T> withMargin(std::int64_t size) {
  return std::vector<T>(static_cast<std::size_t>(size) + kMargin, T{});
}
template <class T>
bool marginUntouched(const std::vector<T>& values) {
  const std::vector<T> margin(kMargin, T{});
  return std::memcmp(&values[values.size() - kMargin], margin.data(), kMargin * sizeof(T)) == 0;
}

// Blocks of that many items each.
inline unsigned blocksOf(std::int64_t count, std::int64_t perBlock) {
  return static_cast<unsigned>((count + perBlock - 1) / perBlock);
}

}  // namespace warpmeter::kernels
