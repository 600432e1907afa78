// SPDX-License-Identifier: Apache-2.0
// Lesson: a graph whose parameters change each time need not be made anew: an executable graph can take over
// another graph of the same shape, or one node's parameters.
#include <algorithm>
#include <cmath>

#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/random.h"

__global__ void mixKernel(float target, float* x) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  x[i] = 0.5f * x[i] + 0.5f * target;
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "graph_update",
    "a graph of short kernels whose parameters are others each time: made anew, updated, one node set",
    {"mixKernel"},
    {{"set-params", "cudaGraphExecKernelNodeSetParams for the one node that changes", "grid", "launch",
      "fp32"},
     {"update", "captured again, and the executable graph takes it over: cudaGraphExecUpdate", "grid",
      "launch", "fp32"},
     {"instantiate", "captured and instantiated again each time", "grid", "launch", "fp32"}},
    {{"nodes", 20, 1, 10000, "kernels in the graph"},
     {"repetitions", 1000, 1, 10'000'000, "times that it runs"},
     {"blocks", 8, 1, 65535, "blocks of each kernel"},
     {"block", 128, 1, 1024, "threads in a block"}},
    {"--nodes", "4", "--repetitions", "3"}};

// The first node's target changes with each repetition, those of the others never.
float target(std::int64_t node, std::int64_t repetition) {
  return node == 0 ? static_cast<float>(repetition % 5) : static_cast<float>(node % 7) - 3.0f;
}

// Every step is a mean, so rounding errors of earlier ones fade, and 64 steps forget the start.
void checkResult(const std::vector<float>& start, const std::vector<float>& result, std::int64_t nodes,
                 std::int64_t repetitions) {
  const std::int64_t kept = 64 / nodes + 1;
  for (std::size_t i = 0; i < result.size(); ++i) {
    double x = start[i];
    for (std::int64_t k = std::max<std::int64_t>(0, repetitions - kept); k < repetitions; ++k) {
      for (std::int64_t node = std::max<std::int64_t>(0, nodes - 64); node < nodes; ++node) {
        x = 0.5 * x + 0.5 * static_cast<double>(target(node, k));
      }
    }
    if (!(std::abs(result[i] - x) <= 1e-5)) {
      throw differs("x[" + std::to_string(i) + "]", result[i], x);
    }
  }
}

// An executable graph of the sequence, and the graph that it was made from.
class SequenceGraph {
 public:
  SequenceGraph(const Stream& stream, std::int64_t nodes, unsigned blocks, unsigned block, float* x)
      : stream_(stream), nodes_(nodes), blocks_(blocks), block_(block), x_(x) {
    graph_ = capture(0);
    WARPMETER_CHECK(cudaGraphInstantiate(&executable_, graph_, 0));
    std::size_t count = 1;
    WARPMETER_CHECK(cudaGraphGetRootNodes(graph_, &first_, &count));
  }
  SequenceGraph(const SequenceGraph&) = delete;
  SequenceGraph& operator=(const SequenceGraph&) = delete;
  ~SequenceGraph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }

  void instantiate(std::int64_t repetition) {
    cudaGraph_t changed = capture(repetition);
    WARPMETER_CHECK(cudaGraphExecDestroy(executable_));
    executable_ = nullptr;
    WARPMETER_CHECK(cudaGraphInstantiate(&executable_, changed, 0));
    WARPMETER_CHECK(cudaGraphDestroy(changed));
  }

  void update(std::int64_t repetition) {
    cudaGraph_t changed = capture(repetition);
    cudaGraphExecUpdateResultInfo result{};
    WARPMETER_CHECK(cudaGraphExecUpdate(executable_, changed, &result));
    WARPMETER_CHECK(cudaGraphDestroy(changed));
  }

  void setFirst(std::int64_t repetition) {
    float changed = target(0, repetition);
    void* arguments[] = {&changed, &x_};
    cudaKernelNodeParams parameters{};
    parameters.func = reinterpret_cast<void*>(mixKernel);
    parameters.gridDim = blocks_;
    parameters.blockDim = block_;
    parameters.kernelParams = arguments;
    WARPMETER_CHECK(cudaGraphExecKernelNodeSetParams(executable_, first_, &parameters));
  }

  void launch() { WARPMETER_CHECK(cudaGraphLaunch(executable_, stream_)); }

 private:
  cudaGraph_t capture(std::int64_t repetition) {
    cudaGraph_t captured = nullptr;
    WARPMETER_CHECK(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    for (std::int64_t node = 0; node < nodes_; ++node) {
      mixKernel<<<blocks_, block_, 0, stream_>>>(target(node, repetition), x_);
    }
    WARPMETER_CHECK(cudaStreamEndCapture(stream_, &captured));
    return captured;
  }

  const Stream& stream_;
  std::int64_t nodes_;
  unsigned blocks_;
  unsigned block_;
  float* x_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphNode_t first_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};

void graphUpdate(Run& run) {
  const std::string& variant = run.arguments.variant();
  const std::int64_t nodes = run.arguments["nodes"];
  const std::int64_t repetitions = run.arguments["repetitions"];
  const auto blocks = static_cast<unsigned>(run.arguments["blocks"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::int64_t size = static_cast<std::int64_t>(blocks) * block;

  openDevice(run);
  requireDeviceMemory(size * static_cast<std::int64_t>(sizeof(float)), "--blocks");
  requireBlock(mixKernel, block);
  const Stream stream(1);
  const std::vector<float> x = Random(run.arguments["seed"]).vector(size);
  DeviceArray<float> deviceX(size);
  deviceX.upload(x, run.report);
  WARPMETER_CHECK(cudaDeviceSynchronize());  // the stream does not wait for a copy in the default stream
  SequenceGraph graph(stream, nodes, blocks, block, deviceX.get());

  HostTimer whole;
  HostTimer timer;
  double changeNs = 0;
  {
    Phase phase(run.nvtx, "measure");
    for (std::int64_t i = 0; i < repetitions; ++i) {
      timer.lapNs();
      if (variant == "instantiate") {
        graph.instantiate(i);
      } else if (variant == "update") {
        graph.update(i);
      } else {
        graph.setFirst(i);
      }
      changeNs += timer.lapNs();
      graph.launch();
    }
    stream.synchronize();
  }
  const double elapsedNs = whole.ns();
  run.report.launches.add({"mixKernel", blocks, block, stream.index(), 0, true}, nodes * repetitions);

  Phase phase(run.nvtx, "check");
  checkResult(x, deviceX.download(run.report), nodes, repetitions);
  run.nvtx.mark("checked");
  run.report.checked(size, "double precision");
  const auto times = static_cast<double>(repetitions);
  run.report.value("elapsedNs", "all kernels", elapsedNs, Unit::nanoseconds);
  run.report.value("graphNs", "one graph, with its change", elapsedNs / times, Unit::nanoseconds);
  run.report.value("changeNs", "the change, host time", changeNs / times, Unit::nanoseconds);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, graphUpdate); }
