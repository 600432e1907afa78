// SPDX-License-Identifier: Apache-2.0
// Lesson: reading a tile once into shared memory and using it many times takes the load off L1 and L2.
#include "common/matrix_check.h"
#include "common/measure.h"
#include "common/random.h"

// C = A B, all n x n, row by row. Every thread reads a row of A and a column of B for one element of C.
__global__ void matmulNaiveKernel(int n, const float* a, const float* b, float* c) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (row >= n || column >= n) {
    return;
  }
  float sum = 0;
  for (int k = 0; k < n; ++k) {
    sum += a[static_cast<long long>(row) * n + k] * b[static_cast<long long>(k) * n + column];
  }
  c[static_cast<long long>(row) * n + column] = sum;
}

// The block walks along k in tiles that it loads together; each loaded value is used side times.
template <int side>
__global__ void matmulTiledKernel(int n, const float* a, const float* b, float* c) {
  __shared__ float tileA[side][side];
  __shared__ float tileB[side][side];
  const int x = static_cast<int>(threadIdx.x);
  const int y = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * side + x;
  const int row = static_cast<int>(blockIdx.y) * side + y;
  float sum = 0;
  for (int k = 0; k < n; k += side) {
    tileA[y][x] = row < n && k + x < n ? a[static_cast<long long>(row) * n + k + x] : 0.0f;
    tileB[y][x] = k + y < n && column < n ? b[static_cast<long long>(k + y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < side; ++i) {
      sum += tileA[y][i] * tileB[i][x];
    }
    __syncthreads();
  }
  if (row < n && column < n) {
    c[static_cast<long long>(row) * n + column] = sum;
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "matmul",
    "C = A B with and without tiles in shared memory: the same arithmetic, fewer loads",
    {"matmulNaiveKernel", "matmulTiledKernel"},
    {{"naive", "every operand comes through L1", "warps", "l1"},
     {"tiled", "a block loads tiles into shared memory and shares them", "warps", "l1"}},
    measuredOptions({{"n", 1024, 1, 32768, "rows and columns of each matrix"},
                     {"block", 16, 1, 32, "side of the square block; tiled takes 8, 16 or 32"}},
                    20, 0),
    {"--n", "37"}};

using Kernel = void (*)(int, const float*, const float*, float*);

Kernel chosenKernel(const Arguments& arguments) {
  if (arguments.variant() == "naive") {
    return matmulNaiveKernel;
  }
  switch (arguments["block"]) {
    case 8:
      return matmulTiledKernel<8>;
    case 16:
      return matmulTiledKernel<16>;
    case 32:
      return matmulTiledKernel<32>;
    default:
      throw Failure{kExitUsage, "--block " + std::to_string(arguments["block"]) +
                                    " is not allowed, tiled takes 8, 16 or 32"};
  }
}

void matmul(Run& run) {
  const Kernel kernel = chosenKernel(run.arguments);
  const char* name = run.arguments.variant() == "naive" ? "matmulNaiveKernel" : "matmulTiledKernel";
  const std::int64_t n = run.arguments["n"];
  const auto matrixBytes = n * n * static_cast<std::int64_t>(sizeof(float));
  const auto side = static_cast<unsigned>(run.arguments["block"]);
  requireHostMemory(3 * matrixBytes, "--n " + std::to_string(n));
  const dim3 block(side, side);
  const dim3 grid(blocksFor(n, side), blocksFor(n, side));

  openDevice(run);
  requireDeviceMemory(3 * matrixBytes, "--n " + std::to_string(n));
  requireBlock(kernel, side * side);

  Random random(run.arguments["seed"]);
  const std::vector<float> a = random.vector(n * n);
  const std::vector<float> b = random.vector(n * n);
  DeviceArray<float> deviceA(n * n);
  DeviceArray<float> deviceB(n * n);
  DeviceArray<float> deviceC(n * n);
  const auto launch = [&] {
    kernel<<<grid, block>>>(static_cast<int>(n), deviceA.get(), deviceB.get(), deviceC.get());
    run.report.launches.add({name, grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceA.upload(a, run.report);
    deviceB.upload(b, run.report);
    launch();
    checkLaunch(name);
    // Higham, "Accuracy and Stability of Numerical Algorithms", 3.1: a sum of n products errs by at most
    // about n u times the sum of their magnitudes.
    run.report.checked(checkProduct(n, a, b, Stored::byRows, deviceC.download(run.report), random, 0x1p-24),
                       "double precision");
    run.nvtx.mark("checked");
  }

  const double launchNs = measure(run, name, launch);
  const double size = static_cast<double>(n);
  reportRate(run, "flopPerSec", "arithmetic", 2e9 * size * size * size / launchNs, Unit::flopPerSec,
             deviceCeilings(run).fp32PerSec);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, matmul); }
