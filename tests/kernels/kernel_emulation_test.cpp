// SPDX-License-Identifier: Apache-2.0
// The device code of the bundled kernels on the CPU (emulated_gpu.h): right results for sizes with ragged
// ends, with the threads between two barriers in either order.
#include "emulated_gpu.h"

// Made by the build: each program up to its host code.
#include <gtest/gtest.h>

#include "emulation_helpers.h"
#include "latency_device.h"
#include "small_grid_device.h"

namespace warpmeter::kernels {
namespace {

class KernelEmulation : public BothOrders {};
INSTANTIATE_TEST_SUITE_P(Threads, KernelEmulation, testing::Bool(), orderName);

// A kernel that needs the barrier that it does not have.
void forgetfulKernel(const int* from, int* to) {
  __shared__ int held[64];
  held[threadIdx.x] = from[threadIdx.x];
  to[threadIdx.x] = held[63 - threadIdx.x];
}

TEST(KernelEmulator, ShowsAMissingBarrier) {
  std::vector<int> from(64, 7);
  for (const bool falling : {false, true}) {
    emulated::fallingOrder = falling;
    std::vector<int> to(64);
    std::vector<int> wrong(64, -1);
    emulated::launch(1, 64, [&] { forgetfulKernel(wrong.data(), to.data()); });
    emulated::launch(1, 64, [&] { forgetfulKernel(from.data(), to.data()); });
    EXPECT_EQ(std::count(to.begin(), to.end(), 7), 32) << "half of the threads read what is not there yet";
  }
}

TEST(KernelEmulator, EndsWhenThreadsWaitForEver) {
  EXPECT_THROW(emulated::launch(1, 64,
                                [] {
                                  if (threadIdx.x < 10) {
                                    __syncthreads();
                                  }
                                }),
               std::runtime_error);
}

TEST_P(KernelEmulation, Latency) {
  constexpr std::size_t kNodes = 7;
  auto nodes = Random(1).bits<uint4>(kNodes * kLanes);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].x = static_cast<unsigned>((i / kLanes + 3) % kNodes);
  }
  const std::vector<unsigned> starts{2, 5, 0, 1};
  auto sums = withMargin<unsigned>(4 * kLanes);
  emulated::launch(2, 64, [&] { followKernel(9, nodes.data(), starts.data(), sums.data()); });
  for (std::size_t thread = 0; thread < 4 * kLanes; ++thread) {
    unsigned expected = 0;
    for (std::size_t visit = 0; visit < 9; ++visit) {
      const uint4& part = nodes[(starts[thread / kLanes] + 3 * visit) % kNodes * kLanes + thread % kLanes];
      expected = 31 * expected + (part.y ^ part.z ^ part.w);
    }
    EXPECT_EQ(sums[thread], expected);
  }
  EXPECT_TRUE(marginUntouched(sums));
}

TEST_P(KernelEmulation, SmallGrid) {
  const std::vector<float> x = Random(1).vector(1000);
  auto y = withMargin<float>(1000);
  emulated::launch(3, 64, [&] { scaleKernel(1000, 0.5f, x.data(), y.data()); });
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(y[i], 0.5f * x[i]);
  }
  EXPECT_TRUE(marginUntouched(y));
}

}  // namespace
}  // namespace warpmeter::kernels
