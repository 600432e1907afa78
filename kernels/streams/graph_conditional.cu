// SPDX-License-Identifier: Apache-2.0
// Lesson: a loop whose end depends on a result makes the host fetch it after each step; a conditional node of
// a graph decides that on the GPU (CUDA 12.4 or newer).
#include <algorithm>
#include <cmath>

#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/random.h"

struct LoopState {
  unsigned unsettled;  // values that moved in this step
  unsigned steps;
  unsigned mostSteps;
};

// x = a: where all of them begin.
__global__ void beginKernel(long long n, const float* a, float* x, LoopState* state) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] = a[i];
  }
  if (i == 0) {
    state->unsettled = 0;
    state->steps = 0;
  }
}

// One step of Newton's iteration for the root of a: halves x until it is near, then doubles its digits.
__global__ void newtonKernel(long long n, const float* a, float* x, LoopState* state) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    const float before = x[i];
    const float after = 0.5f * (before + a[i] / before);
    x[i] = after;
    if (before - after > 1e-6f * after || after - before > 1e-6f * after) {
      atomicAdd(&state->unsettled, 1u);
    }
  }
}

// The end of a step, for the host: it reads unsettled and launches the next step, or does not.
__device__ bool endStep(LoopState* state) {
  const bool again = state->unsettled != 0 && state->steps + 1 < state->mostSteps;
  state->unsettled = 0;
  ++state->steps;
  return again;
}
__global__ void decideKernel(LoopState* state, unsigned* again) { *again = endStep(state) ? 1 : 0; }

#if CUDART_VERSION >= 12040
__global__ void decideOnGpuKernel(LoopState* state, cudaGraphConditionalHandle handle) {
  cudaGraphSetConditional(handle, endStep(state) ? 1 : 0);
}
#endif

namespace {

using namespace warpmeter::kernels;

constexpr unsigned kMostSteps = 200;  // 2^40 takes 20 halvings and five steps more

const Program kProgram{
    "graph_conditional",
    "square roots by iteration until nothing moves: the host asks after each step, or the graph itself",
    {"beginKernel", "newtonKernel", "decideKernel", "decideOnGpuKernel"},
    {{"conditional", "a while node: the last kernel of a step says whether another one follows", "grid",
      "launch", "fp32"},
     {"host", "the host waits for each step and reads one word", "grid", "launch", "fp32"}},
    {{"n", 4096, 1, 1LL << 40, "roots"},
     {"repetitions", 200, 1, 1'000'000, "times that all of them are computed"},
     {"block", 128, 1, 1024, "threads in a block"}},
    {"--n", "1003", "--repetitions", "3"}};

// Values over 80 powers of two: their roots take different numbers of steps.
std::vector<float> input(std::int64_t n, Random& random) {
  std::vector<float> values = random.vector(n);
  for (float& value : values) {
    value = std::ldexp(1.5f + 0.5f * value, static_cast<int>(random.next() % 80) - 40);
  }
  return values;
}

// The same arithmetic in the same order: the number of steps must be equal.
unsigned stepsOnCpu(const std::vector<float>& a) {
  unsigned most = 0;
  for (const float value : a) {
    unsigned steps = 0;
    float x = value;
    for (bool moves = true; moves && steps < kMostSteps; ++steps) {
      const float after = 0.5f * (x + value / x);
      moves = x - after > 1e-6f * after || after - x > 1e-6f * after;
      x = after;
    }
    most = std::max(most, steps);
  }
  return most;
}

struct Work {
  const Stream& stream;
  long long n;
  unsigned grid;
  unsigned block;
  const float* a;
  float* x;
  LoopState* state;

  void begin() const { beginKernel<<<grid, block, 0, stream>>>(n, a, x, state); }
  void step() const { newtonKernel<<<grid, block, 0, stream>>>(n, a, x, state); }
};

// again: a word of pinned memory that the GPU writes.
void solveFromHost(const Work& work, volatile unsigned* again, unsigned* againOnGpu) {
  work.begin();
  do {
    work.step();
    decideKernel<<<1, 1, 0, work.stream>>>(work.state, againOnGpu);
    checkLaunch("decideKernel");
    work.stream.synchronize();
  } while (*again != 0);
}

#if CUDART_VERSION >= 12040
// begin, then while (...) { step, decide }.
class LoopGraph {
 public:
  explicit LoopGraph(const Work& work) : stream_(work.stream) {
    WARPMETER_CHECK(cudaGraphCreate(&graph_, 0));
    capture(graph_, [&] { work.begin(); });
    cudaGraphNode_t begin = nullptr;
    std::size_t count = 1;
    WARPMETER_CHECK(cudaGraphGetNodes(graph_, &begin, &count));

    cudaGraphConditionalHandle handle{};
    WARPMETER_CHECK(cudaGraphConditionalHandleCreate(&handle, graph_, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams parameters{};
    parameters.type = cudaGraphNodeTypeConditional;
    parameters.conditional.handle = handle;
    parameters.conditional.type = cudaGraphCondTypeWhile;
    parameters.conditional.size = 1;
    cudaGraphNode_t loop = nullptr;
#if CUDART_VERSION >= 13000
    WARPMETER_CHECK(cudaGraphAddNode(&loop, graph_, &begin, nullptr, 1, &parameters));
#else
    WARPMETER_CHECK(cudaGraphAddNode(&loop, graph_, &begin, 1, &parameters));
#endif
    capture(parameters.conditional.phGraph_out[0], [&] {
      work.step();
      decideOnGpuKernel<<<1, 1, 0, stream_>>>(work.state, handle);
    });
    WARPMETER_CHECK(cudaGraphInstantiate(&executable_, graph_, 0));
    WARPMETER_CHECK(cudaGraphUpload(executable_, stream_));
  }
  LoopGraph(const LoopGraph&) = delete;
  LoopGraph& operator=(const LoopGraph&) = delete;
  ~LoopGraph() {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  void launch() const { WARPMETER_CHECK(cudaGraphLaunch(executable_, stream_)); }

 private:
  template <class Launches>
  void capture(cudaGraph_t into, const Launches& launches) {
    WARPMETER_CHECK(
        cudaStreamBeginCaptureToGraph(stream_, into, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal));
    launches();
    cudaGraph_t same = nullptr;
    WARPMETER_CHECK(cudaStreamEndCapture(stream_, &same));
  }

  const Stream& stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
};
#endif

// Why the conditional variant cannot run here; empty when it can.
std::string obstacle() {
  int driver = 0;
  WARPMETER_CHECK(cudaDriverGetVersion(&driver));
  const int needed = 12040;
  if (CUDART_VERSION < needed) {
    return "conditional nodes are not available: this program was built with a CUDA toolkit older than 12.4";
  }
  if (driver < needed) {
    return "conditional nodes are not available: the driver is for CUDA " + std::to_string(driver / 1000) +
           "." + std::to_string(driver % 1000 / 10) + ", they need 12.4";
  }
  return "";
}

void graphConditional(Run& run) {
  const bool conditional = run.arguments.variant() == "conditional";
  const std::int64_t n = run.arguments["n"];
  const std::int64_t repetitions = run.arguments["repetitions"];
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::string option = "--n " + std::to_string(n);
  const std::int64_t bytes = 2 * n * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(bytes, option);
  const unsigned grid = blocksFor(n, block);
  openDevice(run);
  requireDeviceMemory(bytes, option);
  requireBlock(beginKernel, block);
  requireBlock(newtonKernel, block);
  requireBlock(decideKernel, 1);
  const std::string why = conditional ? obstacle() : "";
  if (!why.empty()) {
    run.report.notice(why);
    return;
  }

  const Stream stream(1);
  Random random(run.arguments["seed"]);
  const std::vector<float> a = input(n, random);
  DeviceArray<float> deviceA(n);
  DeviceArray<float> deviceX(n);
  DeviceArray<LoopState> state(1);
  deviceA.upload(a, run.report);
  state.upload({LoopState{0, 0, kMostSteps}}, run.report);
  void* again = nullptr;
  void* againOnGpu = nullptr;
  WARPMETER_CHECK(cudaHostAlloc(&again, sizeof(unsigned), cudaHostAllocMapped));
  WARPMETER_CHECK(cudaHostGetDevicePointer(&againOnGpu, again, 0));
  WARPMETER_CHECK(cudaDeviceSynchronize());  // the stream does not wait for copies in the default stream
  const Work work{stream, n, grid, block, deviceA.get(), deviceX.get(), state.get()};

  HostTimer timer;
  double elapsedNs = 0;
#if CUDART_VERSION >= 12040
  if (conditional) {
    const LoopGraph graph(work);
    Phase phase(run.nvtx, "measure");
    timer.lapNs();
    for (std::int64_t i = 0; i < repetitions; ++i) {
      graph.launch();
    }
    stream.synchronize();
    elapsedNs = timer.ns();
  }
#endif
  if (!conditional) {
    Phase phase(run.nvtx, "measure");
    timer.lapNs();
    for (std::int64_t i = 0; i < repetitions; ++i) {
      solveFromHost(work, static_cast<volatile unsigned*>(again), static_cast<unsigned*>(againOnGpu));
    }
    elapsedNs = timer.ns();
  }
  WARPMETER_CHECK(cudaFreeHost(again));

  Phase phase(run.nvtx, "check");
  const unsigned steps = state.download(run.report).front().steps;
  if (steps != stepsOnCpu(a)) {
    throw differs("the number of steps", steps, stepsOnCpu(a));
  }
  const std::vector<float> x = deviceX.download(run.report);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double root = std::sqrt(static_cast<double>(a[i]));
    if (!(std::abs(x[i] - root) <= 1e-6 * root)) {
      throw differs("the root of " + std::to_string(a[i]), x[i], root);
    }
  }
  run.nvtx.mark("checked");
  run.report.checked(n, "double precision");
  std::vector<Launch> sequence{{"beginKernel", grid, block, stream.index(), 0, conditional}};
  for (unsigned step = 0; step < steps; ++step) {
    sequence.push_back({"newtonKernel", grid, block, stream.index(), 0, conditional});
    sequence.push_back(
        {conditional ? "decideOnGpuKernel" : "decideKernel", 1, 1, stream.index(), 0, conditional});
  }
  run.report.launches.addSequence(std::move(sequence), repetitions);
  run.report.value("steps", "steps for all roots", steps, Unit::count);
  run.report.value("solveNs", "all roots, once", elapsedNs / static_cast<double>(repetitions),
                   Unit::nanoseconds);
  run.report.value("stepNs", "one step", elapsedNs / static_cast<double>(repetitions * steps),
                   Unit::nanoseconds);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, graphConditional); }
