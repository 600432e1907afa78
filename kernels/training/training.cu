// SPDX-License-Identifier: Apache-2.0
// Lesson: training in mixed precision. The products run on the tensor cores with operands of 16 bits, the
// weights and sums stay in FP32. FP16 cannot hold the small gradients of the loss: they are scaled up before
// they are rounded, and down again where they meet the weights.
#include <cmath>
#include <type_traits>

#include "common/measure.h"
#include "common/random.h"
#include "training/network.cuh"

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "training",
    "steps of a network with two layers: forward, loss, backward, update; in FP32 and in mixed precision",
    {"productTensorKernel", "productFp32Kernel", "castKernel", "lossKernel", "columnSumsKernel",
     "findOverflowKernel", "updateKernel", "endOfStepKernel"},
    {{"bf16", "products of BF16 on the tensor cores, weights and sums in FP32", "registers", "tensor", "bf16",
      ""},
     {"fp16", "products of FP16; gradients are scaled, and a step with an overflow is left out", "registers",
      "tensor", "fp16", ""},
     {"fp16-unscaled", "products of FP16 without that: small gradients become 0", "registers", "tensor",
      "fp16", ""},
     {"fp32", "everything in FP32, no tensor cores", "registers", "fp32", "fp32", ""}},
    measuredOptions({{"batch", 4096, 8, 65536, "samples in a step, a multiple of 8"},
                     {"inputs", 1024, 8, 16384, "values of a sample, a multiple of 8"},
                     {"hidden", 4096, 8, 16384, "units of the hidden layer, a multiple of 8"},
                     {"outputs", 1024, 8, 16384, "results, a multiple of 8"}},
                    20, 1),
    {"--batch", "152", "--inputs", "40", "--hidden", "136", "--outputs", "24"}};

constexpr float kFirstScale = 65536;

// A small network's weights after one step against double precision.
template <class T>
std::int64_t checkStep(Run& run, float scale, bool scaled, Random& random) {
  constexpr Sizes kSmall{152, 40, 136, 24};
  constexpr double kTolerance =
      std::is_same_v<T, float> ? 1e-4 : 5e-3;  // T may round a sum of FP32 the other way
  const std::vector<float> x = random.vector(kSmall.batch * kSmall.inputs);
  const std::vector<float> wanted = wantedOutputs(kSmall, x);
  const Weights before = randomWeights(kSmall, random);
  const Weights expected = stepOnCpu<T>(kSmall, before, x, wanted, scale);
  Network<T> network(run, kSmall, scale, scaled);
  network.start(before, x, wanted);
  network.step();
  checkLaunch("a step of training");
  const Weights after = network.weights();
  return compareStep("first layer", before.first, expected.first, after.first, kTolerance) +
         compareStep("first bias", before.firstBias, expected.firstBias, after.firstBias, kTolerance) +
         compareStep("second layer", before.second, expected.second, after.second, kTolerance) +
         compareStep("second bias", before.secondBias, expected.secondBias, after.secondBias, kTolerance);
}

template <class T>
void train(Run& run, bool scaled) {
  const auto option = [&](const char* name) { return static_cast<int>(run.arguments[name]); };
  const Sizes sizes{option("batch"), option("inputs"), option("hidden"), option("outputs")};
  for (const char* name : {"batch", "inputs", "hidden", "outputs"}) {
    if (option(name) % 8 != 0) {
      throw Failure{kExitUsage, "--" + std::string(name) + " " + std::to_string(option(name)) +
                                    " is not allowed, it must be a multiple of 8"};
    }
  }
  const std::string most =
      "--batch " + std::to_string(sizes.batch) + " --hidden " + std::to_string(sizes.hidden);
  requireHostMemory(Network<T>::bytes(sizes), most);  // more than enough
  openDevice(run);
  if (!std::is_same_v<T, float> && deviceAttribute(run, cudaDevAttrComputeCapabilityMajor) < 8) {
    throw Failure{kExitNoGpu, "this GPU has no tensor cores for BF16: compute capability 8.0 is needed"};
  }
  requireDeviceMemory(Network<T>::bytes(sizes), most);
  const float scale = scaled ? kFirstScale : 1;
  Random random(run.arguments["seed"]);
  const std::vector<float> x = random.vector(static_cast<std::int64_t>(sizes.batch) * sizes.inputs);
  Network<T> network(run, sizes, scale, scaled);
  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    run.report.checked(checkStep<T>(run, scale, scaled, random), "double precision");
    network.start(randomWeights(sizes, random), x, wantedOutputs(sizes, x));
    network.step();
    checkLaunch("a step of training");
    run.nvtx.mark("checked");
  }
  const float firstLoss = network.progress().lastLoss;
  const double stepNs = measure(run, "step", [&] { network.step(); });
  const Progress progress = network.progress();
  run.report.value("firstLoss", "loss of the first step", firstLoss, Unit::ratio);
  run.report.value("lastLoss", "loss of the last step", progress.lastLoss, Unit::ratio);
  run.report.value("gradientScale", "scale of the gradients", progress.scale, Unit::count);
  run.report.value("lostGradientsPct", "gradients rounded to 0", network.lostPct(), Unit::percent);
  run.report.value("skippedSteps", "steps left out", progress.skipped, Unit::count);
  // Without scaling FP16 may learn badly: that is its lesson.
  const bool mustLearn = scaled || !std::is_same_v<T, __half>;
  if (!std::isfinite(progress.lastLoss) || (mustLearn && !(progress.lastLoss < 0.9f * firstLoss))) {
    throw Failure{kExitFailed, "the loss does not fall: from " + std::to_string(firstLoss) + " to " +
                                   std::to_string(progress.lastLoss)};
  }
  // Two products forward, three backward.
  const double multiplyAdds =
      static_cast<double>(sizes.batch) * sizes.hidden * (2.0 * sizes.inputs + 3.0 * sizes.outputs);
  const Ceilings ceilings = deviceCeilings(run);
  reportRate(run, "flopPerSec", "arithmetic", 2e9 * multiplyAdds / stepNs, Unit::flopPerSec,
             std::is_same_v<T, float> ? ceilings.fp32PerSec : ceilings.bf16PerSec);
}

void training(Run& run) {
  const std::string& variant = run.arguments.variant();
  if (variant == "fp32") {
    train<float>(run, false);
  } else if (variant == "bf16") {
    train<__nv_bfloat16>(run, false);
  } else {
    train<__half>(run, variant == "fp16");
  }
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, training); }
