// SPDX-License-Identifier: Apache-2.0
// Lesson: what the arithmetic units give at most in each precision: many chains of dependent multiply-adds in
// each thread, nothing else.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstring>
#include <type_traits>

#include "common/measure.h"
#include "common/random.h"

constexpr int kChains = 8;  // of each thread; independent of one another

// A word that is rotated and combined: work of the integer units, where multiply-adds do not go.
struct Bits {
  unsigned word;
};

// One step of a chain. On the CPU the 16-bit types step in double, where a product and a sum of them are
// exact: rounded once, as the GPU does it.
__host__ __device__ inline unsigned advance(unsigned value, unsigned factor, unsigned term) {
  return value * factor + term;
}
__host__ __device__ inline float advance(float value, float factor, float term) {
  return std::fma(value, factor, term);
}
__host__ __device__ inline double advance(double value, double factor, double term) {
  return std::fma(value, factor, term);
}
__host__ __device__ inline Bits advance(Bits value, Bits, Bits term) {
  return {(value.word >> 7 | value.word << 25) ^ term.word};
}
__host__ __device__ inline __half2 advance(__half2 value, __half2 factor, __half2 term) {
#ifdef __CUDA_ARCH__
  return __hfma2(value, factor, term);
#else
  const auto step = [](double v, double f, double t) { return __double2half(v * f + t); };
  return {step(__half2float(value.x), __half2float(factor.x), __half2float(term.x)),
          step(__half2float(value.y), __half2float(factor.y), __half2float(term.y))};
#endif
}
__host__ __device__ inline __nv_bfloat162 advance(__nv_bfloat162 value, __nv_bfloat162 factor,
                                                  __nv_bfloat162 term) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __hfma2(value, factor, term);
#else
  const auto step = [](double v, double f, double t) { return __double2bfloat16(v * f + t); };
  return {step(__bfloat162float(value.x), __bfloat162float(factor.x), __bfloat162float(term.x)),
          step(__bfloat162float(value.y), __bfloat162float(factor.y), __bfloat162float(term.y))};
#endif
}

template <class T>
__host__ __device__ T sumOf(T a, T b) {
  if constexpr (std::is_same_v<T, Bits>) {
    return {a.word + b.word};
  } else if constexpr (std::is_arithmetic_v<T>) {
    return a + b;
  } else {
    return __hadd2(a, b);
  }
}

// Each chain goes v -> factor v + x[i], `steps` times from 0 the first one, each other one once more than the
// one before it; y[i] = sum of where they end.
template <class T>
__global__ void fmaKernel(int steps, T factor, const T* __restrict__ x, T* __restrict__ y) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  const T term = x[i];
  T value[kChains];
  value[0] = T{};
#pragma unroll
  for (int chain = 1; chain < kChains; ++chain) {
    value[chain] = advance(value[chain - 1], factor, term);
  }
#pragma unroll 16
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) {
      value[chain] = advance(value[chain], factor, term);
    }
  }
  T sum = value[0];
#pragma unroll
  for (int chain = 1; chain < kChains; ++chain) {
    sum = sumOf(sum, value[chain]);
  }
  y[i] = sum;
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "fma",
    "eight independent chains of multiply-adds in each thread: the rate of the arithmetic units",
    {"fmaKernel"},
    {{"fp32", "single precision", "warps", "fp32", "fp32", ""},
     {"fp64", "double precision: half of that on data-centre GPUs, 1/64 on others", "warps", "fp64", "fp64",
      ""},
     {"fp16", "two FP16 numbers in each register, one instruction for both", "warps", "fp32", "fp16", ""},
     {"bf16", "two BF16 numbers in each register, one instruction for both", "warps", "fp32", "bf16", ""},
     {"int32", "multiply-adds of whole numbers: half of the FP32 units have them", "warps", "", "int32", ""},
     {"logic", "rotate and exclusive-or: the integer units", "warps", "int", "int32", ""}},
    measuredOptions({{"steps", 8192, 1, 1'000'000'000, "multiply-adds of each chain"},
                     {"blocks-per-sm", 8, 1, 1024, "blocks for each SM"},
                     {"block", 256, 1, 1024, "threads in a block"}},
                    20, 1),
    {"--steps", "37", "--blocks-per-sm", "1"}};

// 1 - 1/64, exact in all types: the number of steps shows in the result for some hundred steps.
constexpr double kFactor = 0x3fp-6;

// Numbers from -1 to 1; of a pair the second is the first's negative. Whole numbers from -2^23 to 2^23.
template <class T>
T numberAs(double number) {
  const auto whole = static_cast<unsigned>(static_cast<int>(number * 0x1p23));
  if constexpr (std::is_same_v<T, __half2>) {
    return {__double2half(number), __double2half(-number)};
  } else if constexpr (std::is_same_v<T, __nv_bfloat162>) {
    return {__double2bfloat16(number), __double2bfloat16(-number)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(number);
  } else {
    return T{whole};
  }
}

// All values against the closed form v(s) = x (1 - f^s) / (1 - f). A chain stays below 64. Each step rounds
// once, and what it adds shrinks by the factor: at most 1 / (1 - factor) = 64 roundings last. Then eight
// values are summed up.
template <class T>
void checkNumbers(Run& run, const std::vector<T>& x, const std::vector<T>& y, int steps) {
  constexpr double kRounding = std::is_same_v<T, float> ? 0x1p-24 : 0x1p-53;
  constexpr double kTolerance = kRounding * 64 * kChains * (64 + kChains);
  double sum = 0;  // of the chains, for x = 1
  for (int chain = 0; chain < kChains; ++chain) {
    sum += (1 - std::pow(kFactor, static_cast<double>(steps) + chain)) / (1 - kFactor);
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(std::abs(y[i] - x[i] * sum) <= kTolerance)) {
      throw differs("y[" + std::to_string(i) + "]", y[i], x[i] * sum);
    }
  }
  run.report.checked(static_cast<std::int64_t>(x.size()), "the closed form in double precision");
}

// Some values against the same steps on the CPU, bit by bit: their type leaves too few digits for less.
template <class T>
void checkBits(Run& run, const std::vector<T>& x, const std::vector<T>& y, int steps, T factor) {
  const auto wanted = static_cast<std::size_t>(std::max(1, 4'000'000 / steps));
  const std::size_t stride = std::max<std::size_t>(1, x.size() / wanted);
  std::int64_t checked = 0;
  for (std::size_t i = 0; i < x.size(); i += stride, ++checked) {
    T value{};
    for (int step = 0; step < steps; ++step) {
      value = advance(value, factor, x[i]);
    }
    T expected = value;
    for (int chain = 1; chain < kChains; ++chain) {
      value = advance(value, factor, x[i]);
      expected = sumOf(expected, value);
    }
    if (std::memcmp(&expected, &y[i], sizeof(T)) != 0) {
      unsigned words[2];
      std::memcpy(&words[0], &y[i], sizeof words[0]);
      std::memcpy(&words[1], &expected, sizeof words[1]);
      throw differs("word y[" + std::to_string(i) + "]", words[0], words[1]);
    }
  }
  run.report.checked(checked, "the same steps on the CPU");
}

// numbers: of T, that one instruction works on; ceiling of operations in a second, two for each multiply-add.
// The two of Bits are an instruction each, so its ceiling is half of that.
template <class T>
void fmaRate(Run& run, int numbers, double Ceilings::*ceiling) {
  const auto steps = static_cast<int>(run.arguments["steps"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  openDevice(run);
  if (std::is_same_v<T, __nv_bfloat162> && deviceAttribute(run, cudaDevAttrComputeCapabilityMajor) < 8) {
    run.report.notice("BF16 is of compute capability 8.0 and later, this GPU is older: nothing measured");
    return;
  }
  requireBlock(fmaKernel<T>, block);
  const auto grid = static_cast<unsigned>(run.arguments["blocks-per-sm"] *
                                          deviceAttribute(run, cudaDevAttrMultiProcessorCount));
  const std::int64_t n = static_cast<std::int64_t>(grid) * block;
  requireHostMemory(n * static_cast<std::int64_t>(sizeof(float) + 2 * sizeof(T)), "--blocks-per-sm");
  requireDeviceMemory(2 * n * static_cast<std::int64_t>(sizeof(T)), "--blocks-per-sm");
  const std::vector<float> random = Random(run.arguments["seed"]).vector(n);
  std::vector<T> x;
  for (const float value : random) {
    x.push_back(numberAs<T>(value));
  }
  const T factor = numberAs<T>(kFactor);
  DeviceArray<T> deviceX(n);
  DeviceArray<T> deviceY(n);
  const auto launch = [&] {
    fmaKernel<T><<<grid, block>>>(steps, factor, deviceX.get(), deviceY.get());
    run.report.launches.add({"fmaKernel", grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    launch();
    checkLaunch("fmaKernel");
    const std::vector<T> y = deviceY.download(run.report);
    if constexpr (std::is_floating_point_v<T>) {
      checkNumbers(run, x, y, steps);
    } else {
      checkBits(run, x, y, steps, factor);
    }
    run.nvtx.mark("checked");
  }
  const double launchNs = measure(run, "fmaKernel", launch);
  reportRate(run, "flopPerSec", "arithmetic",
             2e9 * numbers * kChains * static_cast<double>(n) * static_cast<double>(steps) / launchNs,
             Unit::flopPerSec, deviceCeilings(run).*ceiling / (std::is_same_v<T, Bits> ? 2 : 1));
}

void fmaProgram(Run& run) {
  const std::string& variant = run.arguments.variant();
  if (variant == "fp32") {
    fmaRate<float>(run, 1, &Ceilings::fp32PerSec);
  } else if (variant == "fp64") {
    fmaRate<double>(run, 1, &Ceilings::fp64PerSec);
  } else if (variant == "fp16") {
    fmaRate<__half2>(run, 2, &Ceilings::fp16VectorPerSec);
  } else if (variant == "bf16") {
    fmaRate<__nv_bfloat162>(run, 2, &Ceilings::bf16VectorPerSec);
  } else if (variant == "int32") {
    fmaRate<unsigned>(run, 1, &Ceilings::int32PerSec);
  } else {  // two instructions, of which each counts as one
    fmaRate<Bits>(run, 1, &Ceilings::int32PerSec);
  }
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, fmaProgram); }
