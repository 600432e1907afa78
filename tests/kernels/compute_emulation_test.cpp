// SPDX-License-Identifier: Apache-2.0
// The programs about arithmetic on the CPU (emulated_gpu.h). tensor_hopper.cu is left out: the emulation has
// neither wgmma nor the copy engine.
#include <array>

#include "emulated_gpu.h"

// Dynamic shared memory of tensor.cu, whose own declaration the build leaves out.
alignas(128) unsigned char stages[96 << 10];

// Made by the build: each program up to its host code.
#include "emulation_helpers.h"
#include "fma_device.h"
#include "fp64_by_accident_device.h"
#include "matmul_device.h"
#include "tensor_device.h"

static_assert(sizeof stages == kStages * kStageBytes);

namespace warpmeter::kernels {
namespace {

class ComputeEmulation : public BothOrders {};
INSTANTIATE_TEST_SUITE_P(Threads, ComputeEmulation, testing::Bool(), orderName);

constexpr int kSteps = 37;

template <class T>
std::vector<T> fmaResults(T factor, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  emulated::launch(1, static_cast<unsigned>(x.size()),
                   [&] { fmaKernel<T>(kSteps, factor, x.data(), y.data()); });
  return y;
}

// Of eight chains that take kSteps, kSteps + 1, ... steps from 0, in long double.
double endOfChains(double x) {
  long double sum = 0;
  for (int chain = 0; chain < kChains; ++chain) {
    long double value = 0;
    for (int step = 0; step < kSteps + chain; ++step) {
      value = 0.75L * value + x;
    }
    sum += value;
  }
  return static_cast<double>(sum);
}

template <class T>
void checkFma(double tolerance) {
  const std::vector<T> x{-1, T(-0.25), 0, T(0.5), 1};
  const std::vector<T> y = fmaResults<T>(T(0.75), x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(y[i], endOfChains(x[i]), tolerance);
  }
}

TEST_P(ComputeEmulation, Fma) {
  checkFma<float>(1e-5);
  checkFma<double>(1e-14);
}

// A chain ends near 4: a rounding is at most 2^-9 in FP16 (10 digits) and 2^-6 in BF16 (7), four of them
// last.
TEST_P(ComputeEmulation, FmaOfPairs) {
  const auto halves = fmaResults<__half2>({0.75f, 0.75f}, {{1.0f, -0.25f}, {0.5f, 0.0f}});
  EXPECT_NEAR(__half2float(halves[0].x), endOfChains(1), 0.15);
  EXPECT_NEAR(__half2float(halves[0].y), endOfChains(-0.25), 0.04);
  EXPECT_NEAR(__half2float(halves[1].x), endOfChains(0.5), 0.08);
  EXPECT_EQ(__half2float(halves[1].y), 0);
  const auto brains = fmaResults<__nv_bfloat162>({0.75f, 0.75f}, {{1.0f, -0.25f}});
  EXPECT_NEAR(__bfloat162float(brains[0].x), endOfChains(1), 1);
  EXPECT_NEAR(__bfloat162float(brains[0].y), endOfChains(-0.25), 0.25);
}

TEST_P(ComputeEmulation, FmaOfWholeNumbers) {
  const unsigned x = 0x9e3779b9u;
  unsigned value = 0, rotated = 0, sum = 0, sumOfRotated = 0;
  for (int step = 1; step < kSteps + kChains; ++step) {
    value = value * 1664525u + x;
    rotated = std::rotr(rotated, 7) ^ x;
    sum += step >= kSteps ? value : 0;
    sumOfRotated += step >= kSteps ? rotated : 0;
  }
  EXPECT_EQ(fmaResults<unsigned>(1664525u, {x})[0], sum);
  EXPECT_EQ(fmaResults<Bits>({}, {{x}})[0].word, sumOfRotated);
}

TEST_P(ComputeEmulation, Fp64ByAccident) {
  constexpr int kN = 100;
  const std::vector<float> x = Random(1).vector(kN);
  auto inFloat = withMargin<float>(kN);
  auto inDouble = withMargin<float>(kN);
  emulated::launch(2, 64, [&] { floatLiteralKernel(kN, kSteps, x.data(), inFloat.data()); });
  emulated::launch(2, 64, [&] { doubleLiteralKernel(kN, kSteps, x.data(), inDouble.data()); });
  for (int i = 0; i < kN; ++i) {
    double expected = 0.5 * x[i];
    for (int step = 0; step < kSteps; ++step) {
      expected = 0.984375 * expected + x[i];
    }
    EXPECT_EQ(inDouble[i], static_cast<float>(expected));
    EXPECT_NEAR(inFloat[i], expected, 1e-4);
  }
  EXPECT_TRUE(marginUntouched(inFloat) && marginUntouched(inDouble));
}

template <class Kernel>
void checkMatmul(int n, Kernel kernel, unsigned side, dim3 block) {
  Random random(1);
  const std::vector<float> a = random.wholeNumbers(n * n, 8);
  const std::vector<float> b = random.wholeNumbers(n * n, 8);
  auto c = withMargin<float>(n * n);
  emulated::launch(dim3(blocksOf(n, side), blocksOf(n, side)), block,
                   [&] { kernel(n, a.data(), b.data(), c.data()); });
  EXPECT_TRUE(marginUntouched(c));
  for (int i = 0; i < n * n; ++i) {
    double sum = 0;
    for (int k = 0; k < n; ++k) {
      sum += static_cast<double>(a[i / n * n + k]) * b[k * n + i % n];
    }
    ASSERT_EQ(c[i], sum) << "row " << i / n << ", column " << i % n << " of " << n;
  }
}

TEST_P(ComputeEmulation, Matmul) {
  checkMatmul(37, matmulNaiveKernel, 13, {13, 13});
  checkMatmul(37, matmulTiledKernel<8>, 8, {8, 8});
  checkMatmul(37, matmulTiledKernel<16>, 16, {16, 16});
  checkMatmul(37, matmulTiledKernel<32>, 32, {32, 32});
}

// One tile with a ragged end, and two of them on each side.
TEST_P(ComputeEmulation, MatmulRegisters) {
  checkMatmul(37, matmulRegistersKernel<false>, kTile, kBlockThreads);
  checkMatmul(131, matmulRegistersKernel<false>, kTile, kBlockThreads);
  checkMatmul(132, matmulRegistersKernel<true>, kTile, kBlockThreads);
}

template <class T>
void checkTensor() {
  constexpr int kN = kColumns;
  Random random(1);
  std::vector<float> a = random.wholeNumbers(kN * kN, 16);
  const std::vector<float> b = random.wholeNumbers(kN * kN, 16);
  std::vector<T> ofA(a.begin(), a.end());
  std::vector<T> ofB(b.begin(), b.end());
  auto c = withMargin<Sum<T>>(kN * kN);
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

TEST_P(ComputeEmulation, TensorBf16) { checkTensor<__nv_bfloat16>(); }
TEST_P(ComputeEmulation, TensorTf32) { checkTensor<float>(); }
TEST_P(ComputeEmulation, TensorFp16) { checkTensor<__half>(); }
TEST_P(ComputeEmulation, TensorInt8) { checkTensor<signed char>(); }

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
