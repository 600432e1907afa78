// SPDX-License-Identifier: Apache-2.0
// Lesson: work that needs the result of another stream waits for it on the GPU with an event; a host that
// waits instead leaves the GPU without work after every step.
#include <algorithm>
#include <cmath>

#include "common/event.h"
#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/random.h"

// A diamond: start feeds left and right, which run beside one another, and join needs both.
__global__ void startKernel(const float* x, float* middle) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  middle[i] = 0.5f * x[i];
}

__global__ void leftKernel(const float* middle, float* left) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  left[i] = middle[i] + 1.0f;
}

// Takes from the far end: a block needs what other blocks of startKernel wrote.
__global__ void rightKernel(const float* middle, float* right) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  right[i] = 0.5f * middle[gridDim.x * blockDim.x - 1 - i];
}

__global__ void joinKernel(const float* left, const float* right, float* x) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = 0.5f * left[i] - right[i];
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "events",
    "four kernels that need one another's results, in two streams: events on the GPU, or the host waits",
    {"startKernel", "leftKernel", "rightKernel", "joinKernel"},
    // No bound where left and right run at the same time: counters may not be told apart.
    {{"events", "cudaStreamWaitEvent: the host goes ahead and never waits", "grid", "", "fp32"},
     {"synchronized", "cudaStreamSynchronize after each step", "grid", "", "fp32"}},
    {{"rounds", 1000, 1, 1'000'000, "times that the four run"},
     {"blocks", 8, 1, 65535, "blocks of each kernel"},
     {"block", 128, 1, 1024, "threads in a block"}},
    {"--rounds", "3", "--blocks", "5", "--block", "96"}};

// All factors together make every round a contraction by at most a half: what rounding did earlier fades.
void checkResult(const std::vector<float>& start, const std::vector<float>& result, std::int64_t rounds) {
  std::vector<double> x(start.begin(), start.end());
  // 64 rounds forget the start.
  for (std::int64_t round = 0; round < std::min<std::int64_t>(rounds, 64); ++round) {
    const std::vector<double> before = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = 0.5 * (0.5 * before[i] + 1) - 0.25 * before[x.size() - 1 - i];
    }
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(std::abs(result[i] - x[i]) <= 1e-6)) {
      throw differs("x[" + std::to_string(i) + "]", result[i], x[i]);
    }
  }
}

void events(Run& run) {
  const bool synchronized = run.arguments.variant() == "synchronized";
  const std::int64_t rounds = run.arguments["rounds"];
  const auto blocks = static_cast<unsigned>(run.arguments["blocks"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::int64_t size = static_cast<std::int64_t>(blocks) * block;

  openDevice(run);
  requireDeviceMemory(4 * size * static_cast<std::int64_t>(sizeof(float)), "--blocks");
  for (const auto kernel : {leftKernel, rightKernel, startKernel}) {
    requireBlock(kernel, block);
  }
  requireBlock(joinKernel, block);
  const Stream first(1);
  const Stream second(2);
  const Event started;
  const Event finished;
  const std::vector<float> x = Random(run.arguments["seed"]).vector(size);
  DeviceArray<float> deviceX(size);
  DeviceArray<float> middle(size);
  DeviceArray<float> left(size);
  DeviceArray<float> right(size);
  deviceX.upload(x, run.report);
  WARPMETER_CHECK(cudaDeviceSynchronize());  // these streams do not wait for a copy in the default stream

  // Left stays in the first stream: no event is needed between kernels of one stream.
  const auto round = [&] {
    startKernel<<<blocks, block, 0, first>>>(deviceX.get(), middle.get());
    if (synchronized) {
      first.synchronize();
    } else {
      started.record(first);
      started.holdBack(second);
    }
    leftKernel<<<blocks, block, 0, first>>>(middle.get(), left.get());
    rightKernel<<<blocks, block, 0, second>>>(middle.get(), right.get());
    if (synchronized) {
      second.synchronize();
      first.synchronize();
    } else {
      finished.record(second);
      finished.holdBack(first);
    }
    joinKernel<<<blocks, block, 0, first>>>(left.get(), right.get(), deviceX.get());
    if (synchronized) {
      first.synchronize();
    }
  };

  HostTimer timer;
  double issueNs = 0;
  {
    Phase phase(run.nvtx, "measure");
    for (std::int64_t i = 0; i < rounds; ++i) {
      round();
    }
    issueNs = timer.ns();
    checkLaunch("round");
    WARPMETER_CHECK(cudaDeviceSynchronize());
  }
  const double elapsedNs = timer.ns();
  run.report.launches.addSequence({{"startKernel", blocks, block, 1},
                                   {"leftKernel", blocks, block, 1},
                                   {"rightKernel", blocks, block, 2},
                                   {"joinKernel", blocks, block, 1}},
                                  rounds);

  Phase phase(run.nvtx, "check");
  checkResult(x, deviceX.download(run.report), rounds);
  run.nvtx.mark("checked");
  run.report.checked(size, "double precision");
  run.report.value("elapsedNs", "all rounds", elapsedNs, Unit::nanoseconds);
  run.report.value("roundNs", "one round", elapsedNs / static_cast<double>(rounds), Unit::nanoseconds);
  run.report.value("issueNs", "host time for each", issueNs / static_cast<double>(rounds), Unit::nanoseconds);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, events); }
