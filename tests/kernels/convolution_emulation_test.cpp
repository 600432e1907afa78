// SPDX-License-Identifier: Apache-2.0
// The convolutions on the CPU (emulated_gpu.h), with tiles and filters that do not fill their blocks.
#include "emulated_gpu.h"

// Made by the build: the program up to its host code.
#include "convolution_device.h"
#include "emulation_helpers.h"

namespace warpmeter::kernels {
namespace {

class ConvolutionEmulation : public BothOrders {};
INSTANTIATE_TEST_SUITE_P(Threads, ConvolutionEmulation, testing::Bool(), orderName);

// Three images of 11 x 13 are 12 tiles; 68 filters are two blocks; the second shape has a width of whole
// words and an odd number of tiles.
constexpr Shape kShapes[] = {{3, 8, 68, 11, 13}, {1, 4, 8, 20, 12}, {2, 12, 64, 8, 8}, {5, 4, 4, 1, 1}};

// Filters are [channel][tap][filter], as the programs have them; whole numbers, so that all sums are exact.
struct Case {
  explicit Case(const Shape& of) : shape(of) {
    Random random(1);
    x = random.wholeNumbers(static_cast<std::int64_t>(of.images) * of.channels * of.pixels(), 8);
    filters = random.wholeNumbers(static_cast<std::int64_t>(of.channels) * kTaps * of.filters, 8);
    y = withMargin<float>(static_cast<std::int64_t>(of.images) * of.filters * of.pixels());
  }

  float pixel(int image, int channel, int row, int column) const {
    const bool inside = row >= 0 && row < shape.height && column >= 0 && column < shape.width;
    return inside ? x[static_cast<std::size_t>(
                        ((image * shape.channels + channel) * shape.height + row) * shape.width + column)]
                  : 0.0f;
  }

  void check() const {
    std::size_t index = 0;
    for (int image = 0; image < shape.images; ++image) {
      for (int filter = 0; filter < shape.filters; ++filter) {
        for (int row = 0; row < shape.height; ++row) {
          for (int column = 0; column < shape.width; ++column) {
            float sum = 0;
            for (int channel = 0; channel < shape.channels; ++channel) {
              for (int r = 0; r < 3; ++r) {
                for (int c = 0; c < 3; ++c) {
                  sum +=
                      pixel(image, channel, row + r - 1, column + c - 1) *
                      filters[static_cast<std::size_t>((channel * 9 + r * 3 + c) * shape.filters + filter)];
                }
              }
            }
            ASSERT_EQ(y[index], sum) << "image " << image << ", filter " << filter << ", row " << row
                                     << ", column " << column << " of " << shape.height << " x "
                                     << shape.width;
            ++index;
          }
        }
      }
    }
    EXPECT_TRUE(marginUntouched(y));
  }

  Shape shape;
  std::vector<float> x, filters, y;
};

TEST_P(ConvolutionEmulation, Direct) {
  for (const Shape& shape : kShapes) {
    Case it(shape);
    emulated::launch({blocksOf(shape.pixels(), 64), static_cast<unsigned>(shape.filters),
                      static_cast<unsigned>(shape.images)},
                     64,
                     [&] { convolutionDirectKernel(shape, it.x.data(), it.filters.data(), it.y.data()); });
    it.check();
  }
}

TEST_P(ConvolutionEmulation, Im2col) {
  for (const Shape& shape : kShapes) {
    Case it(shape);
    const auto images = static_cast<unsigned>(shape.images);
    auto columns = withMargin<float>(static_cast<std::int64_t>(it.x.size()) * kTaps);
    emulated::launch({blocksOf(shape.pixels(), 64), static_cast<unsigned>(shape.channels * kTaps), images},
                     64, [&] { im2colKernel(shape, it.x.data(), columns.data()); });
    EXPECT_TRUE(marginUntouched(columns));
    emulated::launch({blocksOf(shape.pixels(), kSide), blocksOf(shape.filters, kSide), images},
                     kMatrixThreads,
                     [&] { columnsProductKernel(shape, columns.data(), it.filters.data(), it.y.data()); });
    it.check();
  }
}

TEST_P(ConvolutionEmulation, Tiled) {
  for (const Shape& shape : kShapes) {
    Case it(shape);
    const std::int64_t tiles = static_cast<std::int64_t>(shape.images) * blocksOf(shape.height, kTile) *
                               blocksOf(shape.width, kTile);
    emulated::launch({blocksOf(tiles, kTiles), blocksOf(shape.filters, kBlockFilters)}, kThreads,
                     [&] { convolutionTiledKernel(shape, it.x.data(), it.filters.data(), it.y.data()); });
    it.check();
  }
}

}  // namespace
}  // namespace warpmeter::kernels
