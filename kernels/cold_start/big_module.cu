// SPDX-License-Identifier: Apache-2.0
// Lesson: a program of which a few kernels run need not load all of them. CUDA loads each at its first launch
// (lazy, the default since CUDA 11.7 on Linux), or all when the context is made (eager).
#include <dlfcn.h>

#include <cmath>
#include <cstdlib>

#include "cold_start/big_module_kernels.h"
#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/median.h"
#include "common/random.h"

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "big_module",
    "256 kernels in the program, a few of which run: loaded one by one at their first launch, or all at the "
    "start",
    {"bigKernel"},
    {{"lazy", "CUDA_MODULE_LOADING=LAZY: start-up is short, each first launch pays for its kernel", "grid",
      "launch", "fp32"},
     {"eager", "CUDA_MODULE_LOADING=EAGER: start-up pays for all of them, first launches for nothing", "grid",
      "launch", "fp32"}},
    {{"kernels", 8, 1, bigModule::kKernels, "different kernels launched"},
     {"repetitions", 10, 1, 1'000'000, "launches of each, the first one included"},
     {"blocks", 8, 1, 65535, "blocks of each launch"},
     {"block", 128, 1, 1024, "threads in a block"}},
    {"--kernels", "3", "--repetitions", "2"}};

// What the driver says: 1 for lazy, 0 for eager, -1 where it does not say.
int lazyLoading() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  const auto mode =
      driver == nullptr ? nullptr : reinterpret_cast<int (*)(int*)>(dlsym(driver, "cuModuleGetLoadingMode"));
  constexpr int kLazy = 2;
  int answer = 0;
  return mode != nullptr && mode(&answer) == 0 ? (answer == kLazy ? 1 : 0) : -1;
}

void bigModuleProgram(Run& run) {
  const bool lazy = run.arguments.variant() == "lazy";
  const auto kernels = static_cast<int>(run.arguments["kernels"]);
  const std::int64_t repetitions = run.arguments["repetitions"];
  const auto blocks = static_cast<unsigned>(run.arguments["blocks"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::int64_t size = static_cast<std::int64_t>(blocks) * block;
  setenv("CUDA_MODULE_LOADING", lazy ? "LAZY" : "EAGER", 1);  // read by the driver at cuInit

  HostTimer timer;
  openDevice(run);
  const double openNs = timer.ns();
  if (lazyLoading() != -1 && lazyLoading() != (lazy ? 1 : 0)) {
    run.report.notice(
        "the driver did not take CUDA_MODULE_LOADING: something used CUDA before this program did");
  }
  requireDeviceMemory(size * static_cast<std::int64_t>(sizeof(float)), "--blocks");
  const std::vector<float> x = Random(run.arguments["seed"]).vector(size);
  DeviceArray<float> deviceX(size);
  std::vector<double> firstNs;
  std::vector<double> laterNs;
  for (int k = 0; k < kernels; ++k) {
    const int kernel = k * (bigModule::kKernels / kernels);
    deviceX.upload(x, run.report);
    {
      Phase phase(run.nvtx, "first launch");
      timer.lapNs();
      bigModule::launch(kernel, blocks, block, deviceX.get());
      firstNs.push_back(timer.lapNs());
      checkLaunch("bigKernel");
    }
    const std::vector<float> result = deviceX.download(run.report);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const double expected = bigModule::reference(kernel, x[i]);
      if (!(std::abs(result[i] - expected) <= 2e-5)) {  // 256 roundings of values below 1
        throw differs("kernel " + std::to_string(kernel) + " of " + std::to_string(x[i]), result[i],
                      expected);
      }
    }
    Phase phase(run.nvtx, "later launches");
    for (std::int64_t i = 1; i < repetitions; ++i) {
      timer.lapNs();
      bigModule::launch(kernel, blocks, block, deviceX.get());
      laterNs.push_back(timer.lapNs());
    }
    checkLaunch("bigKernel");
    WARPMETER_CHECK(cudaDeviceSynchronize());
    run.report.launches.add({"bigKernel", blocks, block}, repetitions);
  }
  run.nvtx.mark("checked");
  run.report.checked(kernels * size, "double precision");
  run.report.value("openNs", "driver and context", openNs, Unit::nanoseconds);
  run.report.value("firstLaunchNs", "first launch, median", median(firstNs), Unit::nanoseconds);
  if (!laterNs.empty()) {
    run.report.value("laterLaunchNs", "later launch, median", median(laterNs), Unit::nanoseconds);
    run.report.value("firstToLater", "first / later", median(firstNs) / median(laterNs), Unit::ratio);
  }
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, bigModuleProgram); }
