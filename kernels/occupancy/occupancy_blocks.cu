// SPDX-License-Identifier: Apache-2.0
// Lesson: an SM keeps a limited number of blocks, however small they are, and a limited number of barriers. A
// block of one warp fills a place for a block with one warp; a barrier whose number the compiler does not
// know takes all 16 that a block can have.
#include "common/measure.h"
#include "common/random.h"

// y = a x, a thread for each element.
__global__ void scaleElementKernel(long long n, float a, const float* __restrict__ x, float* __restrict__ y) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = a * x[i];
  }
}

// The same by way of shared memory: a thread writes what its neighbour of the other half of the block read.
// barrier is 0 to 15, known only at run time. At most 1024 threads, an even number.
__global__ void scaleSwappedKernel(long long n, float a, const float* __restrict__ x, float* __restrict__ y,
                                   unsigned barrier) {
  __shared__ float held[1024];
  const unsigned other =
      threadIdx.x < blockDim.x / 2 ? threadIdx.x + blockDim.x / 2 : threadIdx.x - blockDim.x / 2;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x;
  held[threadIdx.x] = first + threadIdx.x < n ? a * x[first + threadIdx.x] : 0.0f;
  __barrier_sync_count(barrier, blockDim.x);
  if (first + other < n) {
    y[first + other] = held[other];
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "occupancy_blocks",
    "blocks that are too small for an SM's places, and barriers that take too many of its own",
    {"scaleElementKernel", "scaleSwappedKernel"},
    {{"tiny", "blocks of one warp (--tiny threads): as many as an SM takes are half of its warps", "blocks",
      "latency", "fp32", "mixed"},
     {"usual", "blocks of --block threads fill the SM", "warps", "latency", "fp32", "mixed"},
     {"barriers", "a barrier with a number from a register takes all 16 of a block of 64 threads", "",
      "latency", "fp32", "mixed"}},
    measuredOptions({{"n", 1 << 26, 1, 1LL << 40, "elements of each vector"},
                     {"tiny", 32, 1, 1024, "threads in a block of tiny"},
                     {"block", 256, 1, 1024, "threads in a block of usual"}},
                    20, 1),
    {"--n", "1003"}};

constexpr float kA = 0.7f;
constexpr unsigned kBarrierBlock = 64;

void occupancyBlocks(Run& run) {
  const std::string& variant = run.arguments.variant();
  const bool barriers = variant == "barriers";
  const char* const name = barriers ? "scaleSwappedKernel" : "scaleElementKernel";
  const std::int64_t n = run.arguments["n"];
  const std::string option = "--n " + std::to_string(n);
  const auto vectorBytes = n * static_cast<std::int64_t>(sizeof(float));
  const unsigned block =
      barriers ? kBarrierBlock : static_cast<unsigned>(run.arguments[variant == "tiny" ? "tiny" : "block"]);
  requireHostMemory(2 * vectorBytes, option);
  const unsigned grid = blocksFor(n, block);

  openDevice(run);
  requireDeviceMemory(2 * vectorBytes, option);
  requireBlock(scaleElementKernel, block);
  requireBlock(scaleSwappedKernel, kBarrierBlock);
  const unsigned processors = static_cast<unsigned>(deviceAttribute(run, cudaDevAttrMultiProcessorCount));
  const unsigned atOnce = (barriers ? blocksAtOnce(run, scaleSwappedKernel, block)
                                    : blocksAtOnce(run, scaleElementKernel, block)) /
                          processors;
  const std::vector<float> x = Random(run.arguments["seed"]).vector(n);
  DeviceArray<float> deviceX(n);
  DeviceArray<float> deviceY(n);
  const auto launch = [&] {
    if (barriers) {
      scaleSwappedKernel<<<grid, block>>>(n, kA, deviceX.get(), deviceY.get(), 1);
    } else {
      scaleElementKernel<<<grid, block>>>(n, kA, deviceX.get(), deviceY.get());
    }
    run.report.launches.add({name, grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceX.upload(x, run.report);
    launch();
    checkLaunch(name);
    const std::vector<float> y = deviceY.download(run.report);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double exact = static_cast<double>(kA) * x[i];
      if (y[i] != static_cast<float>(exact)) {  // one product, rounded once
        throw differs("y[" + std::to_string(i) + "]", y[i], exact);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(n, "double precision");
  }
  const double launchNs = measure(run, name, launch);
  run.report.value("blocksPerSm", "blocks of an SM, by the driver", atOnce, Unit::count);
  run.report.value("warpsPerSm", "warps of an SM", atOnce * ((block + 31) / 32), Unit::count);
  reportTraffic(run, 2.0 * static_cast<double>(vectorBytes), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, occupancyBlocks); }
