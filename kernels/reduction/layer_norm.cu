// SPDX-License-Identifier: Apache-2.0
// Lesson: kernels that hand a matrix to one another through memory pay for it each time. One that keeps the
// row in registers reads it once, and can afford the exact way: mean first, then the variance around it.
#include <cmath>

#include "reduction/row.cuh"
#include "reduction/rows.h"

constexpr float kEpsilon = 1e-5f;

// All kernels: a block for each row of x, blocks of whole warps,
// y = (x - mean) / sqrt(variance + epsilon) gain + shift; mean and variance are those of a row.

__global__ void layerNormMeanKernel(int columns, const float* __restrict__ x, float* __restrict__ mean) {
  __shared__ float partial[32];
  const float* const row = x + static_cast<long long>(blockIdx.x) * columns;
  float mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) {
    mine += row[i];
  }
  mine = ofBlock(mine, Sum{}, partial);
  if (threadIdx.x == 0) {
    mean[blockIdx.x] = mine / static_cast<float>(columns);
  }
}

__global__ void layerNormVarianceKernel(int columns, const float* __restrict__ x,
                                        const float* __restrict__ mean, float* __restrict__ variance) {
  __shared__ float partial[32];
  const float* const row = x + static_cast<long long>(blockIdx.x) * columns;
  const float middle = mean[blockIdx.x];
  float mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) {
    mine += (row[i] - middle) * (row[i] - middle);
  }
  mine = ofBlock(mine, Sum{}, partial);
  if (threadIdx.x == 0) {
    variance[blockIdx.x] = mine / static_cast<float>(columns);
  }
}

__global__ void layerNormScaleKernel(int columns, const float* __restrict__ x, const float* __restrict__ mean,
                                     const float* __restrict__ variance, const float* __restrict__ gain,
                                     const float* __restrict__ shift, float* __restrict__ y) {
  const long long first = static_cast<long long>(blockIdx.x) * columns;
  const float middle = mean[blockIdx.x];
  const float scale = 1.0f / sqrtf(variance[blockIdx.x] + kEpsilon);
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) {
    y[first + i] = (x[first + i] - middle) * scale * gain[i] + shift[i];
  }
}

template <int width>
__global__ void layerNormFusedKernel(int columns, const float* __restrict__ x, const float* __restrict__ gain,
                                     const float* __restrict__ shift, float* __restrict__ y) {
  __shared__ float partialSum[32];
  __shared__ float partialSquares[32];
  const long long first = static_cast<long long>(blockIdx.x) * columns;
  HeldRow<width> row;
  row.load(columns, x + first, 0);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kHeld; ++j) {
    sum += row.pack[j / width].value[j % width];
  }
  const float mean = ofBlock(sum, Sum{}, partialSum) / static_cast<float>(columns);
  float squares = 0;
#pragma unroll
  for (int j = 0; j < kHeld; ++j) {
    float& value = row.pack[j / width].value[j % width];
    value = row.at(j / width) < columns / width ? value - mean : 0;
    squares += value * value;
  }
  const float variance = ofBlock(squares, Sum{}, partialSquares) / static_cast<float>(columns);
  const float scale = 1.0f / sqrtf(variance + kEpsilon);
  // The same for all rows: they come from the L1 cache.
  const auto* const gains = reinterpret_cast<const Pack<width>*>(gain);
  const auto* const shifts = reinterpret_cast<const Pack<width>*>(shift);
#pragma unroll
  for (int j = 0; j < row.kPacks; ++j) {
    if (row.at(j) < columns / width) {
      const Pack<width> ofGain = gains[row.at(j)];
      const Pack<width> ofShift = shifts[row.at(j)];
#pragma unroll
      for (int k = 0; k < width; ++k) {
        row.pack[j].value[k] = row.pack[j].value[k] * scale * ofGain.value[k] + ofShift.value[k];
      }
    }
  }
  row.store(columns, y + first);
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "layer_norm",
    "normalizes each row to mean 0 and variance 1: three kernels with the matrix in between, or one",
    {"layerNormFusedKernel", "layerNormMeanKernel", "layerNormVarianceKernel", "layerNormScaleKernel"},
    {{"fused", "reads a row once and keeps it in registers", "registers", "dram", "fp32", "mixed"},
     {"unfused", "a kernel each for mean, variance and results: three reads", "warps", "dram", "fp32",
      "mixed"}},
    rowOptions(),
    {"--rows", "37", "--columns", "1003"}};

// Of x, in double precision.
struct Moments {
  double mean = 0;
  double variance = 0;

  Moments(const float* x, std::int64_t columns) {
    for (std::int64_t i = 0; i < columns; ++i) {
      mean += x[i] / static_cast<double>(columns);
    }
    for (std::int64_t i = 0; i < columns; ++i) {
      variance += (x[i] - mean) * (x[i] - mean) / static_cast<double>(columns);
    }
  }
};

class LayerNorm {
 public:
  LayerNorm(Run& run, std::int64_t rows, std::int64_t columns)
      : run_(run),
        rows_(rows),
        columns_(columns),
        random_(run.arguments["seed"]),
        x_(random_.vector(rows * columns)),
        gain_(random_.vector(columns)),
        shift_(random_.vector(columns)) {}

  void upload() {
    deviceX_.upload(x_, run_.report);
    deviceGain_.upload(gain_, run_.report);
    deviceShift_.upload(shift_, run_.report);
  }

  void launch() const {
    const auto columns = static_cast<int>(columns_);
    const auto grid = static_cast<unsigned>(rows_);
    const auto block = static_cast<unsigned>(run_.arguments["block"]);
    const float *const x = deviceX_.get(), *const gain = deviceGain_.get(), *const shift = deviceShift_.get();
    if (run_.arguments.variant() == "fused") {
      const auto kernel = columns % 4 == 0 ? layerNormFusedKernel<4> : layerNormFusedKernel<1>;
      kernel<<<grid, block>>>(columns, x, gain, shift, deviceY_.get());
      run_.report.launches.add({"layerNormFusedKernel", grid, block});
      return;
    }
    layerNormMeanKernel<<<grid, block>>>(columns, x, mean_.get());
    run_.report.launches.add({"layerNormMeanKernel", grid, block});
    layerNormVarianceKernel<<<grid, block>>>(columns, x, mean_.get(), variance_.get());
    run_.report.launches.add({"layerNormVarianceKernel", grid, block});
    layerNormScaleKernel<<<grid, block>>>(columns, x, mean_.get(), variance_.get(), gain, shift,
                                          deviceY_.get());
    run_.report.launches.add({"layerNormScaleKernel", grid, block});
  }

  void check() {
    const std::vector<float> y = deviceY_.download(run_.report);
    const std::int64_t rows = forSampledRows(rows_, random_, [&](std::int64_t row) { checkRow(row, y); });
    run_.report.checked(rows * columns_, "double precision");
  }

 private:
  void checkRow(std::int64_t row, const std::vector<float>& y) const {
    const Moments moments(&x_[row * columns_], columns_);
    const double scale = 1 / std::sqrt(moments.variance + kEpsilon);
    // Mean and variance are sums of values below 1; the mean's error is scaled with the rest.
    const double rounding = rowRounding(run_);
    for (std::int64_t i = 0; i < columns_; ++i) {
      const double normal = (x_[row * columns_ + i] - moments.mean) * scale;
      const double expected = normal * gain_[i] + shift_[i];
      const double tolerance = rounding * (std::abs(normal) + scale + 1);
      if (!(std::abs(y[row * columns_ + i] - expected) <= tolerance)) {
        throw differs("y[" + std::to_string(row) + "][" + std::to_string(i) + "]", y[row * columns_ + i],
                      expected);
      }
    }
  }

  Run& run_;
  std::int64_t rows_, columns_;
  Random random_;
  std::vector<float> x_, gain_, shift_;
  DeviceArray<float> deviceX_{rows_ * columns_}, deviceY_{rows_ * columns_};
  DeviceArray<float> deviceGain_{columns_}, deviceShift_{columns_}, mean_{rows_}, variance_{rows_};
};

void layerNorm(Run& run) {
  const std::int64_t rows = run.arguments["rows"];
  const std::int64_t columns = run.arguments["columns"];
  const std::int64_t block = run.arguments["block"];
  const bool fused = run.arguments.variant() == "fused";
  const std::string option = "--rows " + std::to_string(rows) + " --columns " + std::to_string(columns);
  const std::int64_t bytes = rows * columns * static_cast<std::int64_t>(sizeof(float));
  requireRows(run, fused);
  requireHostMemory(2 * bytes, option);

  openDevice(run);
  requireDeviceMemory(2 * (bytes + (rows + columns) * static_cast<std::int64_t>(sizeof(float))), option);
  requireBlock(layerNormFusedKernel<4>, block);
  requireBlock(layerNormFusedKernel<1>, block);
  requireBlock(layerNormScaleKernel, block);
  LayerNorm work(run, rows, columns);
  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    work.upload();
    work.launch();
    checkLaunch("layer norm");
    work.check();
    run.nvtx.mark("checked");
  }
  const double launchNs = measure(run, "layer norm", [&] { work.launch(); });
  reportRows(run, static_cast<double>(bytes), fused ? 1 : 3, launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, layerNorm); }
