// SPDX-License-Identifier: Apache-2.0
// Lesson: kernels of a few microseconds wait for the host; as a graph, one call starts all of them.
#include <cmath>

#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/random.h"

__global__ void pullKernel(float target, float* x) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = 0.5f * x[i] + 0.5f * target;
}

// Every thread takes the mean with its right neighbour in the block.
__global__ void blendKernel(float* x) {
  extern __shared__ float values[];
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  values[threadIdx.x] = x[i];
  __syncthreads();
  x[i] = 0.5f * values[threadIdx.x] + 0.5f * values[(threadIdx.x + 1) % blockDim.x];
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "graph",
    "20 short kernels, 1000 times: launched and waited for one by one, only launched, and as a CUDA graph",
    {"pullKernel", "blendKernel"},
    {{"graph", "one cudaGraphLaunch starts all of them", "grid", "launch", "fp32"},
     {"launches", "the same kernels, every one launched by the host, which waits once at the end", "grid",
      "launch", "fp32"},
     {"synchronized", "the host waits for every kernel before it launches the next", "grid", "launch",
      "fp32"}},
    {{"nodes", 20, 1, 10000, "kernels in the sequence"},
     {"repetitions", 1000, 1, 10'000'000, "times that the sequence runs"},
     {"blocks", 8, 1, 65535, "blocks of each kernel"},
     {"block", 128, 1, 1024, "threads in a block"}},
    {"--nodes", "4", "--repetitions", "3"}};

bool pulls(std::int64_t node) { return node % 2 == 0; }
float target(std::int64_t node) { return static_cast<float>(node % 7) - 3.0f; }

// One sequence on the CPU. Every step is a mean, so that rounding errors of earlier steps fade away.
void reference(std::vector<double>& x, std::int64_t nodes, std::size_t block) {
  std::vector<double> before;
  for (std::int64_t node = 0; node < nodes; ++node) {
    before = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t right = i / block * block + (i % block + 1) % block;
      x[i] = 0.5 * before[i] + 0.5 * (pulls(node) ? target(node) : before[right]);
    }
  }
}

void checkResult(const std::vector<float>& start, const std::vector<float>& result, std::int64_t nodes,
                 std::int64_t repetitions, std::size_t block) {
  std::vector<double> expected(start.begin(), start.end());
  std::vector<double> previous;
  // Each pull halves what is left of the start: soon one sequence more changes nothing, and the rest need
  // not be run.
  for (std::int64_t i = 0; i < repetitions && expected != previous; ++i) {
    previous = expected;
    reference(expected, nodes, block);
  }
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!(std::abs(result[i] - expected[i]) <= 1e-5)) {
      throw Failure{kExitFailed, "x[" + std::to_string(i) + "] is " + std::to_string(result[i]) + ", not " +
                                     std::to_string(expected[i])};
    }
  }
}

void graph(Run& run) {
  const bool asGraph = run.arguments.variant() == "graph";
  const bool synchronized = run.arguments.variant() == "synchronized";
  const std::int64_t nodes = run.arguments["nodes"];
  const std::int64_t repetitions = run.arguments["repetitions"];
  const auto blocks = static_cast<unsigned>(run.arguments["blocks"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::int64_t size = static_cast<std::int64_t>(blocks) * block;
  const auto sharedBytes = static_cast<std::int64_t>(block * sizeof(float));

  openDevice(run);
  requireBlock(pullKernel, block);
  requireBlock(blendKernel, block);
  const Stream stream(1);
  const std::vector<float> x = Random(run.arguments["seed"]).vector(size);
  DeviceArray<float> deviceX(size);
  deviceX.upload(x, run.report);

  std::vector<Launch> sequence;
  for (std::int64_t node = 0; node < nodes; ++node) {
    sequence.push_back({pulls(node) ? "pullKernel" : "blendKernel", blocks, block, stream.index(),
                        pulls(node) ? 0 : sharedBytes, asGraph});
  }
  const auto launchSequence = [&] {
    for (std::int64_t node = 0; node < nodes; ++node) {
      if (pulls(node)) {
        pullKernel<<<blocks, block, 0, stream>>>(target(node), deviceX.get());
      } else {
        blendKernel<<<blocks, block, static_cast<std::size_t>(sharedBytes), stream>>>(deviceX.get());
      }
      if (synchronized) {
        stream.synchronize();
      }
    }
  };

  cudaGraph_t captured = nullptr;
  cudaGraphExec_t executable = nullptr;
  if (asGraph) {
    Phase phase(run.nvtx, "capture");
    WARPMETER_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launchSequence();
    WARPMETER_CHECK(cudaStreamEndCapture(stream, &captured));
    WARPMETER_CHECK(cudaGraphInstantiate(&executable, captured, 0));
    WARPMETER_CHECK(cudaGraphUpload(executable, stream));
  }
  WARPMETER_CHECK(cudaDeviceSynchronize());

  HostTimer host;
  double issueNs = 0;
  {
    Phase phase(run.nvtx, "measure");
    for (std::int64_t i = 0; i < repetitions; ++i) {
      if (asGraph) {
        WARPMETER_CHECK(cudaGraphLaunch(executable, stream));
      } else {
        launchSequence();
      }
    }
    issueNs = host.ns();
    checkLaunch("sequence");
    stream.synchronize();
  }
  const double elapsedNs = host.ns();
  run.report.launches.addSequence(sequence, repetitions);

  {
    Phase phase(run.nvtx, "check");
    checkResult(x, deviceX.download(run.report), nodes, repetitions, block);
    run.nvtx.mark("checked");
    run.report.checked(size, "double precision");
  }
  const auto kernels = static_cast<double>(nodes * repetitions);
  run.report.value("elapsedNs", "all kernels", elapsedNs, Unit::nanoseconds);
  run.report.value("kernelNs", "each kernel", elapsedNs / kernels, Unit::nanoseconds);
  run.report.value("issueNs", "host time for each", issueNs / kernels, Unit::nanoseconds);
  if (asGraph) {
    WARPMETER_CHECK(cudaGraphExecDestroy(executable));
    WARPMETER_CHECK(cudaGraphDestroy(captured));
  }
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, graph); }
