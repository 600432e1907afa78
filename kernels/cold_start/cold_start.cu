// SPDX-License-Identifier: Apache-2.0
// Lesson: the first launch of a kernel pays for loading it, and for compiling it when only PTX is there.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "cold_start_kernels.h"
#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/median.h"
#include "common/random.h"

const char* coldStart::kernelName(int index) {
  constexpr const char* kNames[kKernels] = {"coldKernel0", "coldKernel1", "coldKernel2", "coldKernel3",
                                            "coldKernel4", "coldKernel5", "coldKernel6", "coldKernel7"};
  return kNames[index];
}

double coldStart::reference(int index, double x) {
  double sum = 0;
  for (int term = 1; term <= 64 * (index + 1); ++term) {
    sum = sum * x + 1.0 / ((term + 1.0) * (term + 1.0));
  }
  return 0.5 * sum;
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "cold_start",
    "context, first launches and later launches of eight kernels, from SASS and from PTX",
    {"coldKernel0", "coldKernel1", "coldKernel2", "coldKernel3", "coldKernel4", "coldKernel5", "coldKernel6",
     "coldKernel7"},
    {{"sass", "machine code for this GPU lies in the program", "grid", "launch", "fp32"},
     {"ptx", "the driver compiles PTX before the first launch", "grid", "launch", "fp32"},
     {"warmed-up", "SASS, and a loop before that launches each kernel once", "grid", "launch", "fp32"}},
    {{"kernels", 8, 1, 8, "different kernels launched"},
     {"repetitions", 10, 1, 1'000'000, "launches of each, the first one included"},
     {"jit-cache", 0, 0, 1, "let the driver keep what it compiled for the next run"},
     {"blocks", 8, 1, 65535, "blocks of each launch"},
     {"block", 128, 1, 1024, "threads in a block"}},
    {"--kernels", "2", "--repetitions", "2"}};

void coldStartProgram(Run& run) {
  const auto launchCold = run.arguments.variant() == "ptx" ? coldStart::launchPtx : coldStart::launchSass;
  const auto kernels = static_cast<int>(run.arguments["kernels"]);
  const std::int64_t repetitions = run.arguments["repetitions"];
  const auto blocks = static_cast<unsigned>(run.arguments["blocks"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::int64_t size = static_cast<std::int64_t>(blocks) * block;
  if (run.arguments["jit-cache"] == 0) {
    setenv("CUDA_CACHE_DISABLE", "1", 1);  // read by the driver at cuInit
  }

  HostTimer timer;
  openDevice(run);
  const double openNs = timer.ns();
  const std::vector<float> x = Random(run.arguments["seed"]).vector(size);
  DeviceArray<float> deviceX(size);
  if (run.arguments.variant() == "warmed-up") {
    Phase phase(run.nvtx, "warm-up");
    deviceX.upload(x, run.report);
    timer.lapNs();
    for (int kernel = 0; kernel < kernels; ++kernel) {
      launchCold(kernel, blocks, block, deviceX.get());
      run.report.launches.add({coldStart::kernelName(kernel), blocks, block});
    }
    WARPMETER_CHECK(cudaDeviceSynchronize());
    run.report.value("warmUpNs", "warm-up loop", timer.ns(), Unit::nanoseconds);
  }
  double firstTotalNs = 0;
  double firstMaxNs = 0;
  std::vector<double> laterNs;
  for (int kernel = 0; kernel < kernels; ++kernel) {
    const char* name = coldStart::kernelName(kernel);
    deviceX.upload(x, run.report);
    {
      Phase phase(run.nvtx, "first launch");
      timer.lapNs();
      launchCold(kernel, blocks, block, deviceX.get());
      const double firstNs = timer.lapNs();
      checkLaunch(name);
      firstTotalNs += firstNs;
      firstMaxNs = std::max(firstMaxNs, firstNs);
    }
    const std::vector<float> result = deviceX.download(run.report);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const double expected = coldStart::reference(kernel, x[i]);
      if (!(std::abs(result[i] - expected) <= 2e-5)) {  // up to 512 roundings of values below 1
        throw Failure{kExitFailed, std::string(name) + " gives " + std::to_string(result[i]) + " for " +
                                       std::to_string(x[i]) + ", not " + std::to_string(expected)};
      }
    }
    Phase phase(run.nvtx, "later launches");
    for (std::int64_t i = 1; i < repetitions; ++i) {
      timer.lapNs();
      launchCold(kernel, blocks, block, deviceX.get());
      laterNs.push_back(timer.lapNs());
    }
    checkLaunch(name);
    WARPMETER_CHECK(cudaDeviceSynchronize());
    run.report.launches.add({name, blocks, block}, repetitions);
  }
  run.nvtx.mark("checked");
  run.report.checked(kernels * size, "double precision");
  run.report.value("openNs", "driver and context", openNs, Unit::nanoseconds);
  run.report.value("firstLaunchTotalNs", "all first launches", firstTotalNs, Unit::nanoseconds);
  run.report.value("firstLaunchMaxNs", "slowest first launch", firstMaxNs, Unit::nanoseconds);
  if (!laterNs.empty()) {
    const double laterLaunchNs = median(std::move(laterNs));
    run.report.value("laterLaunchNs", "later launch, median", laterLaunchNs, Unit::nanoseconds);
    run.report.value("firstToLater", "first / later, mean", firstTotalNs / kernels / laterLaunchNs,
                     Unit::ratio);
  }
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, coldStartProgram); }
