// SPDX-License-Identifier: Apache-2.0
// The device code of kernels/streams on the CPU, in the order that the programs' streams and events allow.
#include "emulated_gpu.h"

// Made by the build: each program up to its host code.
#include <gtest/gtest.h>

#include "common/random.h"

// What the GPU's runtime does in a graph: the last value of a handle says whether the loop goes on.
unsigned conditionOfLoop = 0;
void cudaGraphSetConditional(cudaGraphConditionalHandle, unsigned value) { conditionOfLoop = value; }

// Dynamic shared memory of graph.cu, whose own declaration the build leaves out.
float values[1024];

#include "events_device.h"
#include "graph_conditional_device.h"
#include "graph_device.h"
#include "graph_update_device.h"
#include "many_processes_device.h"
#include "pipeline_device.h"
#include "priorities_device.h"
#include "streams_device.h"

namespace warpmeter::kernels {
namespace {

class StreamsEmulation : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { emulated::fallingOrder = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Threads, StreamsEmulation, testing::Bool(),
                         [](const auto& falling) { return falling.param ? "falling" : "rising"; });

// x (2 - 2^-steps), which chains of value = value / 2 + x come to.
void expectChain(const std::vector<float>& x, const std::vector<float>& y, int steps) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(y[i], (2 - std::ldexp(1.0, -steps)) * x[i], 1e-6) << i;
  }
}

TEST_P(StreamsEmulation, Chains) {
  const std::vector<float> x = Random(1).vector(128);
  std::vector<float> y(128);
  emulated::launch(2, 64, [&] { chainKernel(3, x.data(), y.data()); });
  expectChain(x, y, 3);
  emulated::launch(2, 64, [&] { shareKernel(2, x.data(), y.data()); });
  expectChain(x, y, 2);
}

TEST_P(StreamsEmulation, PiecesKeepToThemselves) {
  const std::vector<float> x = Random(1).vector(203);
  std::vector<float> y = x;
  emulated::launch(2, 64, [&] { pieceKernel(100, 5, y.data()); });
  expectChain({x.begin(), x.begin() + 100}, {y.begin(), y.begin() + 100}, 5);
  EXPECT_TRUE(std::equal(x.begin() + 100, x.end(), y.begin() + 100));
}

TEST_P(StreamsEmulation, LongKernelSaysThatItHasBegun) {
  const std::vector<float> x = Random(1).vector(100);
  std::vector<float> y(128, 7.0f);
  volatile int started = 0;
  emulated::launch(2, 64, [&] { longKernel(100, 4, x.data(), y.data(), 3, &started); });
  EXPECT_EQ(started, 3);
  expectChain(x, {y.begin(), y.begin() + 100}, 4);
  EXPECT_EQ(std::count(y.begin() + 100, y.end(), 7.0f), 28);
  emulated::launch(2, 50, [&] { shortKernel(3, x.data(), y.data()); });
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(y[i], 3 * x[i]);
  }
}

TEST_P(StreamsEmulation, DiamondOfFourKernels) {
  const std::vector<float> start = Random(1).vector(96);
  std::vector<float> x = start, middle(96), left(96), right(96);
  emulated::launch(3, 32, [&] { startKernel(x.data(), middle.data()); });
  emulated::launch(3, 32, [&] { rightKernel(middle.data(), right.data()); });
  emulated::launch(3, 32, [&] { leftKernel(middle.data(), left.data()); });
  emulated::launch(3, 32, [&] { joinKernel(left.data(), right.data(), x.data()); });
  for (std::size_t i = 0; i < 96; ++i) {
    ASSERT_NEAR(x[i], 0.25 * start[i] + 0.5 - 0.25 * start[95 - i], 1e-6) << i;
  }
}

TEST_P(StreamsEmulation, GraphsPullAndBlend) {
  const std::vector<float> start = Random(1).vector(96);
  std::vector<float> x = start;
  emulated::launch(3, 32, [&] { pullKernel(2, x.data()); });
  emulated::launch(3, 32, [&] { blendKernel(x.data()); });
  emulated::launch(3, 32, [&] { mixKernel(-1, x.data()); });
  for (std::size_t i = 0; i < 96; ++i) {
    const double right = 0.5 * start[i / 32 * 32 + (i + 1) % 32] + 1;
    ASSERT_NEAR(x[i], 0.25 * (0.5 * start[i] + 1 + right) - 0.5, 1e-6) << i;
  }
}

TEST_P(StreamsEmulation, LoopEndsWhenNothingMoves) {
  std::vector<float> a = Random(1).vector(70);
  for (float& value : a) {
    value = std::ldexp(1.5f + 0.5f * value, static_cast<int>(&value - a.data()) - 35);
  }
  std::vector<float> x(128, 9.0f);
  LoopState state{5, 5, 200};
  const auto solve = [&](auto&& decide) {
    emulated::launch(2, 64, [&] { beginKernel(70, a.data(), x.data(), &state); });
    unsigned steps = 0;
    for (bool again = true; again && steps < 1000; ++steps) {
      emulated::launch(2, 64, [&] { newtonKernel(70, a.data(), x.data(), &state); });
      again = decide();
    }
    EXPECT_EQ(state.steps, steps);
    return steps;
  };
  const unsigned fromHost = solve([&] {
    unsigned again = 7;
    emulated::launch(1, 1, [&] { decideKernel(&state, &again); });
    return again != 0;
  });
  for (std::size_t i = 0; i < 70; ++i) {
    ASSERT_NEAR(x[i] / std::sqrt(a[i]), 1, 1e-6) << i;
  }
  EXPECT_EQ(x[70], 9.0f);
  EXPECT_GT(fromHost, 17u);  // 2^34 is halved 17 times
  EXPECT_LT(fromHost, 40u);
  const auto onGpu = [&] {
    emulated::launch(1, 1, [&] { decideOnGpuKernel(&state, {}); });
    return conditionOfLoop != 0;
  };
  EXPECT_EQ(solve(onGpu), fromHost);
  state.mostSteps = 4;
  EXPECT_EQ(solve(onGpu), 4u) << "a loop that never settles ends";
}

}  // namespace
}  // namespace warpmeter::kernels
