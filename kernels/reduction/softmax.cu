// SPDX-License-Identifier: Apache-2.0
// Lesson: a softmax needs the largest value and the sum of a row before it can write the first result. Who
// goes back to memory for each of them reads three times; who keeps the row reads once.
#include <cmath>

#include "reduction/row.cuh"
#include "reduction/rows.h"

// All kernels: a block for each row of x, blocks of whole warps, y = exp(x - largest) / sum of a row.

__global__ void softmaxLargestKernel(int columns, const float* __restrict__ x, float* __restrict__ largest) {
  __shared__ float partial[32];
  const float* const row = x + static_cast<long long>(blockIdx.x) * columns;
  float mine = Largest::kNothing;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) {
    mine = Largest{}(mine, row[i]);
  }
  mine = ofBlock(mine, Largest{}, partial);
  if (threadIdx.x == 0) {
    largest[blockIdx.x] = mine;
  }
}

__global__ void softmaxSumKernel(int columns, const float* __restrict__ x, const float* __restrict__ largest,
                                 float* __restrict__ sum) {
  __shared__ float partial[32];
  const float* const row = x + static_cast<long long>(blockIdx.x) * columns;
  const float top = largest[blockIdx.x];
  float mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) {
    mine += expf(row[i] - top);
  }
  mine = ofBlock(mine, Sum{}, partial);
  if (threadIdx.x == 0) {
    sum[blockIdx.x] = mine;
  }
}

__global__ void softmaxScaleKernel(int columns, const float* __restrict__ x,
                                   const float* __restrict__ largest, const float* __restrict__ sum,
                                   float* __restrict__ y) {
  const long long first = static_cast<long long>(blockIdx.x) * columns;
  const float top = largest[blockIdx.x];
  const float scale = 1.0f / sum[blockIdx.x];
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) {
    y[first + i] = expf(x[first + i] - top) * scale;
  }
}

// One pass for both: a sum of exponentials is scaled again when a larger value comes (M. Milakov and N.
// Gimelshein, "Online normalizer calculation for softmax", 2018). A second pass, which finds much of the row
// in the caches, writes.
__global__ void softmaxOnlineKernel(int columns, const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float partialTop[32];
  __shared__ float partialSum[32];
  const long long first = static_cast<long long>(blockIdx.x) * columns;
  float top = Largest::kNothing;
  float sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) {
    const float value = x[first + i];
    if (value > top) {
      sum *= expf(top - value);
      top = value;
    }
    sum += expf(value - top);
  }
  const float topOfRow = ofBlock(top, Largest{}, partialTop);
  const float scale = 1.0f / ofBlock(sum * expf(top - topOfRow), Sum{}, partialSum);
  for (int i = static_cast<int>(threadIdx.x); i < columns; i += static_cast<int>(blockDim.x)) {
    y[first + i] = expf(x[first + i] - topOfRow) * scale;
  }
}

// The row is read once and stays in registers.
template <int width>
__global__ void softmaxFusedKernel(int columns, const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float partialTop[32];
  __shared__ float partialSum[32];
  const long long first = static_cast<long long>(blockIdx.x) * columns;
  HeldRow<width> row;
  row.load(columns, x + first, Largest::kNothing);
  float top = Largest::kNothing;
#pragma unroll
  for (int j = 0; j < kHeld; ++j) {
    top = Largest{}(top, row.pack[j / width].value[j % width]);
  }
  top = ofBlock(top, Largest{}, partialTop);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kHeld; ++j) {
    float& value = row.pack[j / width].value[j % width];
    value = expf(value - top);  // 0 beyond the end
    sum += value;
  }
  const float scale = 1.0f / ofBlock(sum, Sum{}, partialSum);
#pragma unroll
  for (int j = 0; j < kHeld; ++j) {
    row.pack[j / width].value[j % width] *= scale;
  }
  row.store(columns, y + first);
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "softmax",
    "the softmax of each row: three kernels that read it again, an online one, and one that keeps it",
    {"softmaxFusedKernel", "softmaxOnlineKernel", "softmaxLargestKernel", "softmaxSumKernel",
     "softmaxScaleKernel"},
    {{"fused", "reads a row once and keeps it in registers", "warps", "dram", "fp32", "mixed"},
     {"online", "largest value and sum in one pass, a second one for the results", "warps", "dram", "fp32",
      "mixed"},
     {"naive", "a kernel each for the largest value, the sum and the results: three reads", "warps", "dram",
      "fp32", "mixed"}},
    rowOptions(),
    {"--rows", "37", "--columns", "1003"}};

struct Matrices {
  Matrices(std::int64_t rows, std::int64_t columns)
      : x(rows * columns), y(rows * columns), largest(rows), sum(rows) {}
  DeviceArray<float> x, y, largest, sum;
};

void launchSoftmax(Run& run, const Matrices& m) {
  const std::string& variant = run.arguments.variant();
  const auto columns = static_cast<int>(run.arguments["columns"]);
  const auto grid = static_cast<unsigned>(run.arguments["rows"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const auto listed = [&](const char* name) { run.report.launches.add({name, grid, block}); };
  if (variant == "fused") {
    const auto kernel = columns % 4 == 0 ? softmaxFusedKernel<4> : softmaxFusedKernel<1>;
    kernel<<<grid, block>>>(columns, m.x.get(), m.y.get());
    listed("softmaxFusedKernel");
  } else if (variant == "online") {
    softmaxOnlineKernel<<<grid, block>>>(columns, m.x.get(), m.y.get());
    listed("softmaxOnlineKernel");
  } else {
    softmaxLargestKernel<<<grid, block>>>(columns, m.x.get(), m.largest.get());
    listed("softmaxLargestKernel");
    softmaxSumKernel<<<grid, block>>>(columns, m.x.get(), m.largest.get(), m.sum.get());
    listed("softmaxSumKernel");
    softmaxScaleKernel<<<grid, block>>>(columns, m.x.get(), m.largest.get(), m.sum.get(), m.y.get());
    listed("softmaxScaleKernel");
  }
}

// tolerance: relative, of a result.
void checkRow(const float* x, const float* y, std::int64_t columns, double tolerance) {
  const double top = *std::max_element(x, x + columns);
  double sum = 0;
  for (std::int64_t i = 0; i < columns; ++i) {
    sum += std::exp(x[i] - top);
  }
  for (std::int64_t i = 0; i < columns; ++i) {
    const double expected = std::exp(x[i] - top) / sum;
    if (!(std::abs(y[i] - expected) <= tolerance * expected)) {
      throw differs("column " + std::to_string(i) + " of a row", y[i], expected);
    }
  }
}

void softmax(Run& run) {
  const std::int64_t rows = run.arguments["rows"];
  const std::int64_t columns = run.arguments["columns"];
  const std::int64_t block = run.arguments["block"];
  const std::string option = "--rows " + std::to_string(rows) + " --columns " + std::to_string(columns);
  const std::int64_t bytes = rows * columns * static_cast<std::int64_t>(sizeof(float));
  requireRows(run, run.arguments.variant() == "fused");
  requireHostMemory(2 * bytes, option);

  openDevice(run);
  requireDeviceMemory(2 * bytes + 2 * rows * static_cast<std::int64_t>(sizeof(float)), option);
  requireBlock(softmaxFusedKernel<4>, block);
  requireBlock(softmaxFusedKernel<1>, block);
  requireBlock(softmaxOnlineKernel, block);
  Random random(run.arguments["seed"]);
  std::vector<float> x = random.vector(rows * columns);
  for (float& value : x) {
    value *= 8;
  }
  Matrices matrices(rows, columns);
  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    matrices.x.upload(x, run.report);
    launchSoftmax(run, matrices);
    checkLaunch("softmax");
    const std::vector<float> y = matrices.y.download(run.report);
    const std::int64_t sampled = forSampledRows(rows, random, [&](std::int64_t row) {
      // Twice the sum's: expf and the division round as well.
      checkRow(&x[row * columns], &y[row * columns], columns, 2 * rowRounding(run));
    });
    run.nvtx.mark("checked");
    run.report.checked(sampled * columns, "double precision");
  }
  const double launchNs = measure(run, "softmax", [&] { launchSoftmax(run, matrices); });
  // Online's second read is not of the memory: the rows of all blocks that run at once fit into the L2 cache.
  reportRows(run, static_cast<double>(bytes), run.arguments.variant() == "naive" ? 3 : 1, launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, softmax); }
