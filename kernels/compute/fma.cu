// SPDX-License-Identifier: Apache-2.0
// Lesson: what the multiply-add units give at most: many chains of dependent FMAs in each thread, nothing
// else.
#include <cmath>
#include <type_traits>

#include "common/measure.h"
#include "common/random.h"

constexpr int kChains = 8;  // of each thread; independent of one another

// Each chain goes v -> factor v + x[i]; y[i] = sum of where they end.
template <class T>
__global__ void fmaKernel(int steps, T factor, const T* __restrict__ x, T* __restrict__ y) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const T term = x[i];
  T value[kChains];
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) {
    value[chain] = static_cast<T>(chain);
  }
#pragma unroll 16
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) {
      value[chain] = std::fma(value[chain], factor, term);
    }
  }
  T sum = 0;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) {
    sum += value[chain];
  }
  y[i] = sum;
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "fma",
    "eight independent chains of multiply-adds in each thread: the rate of the arithmetic units",
    {"fmaKernel"},
    {{"fp32", "single precision", "warps", "fp32"},
     {"fp64", "double precision: half of that on data-centre GPUs, 1/64 on others", "warps", "fp64"}},
    measuredOptions({{"steps", 8192, 1, 1'000'000'000, "multiply-adds of each chain"},
                     {"blocks-per-sm", 8, 1, 1024, "blocks for each SM"},
                     {"block", 256, 1, 1024, "threads in a block"}},
                    20, 1),
    {"--steps", "37", "--blocks-per-sm", "1"}};

constexpr double kFactor =
    0x3fp-6;  // 1 - 1/64: the number of steps shows in the result for some hundred steps

// All chains in closed form: v(s) = f^s v(0) + x (1 - f^s) / (1 - f).
double reference(double x, std::int64_t steps) {
  const double power = std::pow(kFactor, static_cast<double>(steps));
  return power * (kChains * (kChains - 1) / 2) + kChains * x * (1 - power) / (1 - kFactor);
}

template <class T>
void fmaRate(Run& run) {
  const auto steps = static_cast<int>(run.arguments["steps"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  openDevice(run);
  requireBlock(fmaKernel<T>, block);
  const auto grid = static_cast<unsigned>(run.arguments["blocks-per-sm"] *
                                          deviceAttribute(run, cudaDevAttrMultiProcessorCount));
  const std::int64_t n = static_cast<std::int64_t>(grid) * block;
  requireHostMemory(n * static_cast<std::int64_t>(sizeof(float) + 2 * sizeof(T)), "--blocks-per-sm");
  requireDeviceMemory(2 * n * static_cast<std::int64_t>(sizeof(T)), "--blocks-per-sm");
  const std::vector<float> random = Random(run.arguments["seed"]).vector(n);
  const std::vector<T> x(random.begin(), random.end());
  DeviceArray<T> deviceX(n);
  DeviceArray<T> deviceY(n);
  const auto launch = [&] {
    fmaKernel<T><<<grid, block>>>(steps, static_cast<T>(kFactor), deviceX.get(), deviceY.get());
    run.report.launches.add({"fmaKernel", grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    launch();
    checkLaunch("fmaKernel");
    const std::vector<T> result = deviceY.download(run.report);
    // A chain stays below 64 + 7. Each step rounds once, and what it adds shrinks by the factor: at most
    // 1 / (1 - factor) = 64 roundings last. Then eight values are summed up.
    constexpr double kRounding = std::is_same_v<T, float> ? 0x1p-24 : 0x1p-53;
    constexpr double kTolerance = kRounding * 71 * kChains * (64 + kChains);
    for (std::int64_t i = 0; i < n; ++i) {
      const double expected = reference(x[i], steps);
      if (!(std::abs(result[i] - expected) <= kTolerance)) {
        throw differs("y[" + std::to_string(i) + "]", result[i], expected);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(n, "the closed form in double precision");
  }
  const double launchNs = measure(run, "fmaKernel", launch);
  const Ceilings ceilings = deviceCeilings(run);
  reportRate(run, "flopPerSec", "arithmetic",
             2e9 * kChains * static_cast<double>(n) * static_cast<double>(steps) / launchNs, Unit::flopPerSec,
             std::is_same_v<T, float> ? ceilings.fp32PerSec : ceilings.fp64PerSec);
}

void fmaProgram(Run& run) {
  if (run.arguments.variant() == "fp32") {
    fmaRate<float>(run);
  } else {
    fmaRate<double>(run);
  }
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, fmaProgram); }
