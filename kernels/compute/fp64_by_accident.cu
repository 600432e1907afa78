// SPDX-License-Identifier: Apache-2.0
// Lesson: a literal without f is a double, and everything that it touches is computed in FP64: half of the
// rate on data-centre GPUs, 1/64 on others.
#include <cmath>

#include "common/measure.h"
#include "common/random.h"

// A recursive filter on each value. 0.5 is a double, and auto takes that over for the whole loop.
__global__ void doubleLiteralKernel(long long n, int steps, const float* __restrict__ x,
                                    float* __restrict__ y) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    auto value = 0.5 * x[i];
#pragma unroll 16
    for (int step = 0; step < steps; ++step) {
      value = value * 0.984375 + x[i];
    }
    y[i] = static_cast<float>(value);
  }
}

__global__ void floatLiteralKernel(long long n, int steps, const float* __restrict__ x,
                                   float* __restrict__ y) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    auto value = 0.5f * x[i];
#pragma unroll 16
    for (int step = 0; step < steps; ++step) {
      value = value * 0.984375f + x[i];
    }
    y[i] = value;
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "fp64_by_accident",
    "a filter on floats whose literals are doubles, and the same with an f behind them",
    {"doubleLiteralKernel", "floatLiteralKernel"},
    {{"float", "literals with f: all in single precision", "warps", "issue", "fp32", "mixed"},
     {"accident", "literals without f: floats are loaded, doubles computed", "warps", "fp64", "fp64",
      "mixed"}},
    measuredOptions({{"n", 1 << 26, 1, 1LL << 40, "values"},
                     {"steps", 128, 1, 1'000'000, "multiply-adds for each value"},
                     {"block", 256, 1, 1024, "threads in a block"}},
                    20, 1),
    {"--n", "100003", "--steps", "37"}};

void fp64ByAccident(Run& run) {
  const bool accident = run.arguments.variant() == "accident";
  const auto kernel = accident ? doubleLiteralKernel : floatLiteralKernel;
  const char* name = accident ? "doubleLiteralKernel" : "floatLiteralKernel";
  const std::int64_t n = run.arguments["n"];
  const auto steps = static_cast<int>(run.arguments["steps"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::string option = "--n " + std::to_string(n);
  const auto bytes = n * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(2 * bytes, option);
  const unsigned grid = blocksFor(n, block);

  openDevice(run);
  requireDeviceMemory(2 * bytes, option);
  requireBlock(kernel, block);
  const std::vector<float> x = Random(run.arguments["seed"]).vector(n);
  DeviceArray<float> deviceX(n);
  DeviceArray<float> deviceY(n);
  const auto launch = [&] {
    kernel<<<grid, block>>>(n, steps, deviceX.get(), deviceY.get());
    run.report.launches.add({name, grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    launch();
    checkLaunch(name);
    const std::vector<float> y = deviceY.download(run.report);
    // In closed form; 1 - 0.984375 = 1/64. A value stays below 64, and of its roundings at most 64 last.
    const double power = std::pow(0.984375, steps);
    const double tolerance = (accident ? 1 : 65) * 64 * 0x1p-24;
    for (std::int64_t i = 0; i < n; ++i) {
      const double expected = x[i] * (0.5 * power + 64 * (1 - power));
      if (!(std::abs(y[i] - expected) <= tolerance)) {
        throw differs("y[" + std::to_string(i) + "]", y[i], expected);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(n, "the closed form in double precision");
  }
  const double launchNs = measure(run, name, launch);
  const Ceilings ceilings = deviceCeilings(run);
  reportRate(run, "flopPerSec", "arithmetic",
             2e9 * static_cast<double>(n) * static_cast<double>(steps) / launchNs, Unit::flopPerSec,
             accident ? ceilings.fp64PerSec : ceilings.fp32PerSec);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, fp64ByAccident); }
