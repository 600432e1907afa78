// SPDX-License-Identifier: Apache-2.0
// The device code of the bundled kernels on the CPU (emulated_gpu.h): right results for sizes with ragged
// ends, with the threads between two barriers in either order.
#include "emulated_gpu.h"

// Made by the build: each program up to its host code.
#include <gtest/gtest.h>

#include <array>

// Dynamic shared memory of tensor.cu, whose own declaration the build leaves out.
alignas(128) unsigned char stages[96 << 10];

#include "emulation_helpers.h"
#include "fma_device.h"
#include "latency_device.h"
#include "matmul_device.h"
#include "small_grid_device.h"
#include "tensor_device.h"

static_assert(sizeof stages == kStages * kStageBytes);

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

template <class T>
void checkFma(double tolerance) {
  constexpr int kSteps = 37;
  const std::vector<T> x{-1, T(-0.25), 0, T(0.5), 1};
  std::vector<T> y(5);
  emulated::launch(1, 5, [&] { fmaKernel<T>(kSteps, T(0.75), x.data(), y.data()); });
  for (std::size_t i = 0; i < x.size(); ++i) {
    long double expected = 0;
    for (int chain = 0; chain < kChains; ++chain) {
      long double value = chain;
      for (int step = 0; step < kSteps; ++step) {
        value = 0.75L * value + x[i];
      }
      expected += value;
    }
    EXPECT_NEAR(y[i], static_cast<double>(expected), tolerance);
  }
}

TEST_P(KernelEmulation, Fma) {
  checkFma<float>(1e-5);
  checkFma<double>(1e-14);
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

TEST_P(KernelEmulation, Matmul) {
  constexpr int kN = 37;
  Random random(1);
  const std::vector<float> a = random.wholeNumbers(kN * kN, 8);
  const std::vector<float> b = random.wholeNumbers(kN * kN, 8);
  const auto check = [&](auto kernel, unsigned side) {
    auto c = withMargin<float>(kN * kN);
    const unsigned blocks = (kN + side - 1) / side;
    emulated::launch(dim3(blocks, blocks), dim3(side, side),
                     [&] { kernel(kN, a.data(), b.data(), c.data()); });
    EXPECT_TRUE(marginUntouched(c));
    EXPECT_EQ(checkProduct(kN, a, b, Stored::byRows, c, random, 0), kN * kN);
  };
  check(matmulNaiveKernel, 13);
  check(matmulTiledKernel<8>, 8);
  check(matmulTiledKernel<16>, 16);
  check(matmulTiledKernel<32>, 32);
}

template <class T>
void checkTensor() {
  constexpr int kN = kColumns;
  Random random(1);
  std::vector<float> a = random.wholeNumbers(kN * kN, 16);
  const std::vector<float> b = random.wholeNumbers(kN * kN, 16);
  std::vector<T> ofA(a.begin(), a.end());
  std::vector<T> ofB(b.begin(), b.end());
  auto c = withMargin<float>(kN * kN);
  emulated::launch(dim3(kN / kColumns, kN / kRows), kThreads,
                   [&] { tensorKernel<T>(kN, ofA.data(), ofB.data(), c.data()); });
  EXPECT_TRUE(marginUntouched(c));
  for (int i = 0; i < kN * kN; ++i) {
    double sum = 0;
    for (int k = 0; k < kN; ++k) {
      sum += static_cast<double>(a[i / kN * kN + k]) * b[i % kN * kN + k];
    }
    ASSERT_EQ(c[i], sum) << "row " << i / kN << ", column " << i % kN;
  }
}

TEST_P(KernelEmulation, TensorBf16) { checkTensor<__nv_bfloat16>(); }
TEST_P(KernelEmulation, TensorTf32) { checkTensor<float>(); }

// 8 rows at a time are read by ldmatrix, 8 chunks (two rows) written by one quarter of a warp.
TEST(TensorTile, KeepsChunksApartAndInDifferentBanks) {
  std::vector<int> used(kStageBytes / kChunkBytes);
  for (int row = 0; row < kTileRows; ++row) {
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      ++used.at(static_cast<std::size_t>(placeOf(row, chunk) / kChunkBytes));
    }
  }
  EXPECT_EQ(std::count(used.begin(), used.end(), 1), static_cast<std::ptrdiff_t>(used.size()));
  const auto banksOf = [](auto place) {
    unsigned banks = 0;
    for (int i = 0; i < 8; ++i) {
      banks |= 1u << place(i) % 128 / kChunkBytes;
    }
    return banks;
  };
  for (int row = 0; row < kTileRows; row += 8) {
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      EXPECT_EQ(banksOf([&](int i) { return placeOf(row + i, chunk); }), 0xffu);
    }
    EXPECT_EQ(banksOf([&](int i) { return placeOf(row + i / kChunks, i % kChunks); }), 0xffu);
  }
}

}  // namespace
}  // namespace warpmeter::kernels
