// SPDX-License-Identifier: Apache-2.0
// Lesson: managed memory moves to whoever touches it, page by page as it is missed, unless the program says
// before where it will be needed, or that both sides only read it.
#include <algorithm>
#include <cmath>

#include "common/host_clock.h"
#include "common/median.h"
#include "common/random.h"
#include "unified_memory/managed_memory.h"

// Tends to 2 x with the launches.
__global__ void gatherUpKernel(long long n, const float* x, float* y) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 0.5f * y[i] + x[i];
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "managed",
    "managed memory that GPU and CPU read in turn: moved on demand, prefetched, or copied once by advice",
    {"gatherUpKernel"},
    // No bound: whether a launch waits for pages is not among the GPU's counters.
    {{"advised", "x is read by both (SetReadMostly), y belongs to the GPU (SetPreferredLocation)", "warps",
      "", "fp32", "mixed"},
     {"prefetched", "cudaMemPrefetchAsync to the GPU before each launch, and of x back to the host", "warps",
      "", "fp32", "mixed"},
     {"on-demand", "every page moves when it is missed, there and back in each round", "warps", "", "fp32",
      "mixed"}},
    {{"n", 1 << 24, 1, 1LL << 40, "values in each of two arrays"},
     {"rounds", 6, 1, 100'000, "times that first the GPU and then the CPU reads x"},
     {"block", 256, 1, 1024, "threads in a block"}},
    {"--n", "100003", "--rounds", "3"}};

constexpr std::int64_t kPageValues = 4096 / sizeof(float);

// One value of each page: what the CPU needs of x, and enough to have all of it moved.
double sumOverPages(const float* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; i += kPageValues) {
    sum += x[i];
  }
  return sum;
}

// Whether the variant can do what it is about here; if not, says why.
bool sharesMemory(Run& run) {
  if (deviceAttribute(run, cudaDevAttrManagedMemory) == 0) {
    run.report.notice("this GPU has no managed memory: nothing measured");
    return false;
  }
  if (deviceAttribute(run, cudaDevAttrConcurrentManagedAccess) == 0) {
    const bool onDemand = run.arguments.variant() == "on-demand";
    run.report.notice(std::string("concurrentManagedAccess is 0, arrays move as a whole at each launch: ") +
                      (onDemand ? "no pages are missed" : "no prefetch and no advice, nothing measured"));
    return onDemand;
  }
  return true;
}

void checkResult(const float* x, const float* y, std::int64_t n, std::int64_t rounds) {
  const double left = rounds < 60 ? std::ldexp(2.0, -static_cast<int>(rounds)) : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double expected = (2 - left) * x[i];
    if (!(std::abs(y[i] - expected) <= 1e-6 * std::abs(expected))) {
      throw differs("y[" + std::to_string(i) + "]", y[i], expected);
    }
  }
}

void managed(Run& run) {
  const bool prefetched = run.arguments.variant() == "prefetched";
  const auto device = static_cast<int>(run.arguments["device"]);
  const std::int64_t n = run.arguments["n"];
  const std::int64_t rounds = run.arguments["rounds"];
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::string option = "--n " + std::to_string(n);
  const std::int64_t bytes = 2 * n * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(bytes, option);
  const unsigned grid = blocksFor(n, block);

  openDevice(run);
  requireDeviceMemory(bytes, option);  // more would be allowed, and move out again all the time
  requireBlock(gatherUpKernel, block);
  if (!sharesMemory(run)) {
    return;
  }
  const Stream stream(1);
  const ManagedArray<float> x(n);
  const ManagedArray<float> y(n);
  Random random(run.arguments["seed"]);
  std::generate(x.get(), x.get() + n, [&] { return random.symmetric(); });
  std::fill_n(y.get(), n, 0.0f);
  const double expectedSum = sumOverPages(x.get(), n);
  if (run.arguments.variant() == "advised") {
    x.advise(cudaMemAdviseSetReadMostly, device);
    y.advise(cudaMemAdviseSetPreferredLocation, device);
  }

  std::vector<double> roundsNs;
  std::vector<double> kernelsNs;
  for (std::int64_t round = 0; round < rounds; ++round) {
    Phase phase(run.nvtx, round == 0 ? "first round" : "later round");
    const HostTimer whole;
    if (prefetched) {
      x.prefetchToGpu(device, stream);
      y.prefetchToGpu(device, stream);
    }
    EventTimer kernel(stream);
    kernel.start();
    gatherUpKernel<<<grid, block, 0, stream>>>(n, x.get(), y.get());
    checkLaunch("gatherUpKernel");
    run.report.launches.add({"gatherUpKernel", grid, block, stream.index()});
    kernelsNs.push_back(kernel.stopNs());
    if (prefetched) {
      x.prefetchToHost(stream);
    }
    stream.synchronize();
    const double sum = sumOverPages(x.get(), n);
    roundsNs.push_back(whole.ns());
    if (sum != expectedSum) {
      throw differs("the CPU's sum in round " + std::to_string(round + 1), sum, expectedSum);
    }
  }

  Phase phase(run.nvtx, "check");
  if (prefetched) {
    y.prefetchToHost(stream);
    stream.synchronize();
  }
  checkResult(x.get(), y.get(), n, rounds);
  run.nvtx.mark("checked");
  run.report.checked(n, "double precision");
  run.report.value("firstRoundNs", "first round", roundsNs.front(), Unit::nanoseconds);
  run.report.value("firstKernelNs", "kernel in it", kernelsNs.front(), Unit::nanoseconds);
  if (rounds > 1) {
    const double laterNs = median({roundsNs.begin() + 1, roundsNs.end()});
    run.report.value("roundNs", "later round, median", laterNs, Unit::nanoseconds);
    run.report.value("kernelNs", "kernel in it, median", median({kernelsNs.begin() + 1, kernelsNs.end()}),
                     Unit::nanoseconds);
  }
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, managed); }
