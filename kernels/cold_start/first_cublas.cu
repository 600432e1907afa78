// SPDX-License-Identifier: Apache-2.0
// Lesson: the first call into a large library pays for opening it, for its handle and for loading its
// kernels; a benchmark that begins there measures that.
#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/matrix_check.h"
#include "common/median.h"
#include "common/random.h"
#include "compute/cublas.h"

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "first_cublas",
    "cuBLAS from opening the library to its second product of the same matrices, with and without warm-up",
    {},
    // No bound: cuBLAS chooses the kernel.
    {{"cold", "the first call is measured", "", "", "fp32"},
     {"warmed-up", "a loop of three calls before that", "", "", "fp32"}},
    {{"n", 512, 1, 8192, "rows and columns"}, {"repetitions", 20, 2, 1'000'000, "measured products"}},
    {"--n", "70", "--repetitions", "3"}};

constexpr int kWarmUpCalls = 3;

void firstCublas(Run& run) {
  const std::int64_t n = run.arguments["n"];
  const std::int64_t repetitions = run.arguments["repetitions"];
  const std::int64_t bytes = 3 * n * n * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(bytes, "--n " + std::to_string(n));
  HostTimer timer;
  openDevice(run);
  run.report.value("openNs", "driver and context", timer.ns(), Unit::nanoseconds);
  requireDeviceMemory(bytes, "--n " + std::to_string(n));
  Random random(run.arguments["seed"]);
  const std::vector<float> a = random.vector(n * n);
  const std::vector<float> b = random.vector(n * n);
  DeviceArray<float> deviceA(n * n);
  DeviceArray<float> deviceB(n * n);
  DeviceArray<float> deviceC(n * n);
  deviceA.upload(a, run.report);
  deviceB.upload(b, run.report);

  timer.lapNs();
  Cublas cublas;
  if (!cublas.open(run)) {
    return;
  }
  run.report.value("loadNs", "opening the library", timer.lapNs(), Unit::nanoseconds);
  cublas.start(run);
  WARPMETER_CHECK(cudaDeviceSynchronize());
  run.report.value("createNs", "cublasCreate", timer.lapNs(), Unit::nanoseconds);
  // Host time, with the wait: what a caller sees.
  const auto callNs = [&] {
    timer.lapNs();
    cublas.multiply(static_cast<int>(n), deviceA.get(), deviceB.get(), false, deviceC.get(), CUDA_R_32F);
    WARPMETER_CHECK(cudaDeviceSynchronize());
    return timer.lapNs();
  };
  if (run.arguments.variant() == "warmed-up") {
    Phase phase(run.nvtx, "warm-up");
    double warmUpNs = 0;
    for (int i = 0; i < kWarmUpCalls; ++i) {
      warmUpNs += callNs();
    }
    run.report.value("warmUpNs", "warm-up loop", warmUpNs, Unit::nanoseconds);
  }
  double firstNs = 0;
  {
    Phase phase(run.nvtx, "first call");
    firstNs = callNs();
  }
  std::vector<double> laterNs;
  {
    Phase phase(run.nvtx, "later calls");
    for (std::int64_t i = 1; i < repetitions; ++i) {
      laterNs.push_back(callNs());
    }
  }
  Phase phase(run.nvtx, "check");
  const std::int64_t checked =
      checkProduct(n, a, b, Stored::byRows, deviceC.download(run.report), random, 0x1p-24);
  run.nvtx.mark("checked");
  run.report.checked(checked, "double precision");
  run.report.value("firstCallNs", "first measured call", firstNs, Unit::nanoseconds);
  run.report.value("laterCallNs", "later call, median", median(laterNs), Unit::nanoseconds);
  run.report.value("firstToLater", "first / later", firstNs / median(laterNs), Unit::ratio);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, firstCublas); }
