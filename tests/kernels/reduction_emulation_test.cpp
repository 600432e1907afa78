// SPDX-License-Identifier: Apache-2.0
// The device code of kernels/reduction on the CPU.
#include "emulated_gpu.h"
// Made by the build: each program up to its host code.
#include "emulation_helpers.h"
#include "histogram_device.h"
#include "layer_norm_device.h"
#include "reduce_device.h"
#include "scan_device.h"
#include "softmax_device.h"

namespace warpmeter::kernels {
namespace {

class ReductionEmulation : public BothOrders {};
INSTANTIATE_TEST_SUITE_P(Threads, ReductionEmulation, testing::Bool(), orderName);

TEST_P(ReductionEmulation, Reduce) {
  for (const std::int64_t n : {1, 3, 1003, 4096}) {
    const std::vector<float> x = Random(n).wholeNumbers(n, 8);
    double expected = 0;
    for (const float value : x) {
      expected += value;
    }
    for (const unsigned block : {32u, 128u, 1024u}) {
      for (const auto kernel : {reduceAtomicKernel, reduceSharedKernel, reduceShuffleKernel}) {
        const unsigned grid = blocksOf(n, block);
        float sum = 0;
        emulated::launch(kernel == reduceAtomicKernel ? grid : std::min(grid, 3u), block,
                         [&] { kernel(n, x.data(), &sum); });
        EXPECT_EQ(sum, expected) << n << " values, blocks of " << block;
      }
    }
  }
}

std::vector<unsigned> runningSums(const std::vector<unsigned>& x) {
  std::vector<unsigned> sums;
  unsigned sum = 0;
  for (const unsigned value : x) {
    sums.push_back(sum += value);
  }
  return sums;
}

constexpr unsigned kScanBlock = 64;
constexpr std::int64_t kTile = kScanBlock * 4 * kTileVectors;

TEST_P(ReductionEmulation, ScanInOnePass) {
  for (const std::int64_t n : {std::int64_t{1}, std::int64_t{4099}, 2 * kTile, 40 * kTile + 7}) {
    const auto x = Random(n).bits<unsigned>(n);
    const std::vector<unsigned> expected = runningSums(x);
    const unsigned tiles = blocksOf(n, kTile);
    std::vector<unsigned long long> told(tiles);
    unsigned ticket = 0;
    auto sums = withMargin<unsigned>(n);
    emulated::launch(tiles, kScanBlock,
                     [&] { scanOnePassKernel(n, x.data(), sums.data(), told.data(), &ticket); });
    EXPECT_EQ(ticket, tiles);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sums.begin())) << n;
    EXPECT_TRUE(marginUntouched(sums));
  }
}

// The emulation runs one block after the other, so that a predecessor always knows its running total. On a
// GPU many know only their own.
TEST_P(ReductionEmulation, ScanLooksBackOverPredecessorsThatKnowOnlyTheirOwnTotal) {
  for (const long long tile : {1, 31, 32, 33, 64, 65, 100}) {
    for (const long long known : {0LL, 1LL, tile / 2, tile - 1}) {  // the last one that knows all
      std::vector<unsigned long long> told(static_cast<std::size_t>(tile));
      unsigned expected = 0;
      for (long long i = 0; i < tile; ++i) {
        const unsigned own = 3 * static_cast<unsigned>(i) + 1;
        expected += own;
        // A wrong running total where nobody may look.
        told[static_cast<std::size_t>(i)] = i < known    ? kRunningTotal | 0xdeadu
                                            : i == known ? kRunningTotal | expected
                                                         : kOwnTotal | own;
      }
      if (known >= tile) {
        continue;
      }
      std::vector<unsigned> sums(32);
      emulated::launch(1, 32, [&] { sums[threadIdx.x] = lookBack(tile, told.data()); });
      EXPECT_EQ(sums, std::vector<unsigned>(32, expected)) << "tile " << tile << ", known up to " << known;
    }
  }
}

TEST_P(ReductionEmulation, ScanInThreeKernels) {
  for (const std::int64_t n : {std::int64_t{5}, 3 * kTile + 2, 40 * kTile}) {
    const auto x = Random(n).bits<unsigned>(n);
    const std::vector<unsigned> expected = runningSums(x);
    const unsigned tiles = blocksOf(n, kTile);
    auto totals = withMargin<unsigned>(tiles);
    auto sums = withMargin<unsigned>(n);
    emulated::launch(tiles, kScanBlock, [&] { scanTotalsKernel(n, x.data(), totals.data()); });
    emulated::launch(1, kScanBlock, [&] { scanMiddleKernel(tiles, totals.data()); });
    emulated::launch(tiles, kScanBlock, [&] { scanTilesKernel(n, x.data(), totals.data(), sums.data()); });
    EXPECT_TRUE(marginUntouched(totals));
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), sums.begin())) << n;
    EXPECT_TRUE(marginUntouched(sums));
  }
}

TEST_P(ReductionEmulation, ScanOfMoreTotalsThanTheMiddleBlockHoldsAtOnce) {
  constexpr std::int64_t kTotals = 3 * kTile + 5;
  auto totals = withMargin<unsigned>(kTotals);
  const auto x = Random(1).bits<unsigned>(kTotals);
  std::copy(x.begin(), x.end(), totals.begin());
  emulated::launch(1, kScanBlock, [&] { scanMiddleKernel(kTotals, totals.data()); });
  const std::vector<unsigned> expected = runningSums(x);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), totals.begin()));
  EXPECT_TRUE(marginUntouched(totals));
}

TEST_P(ReductionEmulation, Histogram) {
  for (const std::int64_t n : {1, 1003, 70003}) {
    const auto values = Random(n).bits<unsigned char>(n);
    std::vector<unsigned> expected(kBins);
    for (const unsigned char value : values) {
      ++expected[value];
    }
    for (const auto kernel : {histogramGlobalKernel, histogramSharedKernel<OneForTheBlock>,
                              histogramSharedKernel<OneForEachWarp>, histogramSharedKernel<OneForEachLane>}) {
      for (const unsigned block : {32u, 96u, 512u}) {
        auto counts = withMargin<unsigned>(kBins);
        emulated::launch(2, block, [&] { kernel(n, values.data(), counts.data()); });
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), counts.begin()))
            << n << ", blocks of " << block;
        EXPECT_TRUE(marginUntouched(counts));
      }
    }
  }
}

TEST(HistogramCopies, EachLaneHasABankAndEachWarpItsOwnCounters) {
  for (unsigned lane = 0; lane < 32; ++lane) {
    for (unsigned bin = 0; bin < kBins; ++bin) {
      EXPECT_EQ((lane * OneForEachLane::kCopyPitch + bin * OneForEachLane::kBinPitch) % 32, lane);
    }
  }
  static_assert(OneForEachWarp::kCopyPitch * kCopies == OneForEachWarp::kWords);
}

// Rows of a matrix and what double precision makes of them.
struct Rows {
  int rows, columns;
  std::vector<float> x;
  Rows(int r, int c) : rows(r), columns(c), x(Random(c).vector(static_cast<std::int64_t>(r) * c)) {
    for (float& value : x) {
      value *= 8;
    }
  }
  std::vector<double> softmax() const {
    std::vector<double> y(x.begin(), x.end());
    for (std::size_t first = 0; first < y.size(); first += static_cast<std::size_t>(columns)) {
      double sum = 0;
      for (int i = 0; i < columns; ++i) {
        sum += y[first + i] = std::exp(y[first + i]);
      }
      for (int i = 0; i < columns; ++i) {
        y[first + i] /= sum;
      }
    }
    return y;
  }
  std::vector<double> normalized(const std::vector<float>& gain, const std::vector<float>& shift) const {
    std::vector<double> y(x.begin(), x.end());
    for (std::size_t first = 0; first < y.size(); first += static_cast<std::size_t>(columns)) {
      double mean = 0;
      double variance = 0;
      for (int i = 0; i < columns; ++i) {
        mean += y[first + i] / columns;
      }
      for (int i = 0; i < columns; ++i) {
        variance += (y[first + i] - mean) * (y[first + i] - mean) / columns;
      }
      for (int i = 0; i < columns; ++i) {
        y[first + i] = (y[first + i] - mean) / std::sqrt(variance + 1e-5) * gain[i] + shift[i];
      }
    }
    return y;
  }
};

void expectNear(const std::vector<float>& y, const std::vector<double>& expected, double relative,
                double absolute) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(y[i], expected[i], relative * std::abs(expected[i]) + absolute) << i;
  }
  EXPECT_TRUE(marginUntouched(y));
}

// Columns: fewer than threads, a whole row of registers, ragged ones.
constexpr int kColumns[] = {1, 4, 97, 300, 1024};
constexpr unsigned kRowBlock = 64;
constexpr unsigned kRows = 3;

TEST_P(ReductionEmulation, Softmax) {
  for (const int columns : kColumns) {
    const Rows matrix(kRows, columns);
    const std::vector<double> expected = matrix.softmax();
    const auto size = static_cast<std::int64_t>(matrix.x.size());
    const auto check = [&](const auto& launches) {
      auto y = withMargin<float>(size);
      launches(y.data());
      SCOPED_TRACE(columns);
      expectNear(y, expected, 4e-6, 0);
    };
    const auto launch = [&](const auto& kernel) { emulated::launch(kRows, kRowBlock, kernel); };
    const float* const x = matrix.x.data();
    check([&](float* y) { launch([&] { softmaxFusedKernel<1>(columns, x, y); }); });
    if (columns % 4 == 0) {
      check([&](float* y) { launch([&] { softmaxFusedKernel<4>(columns, x, y); }); });
    }
    check([&](float* y) { launch([&] { softmaxOnlineKernel(columns, x, y); }); });
    check([&](float* y) {
      std::vector<float> largest(kRows);
      std::vector<float> sum(kRows);
      launch([&] { softmaxLargestKernel(columns, x, largest.data()); });
      launch([&] { softmaxSumKernel(columns, x, largest.data(), sum.data()); });
      launch([&] { softmaxScaleKernel(columns, x, largest.data(), sum.data(), y); });
    });
  }
}

TEST_P(ReductionEmulation, LayerNorm) {
  for (const int columns : kColumns) {
    const Rows matrix(kRows, columns);
    const std::vector<float> gain = Random(1).vector(columns);
    const std::vector<float> shift = Random(2).vector(columns);
    const std::vector<double> expected = matrix.normalized(gain, shift);
    const auto check = [&](const auto& launches) {
      auto y = withMargin<float>(static_cast<std::int64_t>(matrix.x.size()));
      launches(y.data());
      SCOPED_TRACE(columns);
      expectNear(y, expected, 0, 1e-5);
    };
    const auto launch = [&](const auto& kernel) { emulated::launch(kRows, kRowBlock, kernel); };
    const float* const x = matrix.x.data();
    check([&](float* y) {
      launch([&] { layerNormFusedKernel<1>(columns, x, gain.data(), shift.data(), y); });
    });
    if (columns % 4 == 0) {
      check([&](float* y) {
        launch([&] { layerNormFusedKernel<4>(columns, x, gain.data(), shift.data(), y); });
      });
    }
    check([&](float* y) {
      std::vector<float> mean(kRows);
      std::vector<float> variance(kRows);
      launch([&] { layerNormMeanKernel(columns, x, mean.data()); });
      launch([&] { layerNormVarianceKernel(columns, x, mean.data(), variance.data()); });
      launch([&] {
        layerNormScaleKernel(columns, x, mean.data(), variance.data(), gain.data(), shift.data(), y);
      });
    });
  }
}

}  // namespace
}  // namespace warpmeter::kernels
