// SPDX-License-Identifier: Apache-2.0
// The device code of the sparse kernels on the CPU (emulated_gpu.h) against plain loops: rows that are empty,
// short, longer than a block takes, and ends anywhere in a block.
#include <gtest/gtest.h>

// The emulation gives CUDA's words other meanings, so these come before it.
// clang-format off
#include "common/measure.h"
#include "sparse/cusparse_library.h"
#include "emulated_gpu.h"
// clang-format on

// Made by the build: each program up to its host code. Their constants have the same names.
namespace spmv {
#include "spmv_device.h"
}
namespace spmm {
#include "spmm_device.h"
}
namespace dense_to_csr {
#include "dense_to_csr_device.h"
}

namespace warpmeter::kernels {
namespace {

class SparseEmulation : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { emulated::fallingOrder = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Threads, SparseEmulation, testing::Bool(),
                         [](const auto& falling) { return falling.param ? "falling" : "rising"; });

constexpr float kUntouched = -12345.0f;

unsigned blocks(std::int64_t count, std::int64_t perBlock) {
  return static_cast<unsigned>((count + perBlock - 1) / perBlock);
}

// Whole numbers, so that sums are exact in any order.
Csr exactCsr(const std::vector<int>& lengths, int columns) {
  Random random(columns);
  Csr matrix = randomCsr(lengths, columns, random);
  matrix.values = random.wholeNumbers(matrix.entries(), 8);
  return matrix;
}

// Row by row in double precision; n columns of B and C.
std::vector<float> product(const Csr& a, const std::vector<float>& b, int n) {
  std::vector<float> c;
  for (int row = 0; row < a.rows(); ++row) {
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int i = a.starts[row]; i < a.starts[row + 1]; ++i) {
        sum += static_cast<double>(a.values[i]) * b[static_cast<std::size_t>(a.columnOf[i] * n + column)];
      }
      c.push_back(static_cast<float>(sum));
    }
  }
  return c;
}

// result has room for one element more, which nobody may touch.
void expectEqual(const std::vector<float>& result, std::vector<float> expected, const char* what) {
  expected.push_back(kUntouched);
  ASSERT_EQ(result.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(result[i], expected[i]) << what << ": element " << i << " of " << expected.size() - 1;
  }
}

std::vector<std::vector<int>> rowLengths() {
  std::vector<int> mixed;
  for (int row = 0; row < 300; ++row) {
    mixed.push_back(row % 7 == 3 ? 0 : row % 50 == 9 ? 900 : row % 13);
  }
  Random random(1);
  return {{5},
          std::vector<int>(40, 0),
          std::vector<int>(spmv::kTile, 1),
          {0, 0, 3 * spmv::kTile + 5, 0, 1, 2 * spmv::kTile, 0},
          mixed,
          powerLawLengths(200, 6000, 30, random)};
}

using VectorKernel = void (*)(int, const int*, const int*, const float*, const float*, float*);

TEST_P(SparseEmulation, ProductWithAVectorByRows) {
  for (const std::vector<int>& lengths : rowLengths()) {
    const Csr a = exactCsr(lengths, 6000);
    const std::vector<float> x = Random(2).wholeNumbers(a.columns, 8);
    const auto check = [&](VectorKernel kernel, int lanes) {
      std::vector<float> y(static_cast<std::size_t>(a.rows()) + 1, kUntouched);
      emulated::launch(blocks(std::int64_t{a.rows()} * lanes, spmv::kBlock), spmv::kBlock, [&] {
        kernel(a.rows(), a.starts.data(), a.columnOf.data(), a.values.data(), x.data(), y.data());
      });
      expectEqual(y, product(a, x, 1), "y");
    };
    check(spmv::spmvScalarKernel, 1);
    check(spmv::spmvVectorKernel<2>, 2);
    check(spmv::spmvVectorKernel<4>, 4);
    check(spmv::spmvVectorKernel<32>, 32);
  }
}

TEST_P(SparseEmulation, ProductWithAVectorByEqualShares) {
  for (const std::vector<int>& lengths : rowLengths()) {
    const Csr a = exactCsr(lengths, 6000);
    const std::vector<float> x = Random(2).wholeNumbers(a.columns, 8);
    const auto tiles = static_cast<int>(blocks(a.rows() + a.entries(), spmv::kTile));
    std::vector<int> tileRows(static_cast<std::size_t>(tiles) + 1, -1);
    std::vector<int> carryRows(static_cast<std::size_t>(tiles), -1);
    std::vector<float> carrySums(static_cast<std::size_t>(tiles), kUntouched);
    std::vector<float> y(static_cast<std::size_t>(a.rows()) + 1, kUntouched);
    emulated::launch(blocks(tiles + 1, 64), 64,
                     [&] { spmv::spmvTilesKernel(a.rows(), a.starts.data(), tiles, tileRows.data()); });
    EXPECT_EQ(tileRows.front(), 0);
    EXPECT_EQ(tileRows.back(), a.rows());
    emulated::launch(static_cast<unsigned>(tiles), spmv::kBlock, [&] {
      spmv::spmvMergeKernel(a.rows(), a.starts.data(), a.columnOf.data(), a.values.data(), x.data(),
                            tileRows.data(), y.data(), carryRows.data(), carrySums.data());
    });
    emulated::launch(blocks(tiles, 64), 64,
                     [&] { spmv::spmvCarryKernel(tiles, carryRows.data(), carrySums.data(), y.data()); });
    expectEqual(y, product(a, x, 1), "y");
  }
}

TEST_P(SparseEmulation, ProductWithADenseMatrix) {
  std::vector<int> lengths{0, 1, 31, 32, 33, 64, 70, 4, 5, 3, 0};
  const Csr a = exactCsr(lengths, 90);
  for (const int n : {4, 100, 128, 140}) {
    const std::vector<float> b = Random(n).wholeNumbers(std::int64_t{a.columns} * n, 8);
    const auto check = [&](auto kernel, dim3 grid, const char* what) {
      std::vector<float> c(static_cast<std::size_t>(a.rows() * n) + 1, kUntouched);
      emulated::launch(grid, spmm::kBlock, [&] {
        kernel(a.rows(), n, a.starts.data(), a.columnOf.data(), a.values.data(), b.data(), c.data());
      });
      expectEqual(c, product(a, b, n), what);
    };
    check(spmm::spmmElementKernel, dim3(1, static_cast<unsigned>(n)), "element");
    check(spmm::spmmWarpKernel, dim3(blocks(a.rows(), spmm::kBlock / 32), blocks(n, spmm::kWarpColumns)),
          "warp");
  }
}

TEST_P(SparseEmulation, DenseToCsr) {
  constexpr int kRows = 77;
  for (const int columns : {1, 31, 32, 300, 513}) {
    std::vector<float> dense = Random(columns).wholeNumbers(std::int64_t{kRows} * columns, 1);
    std::fill_n(dense.begin() + 5 * columns, 2 * columns, 0.0f);
    std::vector<int> starts{0};
    std::vector<int> columnOf;
    std::vector<float> values;
    for (int row = 0; row < kRows; ++row) {
      for (int column = 0; column < columns; ++column) {
        if (const float value = dense[static_cast<std::size_t>(row * columns + column)]; value != 0) {
          columnOf.push_back(column);
          values.push_back(value);
        }
      }
      starts.push_back(static_cast<int>(values.size()));
    }
    const auto check = [&](auto count, auto fill, unsigned grid, unsigned block) {
      std::vector<int> counts(kRows, -1);
      std::vector<int> madeStarts(kRows + 1, -1);
      std::vector<int> madeColumns(columnOf.size(), -1);
      std::vector<float> made(values.size() + 1, kUntouched);
      emulated::launch(grid, block, [&] { count(kRows, columns, dense.data(), counts.data()); });
      emulated::launch(1, dense_to_csr::kScanBlock,
                       [&] { dense_to_csr::scanKernel(kRows, counts.data(), madeStarts.data()); });
      ASSERT_EQ(madeStarts, starts) << columns << " columns";
      emulated::launch(grid, block, [&] {
        fill(kRows, columns, dense.data(), starts.data(), madeColumns.data(), made.data());
      });
      EXPECT_EQ(madeColumns, columnOf) << columns << " columns";
      expectEqual(made, values, "values");
    };
    check(dense_to_csr::countThreadKernel, dense_to_csr::fillThreadKernel,
          blocks(kRows, dense_to_csr::kThreadBlock), dense_to_csr::kThreadBlock);
    check(dense_to_csr::countWarpKernel, dense_to_csr::fillWarpKernel,
          blocks(kRows, dense_to_csr::kWarpBlock / 32), dense_to_csr::kWarpBlock);
  }
}

// More rows than the scan has threads.
TEST_P(SparseEmulation, ScanOfManyRows) {
  constexpr int kRows = 2 * dense_to_csr::kScanBlock + 77;
  std::vector<int> counts(kRows);
  std::vector<int> starts(kRows + 1);
  std::vector<int> expected{0};
  for (int row = 0; row < kRows; ++row) {
    counts[static_cast<std::size_t>(row)] = row % 5;
    expected.push_back(expected.back() + row % 5);
  }
  emulated::launch(1, dense_to_csr::kScanBlock,
                   [&] { dense_to_csr::scanKernel(kRows, counts.data(), starts.data()); });
  EXPECT_EQ(starts, expected);
}

TEST(SparseMatrix, RandomOnesHaveRisingColumnsAndTheLengthsAskedFor) {
  Random random(3);
  const std::vector<int> lengths = powerLawLengths(1000, 1000, 16, random);
  const Csr matrix = randomCsr(lengths, 1000, random);
  EXPECT_NEAR(matrix.entries() / 1000.0, 16, 1);
  EXPECT_GT(*std::max_element(lengths.begin(), lengths.end()), 300);
  EXPECT_LT(*std::min_element(lengths.begin(), lengths.end()), 8);
  for (int row = 0; row < matrix.rows(); ++row) {
    ASSERT_EQ(matrix.starts[row + 1] - matrix.starts[row], lengths[row]);
    for (int i = matrix.starts[row]; i < matrix.starts[row + 1]; ++i) {
      ASSERT_LT(matrix.columnOf[i], 1000);
      ASSERT_GE(matrix.columnOf[i], i > matrix.starts[row] ? matrix.columnOf[i - 1] + 1 : 0);
    }
  }
}

TEST(SparseMatrix, RefusesSizesBeforeAnythingIsAllocated) {
  const auto refused = [](std::int64_t rows, std::int64_t perRow) {
    try {
      requireCsrSize(rows, perRow);
    } catch (const Failure& failure) {
      return failure.exitCode == kExitUsage;
    }
    return false;
  };
  EXPECT_TRUE(refused(10, 11));
  EXPECT_TRUE(refused(1 << 27, 16));
  EXPECT_FALSE(refused(1'000'000, 16));
}

}  // namespace
}  // namespace warpmeter::kernels
