// SPDX-License-Identifier: Apache-2.0
// The device code of kernels/memory on the CPU.
#include "emulated_gpu.h"
// Made by the build: each program up to its host code.
#include "copy_device.h"
#include "copy_strided_device.h"
#include "emulation_helpers.h"
#include "gather_scatter_device.h"
#include "saxpy_device.h"
#include "transpose_device.h"

namespace warpmeter::kernels {
namespace {

class MemoryEmulation : public BothOrders {};
INSTANTIATE_TEST_SUITE_P(Threads, MemoryEmulation, testing::Bool(), orderName);

TEST_P(MemoryEmulation, Copy) {
  const std::int64_t vectors = 64 * kVectorsPerThread * 2 + 37;
  const auto from = Random(1).bits<uint4>(vectors);
  auto to = withMargin<uint4>(vectors);
  emulated::launch(3, 64, [&] { copyVectorKernel(vectors, from.data(), to.data()); });
  EXPECT_EQ(std::memcmp(from.data(), to.data(), from.size() * sizeof(uint4)), 0);
  EXPECT_TRUE(marginUntouched(to));

  const auto words = Random(2).bits<unsigned>(150);
  auto copied = withMargin<unsigned>(150);
  emulated::launch(3, 64, [&] { copyScalarKernel(150, words.data(), copied.data()); });
  EXPECT_TRUE(std::equal(words.begin(), words.end(), copied.begin()));
  EXPECT_TRUE(marginUntouched(copied));
}

TEST_P(MemoryEmulation, CopyStrided) {
  const auto from = Random(1).bits<unsigned>(1000);
  for (const auto& [stride, offset] : {std::pair{1, 0}, {1, 3}, {8, 0}, {33, 0}}) {
    const std::int64_t n = (1000 - offset + stride - 1) / stride;
    auto to = withMargin<unsigned>(n);
    emulated::launch(blocksOf(n, 64 * kWordsPerThread), 64,
                     [&] { copyStridedKernel(n, stride, offset, from.data(), to.data()); });
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(to[i], from[i * stride + offset]) << i << " of stride " << stride << ", offset " << offset;
    }
    EXPECT_TRUE(marginUntouched(to));
  }
}

TEST_P(MemoryEmulation, Saxpy) {
  for (const std::int64_t n : {1, 3, 1000, 1003, 2 * kVectors * 4 * 64}) {
    Random random(n);
    // Whole numbers: a product and a sum of them are exact.
    const std::vector<float> x = random.wholeNumbers(n, 16);
    const std::vector<float> before = random.wholeNumbers(n, 16);
    const auto check = [&](auto kernel, unsigned grid, unsigned block) {
      auto y = withMargin<float>(n);
      std::copy(before.begin(), before.end(), y.begin());
      emulated::launch(grid, block, [&] { kernel(n, 2.0f, x.data(), y.data()); });
      for (std::int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(y[i], 2.0f * x[i] + before[i]) << i << " of " << n << ", blocks of " << block;
      }
      EXPECT_TRUE(marginUntouched(y));
    };
    check(saxpyKernel, blocksOf(n, 64), 64);
    check(saxpyGridStrideKernel, 3, 64);
    check(saxpyVectorKernel, blocksOf(n, 4 * kVectors * 64), 64);
    check(saxpyVectorKernel, blocksOf(n, 4 * kVectors), 1);  // fewer threads than the ragged end has elements
  }
}

TEST_P(MemoryEmulation, Transpose) {
  constexpr int kN = 2 * kSide + 6;
  const std::vector<float> from = Random(1).vector(kN * kN);
  const auto check = [&](auto kernel, unsigned blockRows) {
    auto to = withMargin<float>(kN * kN);
    emulated::launch(dim3(3, 3), dim3(kSide, blockRows), [&] { kernel(kN, from.data(), to.data()); });
    for (int i = 0; i < kN * kN; ++i) {
      ASSERT_EQ(to[i], from[i % kN * kN + i / kN]) << i << " with " << blockRows << " rows of threads";
    }
    EXPECT_TRUE(marginUntouched(to));
  };
  for (const auto kernel : {transposeNaiveKernel<16>, transposeTiledKernel<16>, transposePaddedKernel<16>}) {
    check(kernel, 4);
  }
  check(transposeNaiveKernel<8>, 8);
  check(transposePaddedKernel<8>, 8);
  check(transposePaddedKernel<4>, 16);
}

TEST_P(MemoryEmulation, GatherAndScatter) {
  constexpr std::int64_t kCount = 64 * kPlaces * 2 + 37;
  // Every seventh place of a ring: each comes once.
  std::vector<unsigned> places(kCount);
  for (unsigned i = 0; i < kCount; ++i) {
    places[i] = i * 7 % kCount;
  }
  const auto from = Random(1).bits<unsigned>(kCount);
  auto gathered = withMargin<unsigned>(kCount);
  auto scattered = withMargin<unsigned>(kCount);
  emulated::launch(3, 64, [&] { gatherKernel(kCount, places.data(), from.data(), gathered.data()); });
  emulated::launch(3, 64, [&] { scatterKernel(kCount, places.data(), from.data(), scattered.data()); });
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(gathered[i], from[places[i]]) << i;
    ASSERT_EQ(scattered[places[i]], from[i]) << i;
  }
  EXPECT_TRUE(marginUntouched(gathered));
  EXPECT_TRUE(marginUntouched(scattered));
}

}  // namespace
}  // namespace warpmeter::kernels
