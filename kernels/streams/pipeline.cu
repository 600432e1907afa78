// SPDX-License-Identifier: Apache-2.0
// Lesson: data that comes from the host, is worked on and goes back: the copies can run beside the kernels,
// and both directions beside one another, when the memory is pinned and the pieces lie in different streams.
#include <algorithm>
#include <cmath>

#include "common/gpu.h"
#include "common/host_clock.h"
#include "common/random.h"

// Tends to 2 x, as streams.cu's chain does: something to do while other pieces are copied.
__global__ void pieceKernel(long long n, int steps, float* x) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    const float start = x[i];
    float value = start;
    for (int step = 0; step < steps; ++step) {
      value = 0.5f * value + start;
    }
    x[i] = value;
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "pipeline",
    "to the GPU, a kernel, and back, piece by piece: pageable memory, pinned memory, several streams",
    {"pieceKernel"},
    // No bound: the kernels share the GPU's memory with the copies beside them.
    {{"streams", "pinned memory, and every piece in the next of several streams: all three steps overlap",
      "warps", "", "fp32", "mixed"},
     {"pinned", "pinned memory, but one stream: each copy waits for the step before it", "warps", "", "fp32",
      "mixed"},
     {"pageable", "memory from malloc: the driver copies it once more, and the host waits for that", "warps",
      "", "fp32", "mixed"}},
    {{"n", 1 << 24, 1, 1LL << 40, "values"},
     {"pieces", 16, 1, 65536, "pieces that they are cut into"},
     {"streams", 4, 1, 128, "streams of the variant of that name"},
     {"steps", 1000, 1, 1'000'000'000, "dependent multiply-adds for each value"},
     {"repetitions", 5, 1, 1'000'000, "times that everything is sent"},
     {"block", 256, 1, 1024, "threads in a block"}},
    {"--n", "100003", "--pieces", "7", "--steps", "70", "--repetitions", "2"}};

// Host memory of the chosen kind, filled with zeros: no copy pays for page faults.
class HostValues {
 public:
  HostValues(std::int64_t size, bool pinned) {
    if (pinned) {
      WARPMETER_CHECK(cudaMallocHost(&pinned_, static_cast<std::size_t>(size) * sizeof(float)));
      std::fill_n(static_cast<float*>(pinned_), size, 0.0f);
    } else {
      pageable_.resize(static_cast<std::size_t>(size));
    }
  }
  HostValues(const HostValues&) = delete;
  HostValues& operator=(const HostValues&) = delete;
  ~HostValues() { cudaFreeHost(pinned_); }
  float* get() { return pinned_ != nullptr ? static_cast<float*>(pinned_) : pageable_.data(); }

 private:
  std::vector<float> pageable_;
  void* pinned_ = nullptr;
};

void checkResult(const std::vector<float>& x, const float* result, std::int64_t steps) {
  for (std::size_t i = 0; i < x.size(); ++i) {
    // After 60 steps the distance to 2 x is below what a double can hold.
    const double left = steps < 60 ? std::ldexp(1.0, -static_cast<int>(steps)) : 0;
    const double expected = (2 - left) * x[i];
    if (!(std::abs(result[i] - expected) <= 1e-6 * std::abs(expected))) {
      throw differs("value " + std::to_string(i), result[i], expected);
    }
  }
}

void pipeline(Run& run) {
  const std::string& variant = run.arguments.variant();
  const bool pinned = variant != "pageable";
  const std::int64_t n = run.arguments["n"];
  const std::int64_t pieces = run.arguments["pieces"];
  const std::int64_t repetitions = run.arguments["repetitions"];
  const auto steps = static_cast<int>(run.arguments["steps"]);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const std::string option = "--n " + std::to_string(n);
  const std::int64_t bytes = n * static_cast<std::int64_t>(sizeof(float));
  requireHostMemory(3 * bytes, option);
  if (pieces > n) {
    throw Failure{kExitUsage, "--pieces " + std::to_string(pieces) + " is not allowed, there are " +
                                  std::to_string(n) + " values"};
  }
  blocksFor(n, block);

  openDevice(run);
  requireDeviceMemory(bytes, option);
  requireBlock(pieceKernel, block);
  std::vector<Stream> pool;
  for (int i = 1; i <= (variant == "streams" ? static_cast<int>(run.arguments["streams"]) : 1); ++i) {
    pool.emplace_back(i);
  }
  const std::vector<float> x = Random(run.arguments["seed"]).vector(n);
  HostValues source(n, pinned);
  HostValues result(n, pinned);
  std::copy(x.begin(), x.end(), source.get());
  DeviceArray<float> deviceX(n);

  const auto sendAll = [&] {
    for (std::int64_t piece = 0; piece < pieces; ++piece) {
      const Stream& stream = pool[static_cast<std::size_t>(piece) % pool.size()];
      const std::int64_t first = n / pieces * piece + std::min(piece, n % pieces);
      const std::int64_t count = n / pieces + (piece < n % pieces ? 1 : 0);
      const std::int64_t countBytes = count * static_cast<std::int64_t>(sizeof(float));
      float* const place = deviceX.get() + first;
      WARPMETER_CHECK(cudaMemcpyAsync(place, source.get() + first, static_cast<std::size_t>(countBytes),
                                      cudaMemcpyHostToDevice, stream));
      pieceKernel<<<blocksFor(count, block), block, 0, stream>>>(count, steps, place);
      WARPMETER_CHECK(cudaMemcpyAsync(result.get() + first, place, static_cast<std::size_t>(countBytes),
                                      cudaMemcpyDeviceToHost, stream));
      run.report.launches.add({"pieceKernel", blocksFor(count, block), block, stream.index()});
      run.report.copy({"h2d", pinned ? "pinned" : "pageable", countBytes, stream.index()});
      run.report.copy({"d2h", pinned ? "pinned" : "pageable", countBytes, stream.index()});
    }
    checkLaunch("pieceKernel");
    WARPMETER_CHECK(cudaDeviceSynchronize());
  };
  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    sendAll();
    checkResult(x, result.get(), steps);
    run.nvtx.mark("checked");
    run.report.checked(n, "double precision");
  }
  Phase phase(run.nvtx, "measure");
  HostTimer timer;
  for (std::int64_t i = 0; i < repetitions; ++i) {
    sendAll();
  }
  const double passNs = timer.ns() / static_cast<double>(repetitions);
  checkResult(x, result.get(), steps);
  run.report.value("passNs", "everything, once", passNs, Unit::nanoseconds);
  run.report.value("copiedBytesPerSec", "copied, both directions", 2e9 * static_cast<double>(bytes) / passNs,
                   Unit::bytesPerSec);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, pipeline); }
