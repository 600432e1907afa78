// SPDX-License-Identifier: Apache-2.0
// The device code of the occupancy kernels on the CPU (emulated_gpu.h). Not cluster.cu: the emulation has no
// shared memory of other blocks.
#include <gtest/gtest.h>

#include "common/random.h"
#include "emulated_gpu.h"

// A barrier of all threads of a block, whatever its number.
inline void __barrier_sync_count(unsigned, unsigned) { __syncthreads(); }

// Made by the build: each program up to its host code. Their constants have the same names.
#include "common/measure.h"
namespace occupancy_blocks {
#include "occupancy_blocks_device.h"
}
namespace occupancy_low {
#include "occupancy_low_device.h"
}
namespace occupancy_registers {
#include "occupancy_registers_device.h"
}
namespace occupancy_shared {
uint4 tile[256];  // its dynamic shared memory, whose own declaration the build leaves out
#include "occupancy_shared_device.h"
static_assert(std::size(tile) == kBlock);
}  // namespace occupancy_shared
namespace tail {
#include "tail_device.h"
}

namespace warpmeter::kernels {
namespace {

class OccupancyEmulation : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { emulated::fallingOrder = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Threads, OccupancyEmulation, testing::Bool(),
                         [](const auto& falling) { return falling.param ? "falling" : "rising"; });

constexpr float kUntouched = -12345.0f;

TEST_P(OccupancyEmulation, Blocks) {
  for (const unsigned block : {32u, 64u, 256u}) {
    const std::vector<float> x = Random(block).vector(1003);
    const unsigned grid = (1003 + block - 1) / block;
    for (const bool swapped : {false, true}) {
      std::vector<float> y(1004, kUntouched);
      emulated::launch(grid, block, [&] {
        if (swapped) {
          occupancy_blocks::scaleSwappedKernel(1003, 0.5f, x.data(), y.data(), 1);
        } else {
          occupancy_blocks::scaleElementKernel(1003, 0.5f, x.data(), y.data());
        }
      });
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_EQ(y[i], 0.5f * x[i]) << i << " in blocks of " << block;
      }
      EXPECT_EQ(y.back(), kUntouched);
    }
  }
}

TEST_P(OccupancyEmulation, Shared) {
  constexpr std::size_t kBlock = occupancy_shared::kBlock;
  for (const std::size_t vectors : {std::size_t{1}, kBlock, 2 * kBlock + 37}) {
    const auto from = Random(1).bits<uint4>(static_cast<std::int64_t>(vectors));
    std::vector<uint4> to(vectors + 1, uint4{7, 7, 7, 7});
    emulated::launch(static_cast<unsigned>((vectors + kBlock - 1) / kBlock), kBlock, [&] {
      occupancy_shared::reverseTilesKernel(static_cast<long long>(vectors), from.data(), to.data());
    });
    for (std::size_t first = 0; first < vectors; first += kBlock) {
      const std::size_t size = std::min(kBlock, vectors - first);
      for (std::size_t i = 0; i < size; ++i) {
        ASSERT_EQ(std::memcmp(&to[first + i], &from[first + size - 1 - i], sizeof(uint4)), 0) << first + i;
      }
    }
    EXPECT_EQ(to.back().w, 7u);
  }
}

TEST_P(OccupancyEmulation, Registers) {
  constexpr unsigned kThreads = 2 * occupancy_registers::kBlock;
  constexpr unsigned kNodes = 64;
  constexpr int kVisits = 9;
  const auto list = Random(1).bits<uint2>(kNodes * 32);
  const auto words = Random(2).bits<unsigned>(kThreads * occupancy_registers::kHeld);
  for (const auto kernel : {occupancy_registers::heldFreeKernel, occupancy_registers::heldBoundedKernel}) {
    std::vector<unsigned> sums(kThreads + 1, 7);
    emulated::launch(2, occupancy_registers::kBlock,
                     [&] { kernel(kNodes - 1, kVisits, list.data(), words.data(), sums.data()); });
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      unsigned node = 0;
      for (unsigned k = 0; k < occupancy_registers::kHeld; ++k) {
        node = 31 * node + words[k * kThreads + thread / 32 * 32];
      }
      unsigned expected = 0;
      for (int visit = 0; visit < kVisits; ++visit) {
        node %= kNodes;
        expected = 31 * expected + list[node * 32 + thread % 32].y;
        node = 31 * node + list[node * 32].x;
      }
      for (unsigned k = 0; k < occupancy_registers::kHeld; ++k) {
        expected = 31 * expected + words[k * kThreads + thread];
      }
      ASSERT_EQ(sums[thread], expected) << thread;
    }
    EXPECT_EQ(sums.back(), 7u);
  }
}

// Small whole numbers: all sums are exact.
TEST_P(OccupancyEmulation, Low) {
  constexpr int kBlock = occupancy_low::kBlock;
  const auto points = [](std::int64_t seed, int size) {
    const std::vector<float> numbers = Random(seed).wholeNumbers(4 * size, 3);
    std::vector<float4> made;
    for (std::size_t i = 0; i < numbers.size(); i += 4) {
      made.push_back({numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
    }
    return made;
  };
  for (const auto& [queries, sources] :
       {std::pair{1, 1}, {kBlock, kBlock}, {9 * kBlock + 5, 2 * kBlock + 3}}) {
    const std::vector<float4> query = points(1, queries);
    const std::vector<float4> source = points(2, sources);
    const auto check = [&, count = queries, summands = sources](auto kernel, int perThread) {
      std::vector<float> y(static_cast<std::size_t>(count) + 1, kUntouched);
      const int perBlock = kBlock * perThread;
      emulated::launch(static_cast<unsigned>((count + perBlock - 1) / perBlock), kBlock,
                       [&] { kernel(count, summands, query.data(), source.data(), y.data()); });
      for (std::size_t i = 0; i < query.size(); ++i) {
        double sum = 0;
        for (const float4& s : source) {
          const double product =
              1 + query[i].x * s.x + query[i].y * s.y + query[i].z * s.z + query[i].w * s.w;
          sum += product * product;
        }
        ASSERT_EQ(y[i], sum) << i << " of " << count << ", " << perThread << " in a thread";
      }
      EXPECT_EQ(y.back(), kUntouched);
    };
    check(occupancy_low::similarityKernel<1>, 1);
    check(occupancy_low::similarityKernel<occupancy_low::kMany>, occupancy_low::kMany);
  }
}

TEST_P(OccupancyEmulation, Tail) {
  const std::vector<float> x = Random(1).vector(2048);
  const auto check = [&](auto kernel, unsigned block) {
    std::vector<float> y(2049, kUntouched);
    emulated::launch(2048 / block, block, [&] { kernel(5, 0.5f, x.data(), y.data()); });
    for (std::size_t i = 0; i < x.size(); ++i) {
      double expected = 0;  // f^5 start + (1 - f^5) / (1 - f) x
      for (int chain = 0; chain < tail::kChains; ++chain) {
        expected += chain / 64.0 / 32 + 31.0 / 16 * x[i];
      }
      ASSERT_NEAR(y[i], expected, 1e-4) << i;
    }
    EXPECT_EQ(y.back(), kUntouched);
  };
  check(tail::chainsKernel<tail::kLarge>, tail::kLarge);
  check(tail::chainsKernel<tail::kSmall>, tail::kSmall);
}

}  // namespace
}  // namespace warpmeter::kernels
