// SPDX-License-Identifier: Apache-2.0
// Lesson: small kernels in streams of their own run at the same time; one launch into the default stream
// between them can undo that.
#include <algorithm>
#include <cmath>

#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/random.h"

// A chain of dependent multiply-adds: long, and too small a grid to fill the GPU. Tends to 2 x.
__global__ void chainKernel(int steps, const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float start = x[i];
  float value = start;
  for (int step = 0; step < steps; ++step) {
    value = 0.5f * value + start;
  }
  y[i] = value;
}

__global__ void emptyKernel() {}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "streams",
    "eight streams of small kernels: together, one after the other, and held up by the default stream",
    {"chainKernel", "emptyKernel"},
    // No bound where kernels hardly ever run alone: whether counters can be told apart there is not certain.
    {{"overlap", "every stream's kernels beside the others'", "grid", "", "fp32"},
     {"serial", "the same kernels, all in the first stream", "grid", "launch", "fp32"},
     {"barrier", "blocking streams, and an empty kernel in the default stream after each round", "grid", "",
      "fp32"}},
    {{"streams", 8, 1, 128, "streams"},
     {"rounds", 10, 1, 1'000'000, "kernels in each stream"},
     {"blocks", 16, 1, 65535, "blocks of each kernel"},
     {"block", 256, 1, 1024, "threads in a block"},
     {"steps", 20000, 1, 1'000'000'000, "dependent multiply-adds of each thread"}},
    {"--steps", "100", "--rounds", "2"}};

void checkChain(const std::vector<float>& x, const std::vector<float>& y, std::int64_t steps) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    double value = x[i];
    // 60 steps halve the distance to 2 x below what a double can hold.
    for (std::int64_t step = 0; step < std::min<std::int64_t>(steps, 60); ++step) {
      value = 0.5 * value + x[i];
    }
    if (!(std::abs(y[i] - value) <= 1e-6 * std::abs(value))) {
      throw Failure{kExitFailed, "y[" + std::to_string(i) + "] is " + std::to_string(y[i]) + ", not " +
                                     std::to_string(value)};
    }
  }
}

void streams(Run& run) {
  const bool serial = run.arguments.variant() == "serial";
  const bool barrier = run.arguments.variant() == "barrier";
  const std::int64_t count = run.arguments["streams"];
  const std::int64_t rounds = run.arguments["rounds"];
  const auto blocks = static_cast<unsigned>(run.arguments["blocks"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const auto steps = static_cast<int>(run.arguments["steps"]);
  const std::int64_t perKernel = static_cast<std::int64_t>(blocks) * block;
  const std::int64_t size = count * perKernel;
  requireHostMemory(2 * size * static_cast<std::int64_t>(sizeof(float)), "--blocks");

  openDevice(run);
  requireDeviceMemory(2 * size * static_cast<std::int64_t>(sizeof(float)), "--blocks");
  requireBlock(chainKernel, block);
  requireBlock(emptyKernel, 1);

  std::vector<Stream> pool;
  for (int i = 1; i <= static_cast<int>(count); ++i) {
    pool.emplace_back(i, barrier ? cudaStreamDefault : cudaStreamNonBlocking);
  }
  const std::vector<float> x = Random(run.arguments["seed"]).vector(size);
  DeviceArray<float> deviceX(size);
  DeviceArray<float> deviceY(size);
  deviceX.upload(x, run.report);
  WARPMETER_CHECK(
      cudaDeviceSynchronize());  // non-blocking streams do not wait for a copy in the default stream
  const auto launch = [&](std::int64_t part) {
    const Stream& stream = pool[serial ? 0 : static_cast<std::size_t>(part)];
    chainKernel<<<blocks, block, 0, stream>>>(steps, deviceX.get() + part * perKernel,
                                              deviceY.get() + part * perKernel);
    run.report.launches.add({"chainKernel", blocks, block, stream.index()});
  };

  double aloneNs = 0;
  {
    Phase phase(run.nvtx, "warm-up");
    launch(0);
    checkLaunch("chainKernel");
    pool[0].synchronize();
    EventTimer timer(pool[0]);
    timer.start();
    launch(0);
    aloneNs = timer.stopNs();
  }

  HostTimer whole;
  {
    Phase phase(run.nvtx, "measure");
    for (std::int64_t round = 0; round < rounds; ++round) {
      for (std::int64_t part = 0; part < count; ++part) {
        launch(part);
      }
      if (barrier) {
        emptyKernel<<<1, 1>>>();
        run.report.launches.add({"emptyKernel", 1, 1});
      }
    }
    checkLaunch("chainKernel");
    WARPMETER_CHECK(cudaDeviceSynchronize());
  }
  const double elapsedNs = whole.ns();

  Phase phase(run.nvtx, "check");
  checkChain(x, deviceY.download(run.report), steps);
  run.nvtx.mark("checked");
  run.report.checked(size, "double precision");
  run.report.value("elapsedNs", "all rounds", elapsedNs, Unit::nanoseconds);
  run.report.value("aloneNs", "one kernel alone", aloneNs, Unit::nanoseconds);
  run.report.value("overlapRatio", "kernels at a time",
                   static_cast<double>(rounds * count) * aloneNs / elapsedNs, Unit::ratio);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, streams); }
