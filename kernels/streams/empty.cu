// SPDX-License-Identifier: Apache-2.0
// Lesson: what a launch costs when the kernel does nothing. Built twice, with a static and with a shared
// CUDA runtime.
#include "common/gpu.h"
#include "common/host_clock.h"

__global__ void emptyKernel() {}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{WARPMETER_KERNEL_NAME,
                       "a kernel that does nothing, launched again and again: the price of a launch",
                       {"emptyKernel"},
                       {{"back-to-back", "the host launches as fast as it can", "grid", "launch"},
                        {"synchronized", "the host waits for every launch", "grid", "launch"}},
                       {{"repetitions", 200'000, 1, 1'000'000'000, "measured launches"},
                        {"blocks", 1, 1, 2147483647, "blocks of each launch"},
                        {"block", 32, 1, 1024, "threads in a block"}},
                       {"--repetitions", "10"}};

// No report inside the timed loops: the list of launches is written afterwards.
void empty(Run& run) {
  const std::int64_t repetitions = run.arguments["repetitions"];
  const bool synchronized = run.arguments.variant() == "synchronized";
  const auto blocks = static_cast<unsigned>(run.arguments["blocks"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  openDevice(run);
  requireBlock(emptyKernel, block);
  {
    Phase phase(run.nvtx, "warm-up");
    emptyKernel<<<blocks, block>>>();
    checkLaunch("emptyKernel");
    WARPMETER_CHECK(cudaDeviceSynchronize());
  }

  double issueNs = 0;
  HostTimer host;
  {
    Phase phase(run.nvtx, "measure");
    for (std::int64_t i = 0; i < repetitions; ++i) {
      emptyKernel<<<blocks, block>>>();
      if (synchronized) {
        WARPMETER_CHECK(cudaStreamSynchronize(nullptr));
      }
    }
    issueNs = host.ns();
    WARPMETER_CHECK(cudaDeviceSynchronize());
  }
  const double elapsedNs = host.ns();
  checkLaunch("emptyKernel");
  run.report.launches.add({"emptyKernel", blocks, block}, repetitions + 1);
  run.report.value("launchNs", "one launch", elapsedNs / static_cast<double>(repetitions), Unit::nanoseconds);
  run.report.value("issueNs", "host time for each", issueNs / static_cast<double>(repetitions),
                   Unit::nanoseconds);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, empty); }
