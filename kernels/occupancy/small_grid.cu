// SPDX-License-Identifier: Apache-2.0
// Lesson: a block runs on one SM, so a grid of 16 blocks leaves all but 16 SMs empty, whatever the blocks do.
#include "common/measure.h"
#include "common/random.h"

// y = a x, the grid walks over the vectors.
__global__ void scaleKernel(long long n, float a, const float* __restrict__ x, float* __restrict__ y) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    y[i] = a * x[i];
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "small_grid",
    "the same work with too few blocks for the GPU and with enough of them",
    {"scaleKernel"},
    {{"small", "--blocks blocks: the other SMs have nothing to do", "grid", "launch", "fp32", "mixed"},
     {"full", "as many blocks as fit the GPU at once", "warps", "dram", "fp32", "mixed"}},
    measuredOptions({{"n", 1 << 26, 1, 1LL << 40, "elements of each vector"},
                     {"blocks", 16, 1, 65535, "blocks of the small grid"},
                     {"block", 256, 1, 1024, "threads in a block"}},
                    20, 1),
    {"--n", "1003", "--blocks", "3"}};

constexpr float kA = 0.7f;

void smallGrid(Run& run) {
  const std::int64_t n = run.arguments["n"];
  const std::string option = "--n " + std::to_string(n);
  const auto vectorBytes = n * static_cast<std::int64_t>(sizeof(float));
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  requireHostMemory(2 * vectorBytes, option);

  openDevice(run);
  requireDeviceMemory(2 * vectorBytes, option);
  requireBlock(scaleKernel, block);
  const unsigned grid = run.arguments.variant() == "small" ? static_cast<unsigned>(run.arguments["blocks"])
                                                           : blocksAtOnce(run, scaleKernel, block);
  const std::vector<float> x = Random(run.arguments["seed"]).vector(n);
  DeviceArray<float> deviceX(n);
  DeviceArray<float> deviceY(n);
  const auto launch = [&] {
    scaleKernel<<<grid, block>>>(n, kA, deviceX.get(), deviceY.get());
    run.report.launches.add({"scaleKernel", grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    launch();
    checkLaunch("scaleKernel");
    const std::vector<float> result = deviceY.download(run.report);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const double exact = static_cast<double>(kA) * x[i];
      if (result[i] != static_cast<float>(exact)) {  // one product, rounded once
        throw differs("y[" + std::to_string(i) + "]", result[i], exact);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(n, "double precision");
  }
  const double launchNs = measure(run, "scaleKernel", launch);
  reportTraffic(run, 2.0 * static_cast<double>(vectorBytes), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, smallGrid); }
