// SPDX-License-Identifier: Apache-2.0
// Lesson: a convolution uses every input value for each filter and each of its places. Who reads it from
// memory each time is held up by loads; copying it out into a matrix (im2col) multiplies the traffic by the
// filter's size; patches in shared memory and sums in registers do neither.
#include <cuda_pipeline.h>

#include <algorithm>
#include <cmath>

#include "common/measure.h"
#include "common/random.h"
#include "convolution/convolution_tiled.cuh"
#include "convolution/cudnn.h"

// A thread for each element of y; blockIdx.y is the filter, blockIdx.z the image.
__global__ void convolutionDirectKernel(Shape shape, const float* __restrict__ x,
                                        const float* __restrict__ filters, float* __restrict__ y) {
  const int pixel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int filter = static_cast<int>(blockIdx.y);
  const int image = static_cast<int>(blockIdx.z);
  if (pixel >= shape.pixels()) {
    return;
  }
  const int row = pixel / shape.width;
  const int column = pixel % shape.width;
  float sum = 0;
  for (int channel = 0; channel < shape.channels; ++channel) {
    const float* const plane = x + (image * shape.channels + channel) * shape.pixels();
    for (int tap = 0; tap < kTaps; ++tap) {
      const int r = row + tap / 3 - 1;
      const int c = column + tap % 3 - 1;
      if (r >= 0 && r < shape.height && c >= 0 && c < shape.width) {
        sum += plane[r * shape.width + c] * filters[(channel * kTaps + tap) * shape.filters + filter];
      }
    }
  }
  y[(image * shape.filters + filter) * shape.pixels() + pixel] = sum;
}

// columns is [image][channel][tap][pixel]: what a tap sees from each pixel. blockIdx.y is the channel and
// tap, blockIdx.z the image.
__global__ void im2colKernel(Shape shape, const float* __restrict__ x, float* __restrict__ columns) {
  const int pixel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int channel = static_cast<int>(blockIdx.y) / kTaps;
  const int tap = static_cast<int>(blockIdx.y) % kTaps;
  const int image = static_cast<int>(blockIdx.z);
  if (pixel >= shape.pixels()) {
    return;
  }
  const int r = pixel / shape.width + tap / 3 - 1;
  const int c = pixel % shape.width + tap % 3 - 1;
  const bool inside = r >= 0 && r < shape.height && c >= 0 && c < shape.width;
  const long long place = static_cast<long long>(image) * shape.channels * kTaps + blockIdx.y;
  columns[place * shape.pixels() + pixel] =
      inside ? x[(image * shape.channels + channel) * shape.pixels() + r * shape.width + c] : 0.0f;
}

constexpr int kSide = 64;   // of what a block of the matrix product computes, 4 x 4 in each thread
constexpr int kDepth = 16;  // of its tiles
constexpr int kMatrixThreads = 256;

// y of an image = (filters turned) (columns of that image).
__global__ void __launch_bounds__(kMatrixThreads)
    columnsProductKernel(Shape shape, const float* __restrict__ columns, const float* __restrict__ filters,
                         float* __restrict__ y) {
  alignas(16) __shared__ float tileF[kDepth][kSide];
  alignas(16) __shared__ float tileC[kDepth][kSide];
  const int thread = static_cast<int>(threadIdx.x);
  const int firstPixel = static_cast<int>(blockIdx.x) * kSide;
  const int firstFilter = static_cast<int>(blockIdx.y) * kSide;
  const int depth = shape.channels * kTaps;
  const float* const ofImage = columns + static_cast<long long>(blockIdx.z) * depth * shape.pixels();
  float sums[4][4] = {};
  for (int k = 0; k < depth; k += kDepth) {
#pragma unroll
    for (int i = 0; i < kSide * kDepth / kMatrixThreads; ++i) {
      const int d = i * (kMatrixThreads / kSide) + thread / kSide;
      const int filter = firstFilter + thread % kSide;
      const int pixel = firstPixel + thread % kSide;
      const bool deep = k + d < depth;
      tileF[d][thread % kSide] =
          deep && filter < shape.filters ? filters[(k + d) * shape.filters + filter] : 0.0f;
      tileC[d][thread % kSide] = deep && pixel < shape.pixels()
                                     ? ofImage[static_cast<long long>(k + d) * shape.pixels() + pixel]
                                     : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < kDepth; ++d) {
      const float4 f = *reinterpret_cast<const float4*>(&tileF[d][thread / 16 * 4]);
      const float4 c = *reinterpret_cast<const float4*>(&tileC[d][thread % 16 * 4]);
      const float left[4] = {f.x, f.y, f.z, f.w};
      const float right[4] = {c.x, c.y, c.z, c.w};
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        sums[i / 4][i % 4] += left[i / 4] * right[i % 4];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    const int filter = firstFilter + thread / 16 * 4 + i / 4;
    const int pixel = firstPixel + thread % 16 * 4 + i % 4;
    if (filter < shape.filters && pixel < shape.pixels()) {
      y[(static_cast<int>(blockIdx.z) * shape.filters + filter) * shape.pixels() + pixel] =
          sums[i / 4][i % 4];
    }
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "convolution",
    "3 x 3 filters over images in FP32: values from memory each time, copied out into a matrix, or patches "
    "in "
    "shared memory",
    {"convolutionTiledKernel", "convolutionDirectKernel", "im2colKernel", "columnsProductKernel"},
    {{"tiled", "patches in shared memory; 8 filters x 8 pixels of sums in each thread", "registers", "issue",
      "fp32", "mixed"},
     {"direct", "a thread for each result: two loads for each multiply-add", "registers", "issue", "fp32",
      "read"},
     {"im2col", "every value is copied to nine places, then a matrix product reads them", "registers", "l1",
      "fp32", "mixed"},
     {"cudnn", "the fastest of cuDNN's algorithms beside it, without TF32", "", "", "fp32", ""}},
    measuredOptions({{"images", 32, 1, 4096, "images"},
                     {"channels", 64, 4, 1024, "channels of an image, a multiple of 4"},
                     {"filters", 64, 4, 1024, "filters, a multiple of 4"},
                     {"height", 56, 1, 1024, "rows of an image"},
                     {"width", 56, 1, 1024, "columns of an image"}},
                    20, 1),
    {"--images", "3", "--channels", "8", "--filters", "68", "--height", "11", "--width", "13"}};

constexpr unsigned kDirectThreads = 256;

// Some elements of y against double precision, all of a small one.
std::int64_t checkConvolution(const Shape& shape, const std::vector<float>& x,
                              const std::vector<float>& filters, const std::vector<float>& y,
                              Random& random) {
  const auto size = static_cast<std::int64_t>(y.size());
  const std::int64_t samples = std::min<std::int64_t>(size, 4096);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const auto index = static_cast<int>(
        size <= samples ? sample
                        : static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(size)));
    const int filter = index / shape.pixels() % shape.filters;
    const int image = index / shape.pixels() / shape.filters;
    double sum = 0, magnitude = 0;
    for (int i = 0; i < shape.channels * kTaps; ++i) {
      const int row = index % shape.pixels() / shape.width + i % kTaps / 3 - 1;
      const int column = index % shape.width + i % 3 - 1;
      if (row >= 0 && row < shape.height && column >= 0 && column < shape.width) {
        const int plane = image * shape.channels + i / kTaps;
        const double product = static_cast<double>(x[plane * shape.pixels() + row * shape.width + column]) *
                               filters[i * shape.filters + filter];
        sum += product;
        magnitude += std::abs(product);
      }
    }
    // As in matrix_check.h: about n u times the sum of the magnitudes.
    if (!(std::abs(y[index] - sum) <= 0x1p-24 * (shape.channels * kTaps + 1) * magnitude)) {
      throw differs("y[" + std::to_string(index) + "]", y[index], sum);
    }
  }
  return samples;
}

// [channel][tap][filter] -> [filter][channel][tap], as cuDNN has them.
std::vector<float> filtersFirst(const Shape& shape, const std::vector<float>& filters) {
  std::vector<float> turned;
  for (int filter = 0; filter < shape.filters; ++filter) {
    for (int i = 0; i < shape.channels * kTaps; ++i) {
      turned.push_back(filters[i * shape.filters + filter]);
    }
  }
  return turned;
}

void convolution(Run& run) {
  const std::string& variant = run.arguments.variant();
  const auto option = [&](const char* name) { return static_cast<int>(run.arguments[name]); };
  const Shape shape{option("images"), option("channels"), option("filters"), option("height"),
                    option("width")};
  for (const char* name : {"channels", "filters"}) {
    if (option(name) % 4 != 0) {
      throw Failure{kExitUsage, "--" + std::string(name) + " " + std::to_string(option(name)) +
                                    " is not allowed, it must be a multiple of 4"};
    }
  }
  const std::int64_t imagePixels = static_cast<std::int64_t>(shape.images) * shape.pixels();
  const std::int64_t xSize = imagePixels * shape.channels;
  const std::int64_t ySize = imagePixels * shape.filters;
  const std::int64_t filterSize = static_cast<std::int64_t>(shape.channels) * kTaps * shape.filters;
  if (std::max(xSize, ySize) > INT32_MAX) {
    throw Failure{kExitUsage, "--images " + std::to_string(shape.images) + " is too large: images of " +
                                  std::to_string(std::max(xSize, ySize)) +
                                  " values, at most 2147483647 are allowed"};
  }
  const bool im2col = variant == "im2col";
  const std::int64_t columnSize = im2col ? xSize * kTaps : 1;
  requireHostMemory(4 * (xSize + ySize + 2 * filterSize), "--images " + std::to_string(shape.images));

  openDevice(run);
  requireDeviceMemory(4 * (xSize + ySize + filterSize + columnSize),
                      "--images " + std::to_string(shape.images));
  Cudnn cudnn;
  if (variant == "cudnn" &&
      !cudnn.start(run, shape.images, shape.channels, shape.filters, shape.height, shape.width)) {
    return;
  }
  Random random(run.arguments["seed"]);
  const std::vector<float> x = random.vector(xSize);
  const std::vector<float> filters = random.vector(filterSize);
  DeviceArray<float> deviceX(xSize);
  DeviceArray<float> deviceFilters(filterSize);
  DeviceArray<float> deviceY(ySize);
  DeviceArray<float> columns(columnSize);
  const auto images = static_cast<unsigned>(shape.images);
  const dim3 direct(blocksFor(shape.pixels(), kDirectThreads), static_cast<unsigned>(shape.filters), images);
  const dim3 copied(direct.x, static_cast<unsigned>(shape.channels * kTaps), images);
  const dim3 product(blocksFor(shape.pixels(), kSide), blocksFor(shape.filters, kSide), images);
  const std::int64_t tiles =
      static_cast<std::int64_t>(images) * blocksFor(shape.height, kTile) * blocksFor(shape.width, kTile);
  const dim3 tiled(blocksFor(tiles, kTiles), blocksFor(shape.filters, kBlockFilters));
  const char* name = im2col                ? "columnsProductKernel"
                     : variant == "tiled"  ? "convolutionTiledKernel"
                     : variant == "direct" ? "convolutionDirectKernel"
                                           : "cudnn";
  const auto launch = [&] {
    if (variant == "cudnn") {
      cudnn.convolve(deviceX.get(), deviceFilters.get(), deviceY.get());
    } else if (im2col) {
      im2colKernel<<<copied, kDirectThreads>>>(shape, deviceX.get(), columns.get());
      run.report.launches.add({"im2colKernel", copied, kDirectThreads});
      columnsProductKernel<<<product, kMatrixThreads>>>(shape, columns.get(), deviceFilters.get(),
                                                        deviceY.get());
      run.report.launches.add({name, product, kMatrixThreads});
    } else if (variant == "direct") {
      convolutionDirectKernel<<<direct, kDirectThreads>>>(shape, deviceX.get(), deviceFilters.get(),
                                                          deviceY.get());
      run.report.launches.add({name, direct, kDirectThreads});
    } else {
      convolutionTiledKernel<<<tiled, kThreads>>>(shape, deviceX.get(), deviceFilters.get(), deviceY.get());
      run.report.launches.add({name, tiled, kThreads});
    }
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    deviceFilters.upload(variant == "cudnn" ? filtersFirst(shape, filters) : filters, run.report);
    if (variant == "cudnn") {
      std::size_t available = 0, total = 0;
      WARPMETER_CHECK(cudaMemGetInfo(&available, &total));
      cudnn.choose(run, deviceX.get(), deviceFilters.get(), deviceY.get(), available / 4);
    }
    launch();
    checkLaunch(name);
    run.report.checked(checkConvolution(shape, x, filters, deviceY.download(run.report), random),
                       "double precision");
    run.nvtx.mark("checked");
  }
  const double launchNs = measure(run, name, launch);
  reportRate(run, "flopPerSec", "arithmetic",
             2e9 * static_cast<double>(ySize) * kTaps * static_cast<double>(shape.channels) / launchNs,
             Unit::flopPerSec, deviceCeilings(run).fp32PerSec);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, convolution); }
