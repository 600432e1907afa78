// SPDX-License-Identifier: Apache-2.0
// Lesson: blocks run in waves, as many at once as fit the GPU. One block beyond a whole wave runs alone, for
// as long as all others together took, while the other SMs are empty. Smaller blocks make that end shorter.
#include "common/measure.h"
#include "common/random.h"

constexpr int kLarge = 1024;
constexpr int kSmall = 128;
// Knob: each chain is a register. With 57 to 64 registers an SM takes one block of 1024 threads or eight of
// 128.
constexpr int kChains = 52;

// Each thread: kChains chains of multiply-adds, steps long, and their sum.
template <int threads>
__global__ void __launch_bounds__(threads, 1024 / threads)
    chainsKernel(int steps, float factor, const float* __restrict__ x, float* __restrict__ y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float mine = x[i];
  float value[kChains];
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) {
    value[chain] = static_cast<float>(chain) / 64;
  }
#pragma unroll 1
  for (int step = 0; step < steps; ++step) {
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) {
      value[chain] = factor * value[chain] + mine;
    }
  }
  float sum = 0;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) {
    sum += value[chain];
  }
  y[i] = sum;
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "tail",
    "blocks of equal work: one more than whole waves, whole waves, the same work in smaller blocks",
    {"chainsKernel"},
    {{"over", "--waves blocks of 1024 threads for each SM and --extra more: the last wave is nearly empty",
      "registers", "latency", "fp32"},
     {"exact", "without the extra blocks", "registers", "fp32", "fp32"},
     {"split", "the work of over in blocks of 128 threads", "registers", "fp32", "fp32"}},
    measuredOptions({{"waves", 1, 1, 100, "blocks of 1024 threads for each SM"},
                     {"extra", 1, 1, 100, "further blocks of over"},
                     {"steps", 1500, 1, 1'000'000, "multiply-adds in a chain"}},
                    10, 1),
    {"--steps", "37"}};

constexpr float kFactor = 0.75f;

// Of up to 256 threads. No value gets larger than 4: every step may be off by 4 / 2^24 and forgets a quarter
// of the error before, and each addition of the sum by kChains times as much.
void checkSums(Run& run, const std::vector<float>& x, const std::vector<float>& y, std::int64_t steps,
               Random& random) {
  constexpr int kSamples = 256;
  constexpr double kTolerance = 0x1p-24 * kChains * (4 * 4 + 4 * kChains);
  for (int sample = 0; sample < kSamples; ++sample) {
    const std::size_t i = random.next() % x.size();
    double sum = 0;
    for (int chain = 0; chain < kChains; ++chain) {
      double value = chain / 64.0;
      for (std::int64_t step = 0; step < std::min<std::int64_t>(steps, 400); ++step) {  // then it stays
        value = static_cast<double>(kFactor) * value + x[i];
      }
      sum += value;
    }
    if (!(std::abs(y[i] - sum) <= kTolerance)) {
      throw differs("y[" + std::to_string(i) + "]", y[i], sum);
    }
  }
  run.nvtx.mark("checked");
  run.report.checked(kSamples, "double precision");
}

void tail(Run& run) {
  const std::string& variant = run.arguments.variant();
  const bool split = variant == "split";
  const auto kernel = split ? chainsKernel<kSmall> : chainsKernel<kLarge>;
  const unsigned block = split ? kSmall : kLarge;
  const std::int64_t steps = run.arguments["steps"];

  openDevice(run);
  requireBlock(kernel, block);
  const std::int64_t processors = deviceAttribute(run, cudaDevAttrMultiProcessorCount);
  const std::int64_t large =
      processors * run.arguments["waves"] + (variant == "exact" ? 0 : run.arguments["extra"]);
  const std::int64_t threads = large * kLarge;
  const auto grid = static_cast<unsigned>(threads / block);
  requireDeviceMemory(8 * threads, "--waves " + std::to_string(run.arguments["waves"]));
  Random random(run.arguments["seed"]);
  const std::vector<float> x = random.vector(threads);
  DeviceArray<float> deviceX(threads);
  DeviceArray<float> deviceY(threads);
  const auto launch = [&] {
    kernel<<<grid, block>>>(static_cast<int>(steps), kFactor, deviceX.get(), deviceY.get());
    run.report.launches.add({"chainsKernel", grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    launch();
    checkLaunch("chainsKernel");
    checkSums(run, x, deviceY.download(run.report), steps, random);
  }
  const double launchNs = measure(run, "chainsKernel", launch);
  run.report.value("waves", "waves", grid / static_cast<double>(blocksAtOnce(run, kernel, block)),
                   Unit::ratio);
  reportRate(run, "flopPerSec", "arithmetic",
             2e9 * kChains * static_cast<double>(threads) * static_cast<double>(steps) / launchNs,
             Unit::flopPerSec, deviceCeilings(run).fp32PerSec);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, tail); }
