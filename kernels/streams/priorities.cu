// SPDX-License-Identifier: Apache-2.0
// Lesson: a short kernel behind a long one waits until the long one has no blocks left to start; in a stream
// of higher priority it gets the next places that become free.
#include <algorithm>
#include <cmath>

#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/median.h"
#include "common/random.h"

// Tends to 2 x. started: memory that the host sees; says that this launch has begun.
__global__ void longKernel(long long n, int steps, const float* x, float* y, int round,
                           volatile int* started) {
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    *started = round;
  }
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    const float start = x[i];
    float value = start;
    for (int step = 0; step < steps; ++step) {
      value = 0.5f * value + start;
    }
    y[i] = value;
  }
}

__global__ void shortKernel(float factor, const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = factor * x[i];
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "priorities",
    "a short kernel beside a long one that fills the GPU: how long it takes to come back",
    {"longKernel", "shortKernel"},
    // No bound: shortKernel never runs alone. The limiter is that of longKernel.
    {{"high", "the short kernel's stream has the highest priority", "warps", "", "fp32"},
     {"equal", "both streams have the lowest priority", "warps", "", "fp32"}},
    {{"rounds", 20, 1, 100'000, "times that the short kernel is sent after the long one has begun"},
     {"n", 1 << 23, 1, 1LL << 40, "values of the long kernel"},
     {"steps", 8000, 1, 1'000'000'000, "dependent multiply-adds for each of them"},
     {"blocks", 8, 1, 65535, "blocks of the short kernel"},
     {"block", 256, 1, 1024, "threads in a block of either"}},
    {"--rounds", "2", "--n", "100003", "--steps", "100"}};

// One int that a kernel writes and the host reads.
class Flag {
 public:
  Flag() {
    WARPMETER_CHECK(cudaHostAlloc(&host_, sizeof(int), cudaHostAllocMapped));
    *static_cast<volatile int*>(host_) = 0;
    WARPMETER_CHECK(cudaHostGetDevicePointer(&device_, host_, 0));
  }
  Flag(const Flag&) = delete;
  Flag& operator=(const Flag&) = delete;
  ~Flag() { cudaFreeHost(host_); }
  volatile int* onGpu() const { return static_cast<volatile int*>(device_); }

  // Until it holds value; the stream that writes it must not be done before.
  void wait(int value, const Stream& writer) const {
    while (*static_cast<volatile int*>(host_) != value) {
      const cudaError_t status = cudaStreamQuery(writer);
      if (status != cudaErrorNotReady) {
        WARPMETER_CHECK(status);
        return;
      }
    }
  }

 private:
  void* host_ = nullptr;
  void* device_ = nullptr;
};

void checkLong(const std::vector<float>& x, const std::vector<float>& y, std::int64_t steps) {
  const double left = steps < 60 ? std::ldexp(1.0, -static_cast<int>(steps)) : 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = (2 - left) * x[i];
    if (!(std::abs(y[i] - expected) <= 1e-6 * std::abs(expected))) {
      throw differs("the long kernel's y[" + std::to_string(i) + "]", y[i], expected);
    }
  }
}

void priorities(Run& run) {
  const bool high = run.arguments.variant() == "high";
  const std::int64_t n = run.arguments["n"];
  const auto rounds = static_cast<int>(run.arguments["rounds"]);
  const auto steps = static_cast<int>(run.arguments["steps"]);
  const auto blocks = static_cast<unsigned>(run.arguments["blocks"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::int64_t shortSize = static_cast<std::int64_t>(blocks) * block;
  const std::string option = "--n " + std::to_string(n);
  const std::int64_t bytes = 2 * (n + shortSize) * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(bytes, option);
  const unsigned longBlocks = blocksFor(n, block);

  openDevice(run);
  requireDeviceMemory(bytes, option);
  requireBlock(longKernel, block);
  requireBlock(shortKernel, block);
  int lowest = 0;
  int highest = 0;
  WARPMETER_CHECK(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  if (high && lowest == highest) {
    run.report.notice("this GPU has no stream priorities: both kernels run at the same one");
  }
  const Stream longStream = Stream::withPriority(1, lowest);
  const Stream shortStream = Stream::withPriority(2, high ? highest : lowest);

  Random random(run.arguments["seed"]);
  const std::vector<float> x = random.vector(n);
  const std::vector<float> shortX = random.vector(shortSize);
  DeviceArray<float> deviceX(n);
  DeviceArray<float> deviceY(n);
  DeviceArray<float> deviceShortX(shortSize);
  DeviceArray<float> deviceShortY(shortSize);
  deviceX.upload(x, run.report);
  deviceShortX.upload(shortX, run.report);
  WARPMETER_CHECK(cudaDeviceSynchronize());  // these streams do not wait for a copy in the default stream

  const Flag flag;
  HostTimer timer;
  std::vector<double> latenciesNs;
  std::vector<double> longNs;
  {
    Phase phase(run.nvtx, "measure");
    for (int round = 1; round <= rounds; ++round) {
      const HostTimer whole;
      longKernel<<<longBlocks, block, 0, longStream>>>(n, steps, deviceX.get(), deviceY.get(), round,
                                                       flag.onGpu());
      checkLaunch("longKernel");
      run.report.launches.add({"longKernel", longBlocks, block, longStream.index()});
      flag.wait(round, longStream);
      timer.lapNs();
      shortKernel<<<blocks, block, 0, shortStream>>>(static_cast<float>(round), deviceShortX.get(),
                                                     deviceShortY.get());
      shortStream.synchronize();
      latenciesNs.push_back(timer.lapNs());
      run.report.launches.add({"shortKernel", blocks, block, shortStream.index()});
      longStream.synchronize();
      longNs.push_back(whole.ns());
    }
  }

  Phase phase(run.nvtx, "check");
  checkLong(x, deviceY.download(run.report), steps);
  const std::vector<float> shortY = deviceShortY.download(run.report);
  for (std::size_t i = 0; i < shortY.size(); ++i) {
    const float expected = static_cast<float>(rounds) * shortX[i];
    if (shortY[i] != expected) {
      throw differs("the short kernel's y[" + std::to_string(i) + "]", shortY[i], expected);
    }
  }
  run.nvtx.mark("checked");
  run.report.checked(n + shortSize, "double precision");
  run.report.value("latencyNs", "short kernel, median", median(latenciesNs), Unit::nanoseconds);
  run.report.value("latencyMaxNs", "short kernel, slowest",
                   *std::max_element(latenciesNs.begin(), latenciesNs.end()), Unit::nanoseconds);
  run.report.value("longNs", "long kernel, median", median(longNs), Unit::nanoseconds);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, priorities); }
