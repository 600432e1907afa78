// SPDX-License-Identifier: Apache-2.0
// Lesson: counting into few places makes threads meet there. Counters in shared memory keep the meeting
// inside a block, copies for each warp keep it inside a warp; there lanes still meet in the same bank, unless
// each has a bank to itself.
#include "common/measure.h"
#include "common/random.h"
#include "reduction/cub.h"

constexpr int kBins = 256;
constexpr int kCopies = 32;  // 32 KiB of shared memory
constexpr int kVectors = 4;  // of 16 bytes: 64 bytes of each thread on their way

// Every value is one addition in memory.
__global__ void histogramGlobalKernel(long long n, const unsigned char* __restrict__ values,
                                      unsigned* counts) {
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += stride) {
    atomicAdd(&counts[values[i]], 1u);
  }
}

// Where a thread counts: its copy of the counters, and how far apart copies and the counters of a copy are.
struct OneForTheBlock {
  static constexpr int kWords = kBins;
  static constexpr int kCopiesOfCounter = 1;
  static constexpr int kCopyPitch = 0;
  static constexpr int kBinPitch = 1;
  __device__ static unsigned copy() { return 0; }
};
struct OneForEachWarp {
  static constexpr int kWords = kBins * kCopies;
  static constexpr int kCopiesOfCounter = kCopies;
  static constexpr int kCopyPitch = kBins;
  static constexpr int kBinPitch = 1;
  __device__ static unsigned copy() { return threadIdx.x / 32; }
};
// A lane's counters all lie in its own bank.
struct OneForEachLane {
  static constexpr int kWords = kBins * kCopies;
  static constexpr int kCopiesOfCounter = kCopies;
  static constexpr int kCopyPitch = 1;
  static constexpr int kBinPitch = kCopies;
  __device__ static unsigned copy() { return threadIdx.x % 32; }
};

template <class Copies>
__device__ void countFour(unsigned values, unsigned* mine) {
#pragma unroll
  for (int shift = 0; shift < 32; shift += 8) {
    atomicAdd(&mine[(values >> shift & 0xff) * Copies::kBinPitch], 1u);
  }
}

template <class Copies>
__device__ void countSixteen(uint4 values, unsigned* mine) {
  countFour<Copies>(values.x, mine);
  countFour<Copies>(values.y, mine);
  countFour<Copies>(values.z, mine);
  countFour<Copies>(values.w, mine);
}

// The block counts in shared memory and adds its counters to counts at the end.
template <class Copies>
__global__ void histogramSharedKernel(long long n, const unsigned char* __restrict__ values,
                                      unsigned* counts) {
  __shared__ unsigned counters[Copies::kWords];
  for (unsigned i = threadIdx.x; i < Copies::kWords; i += blockDim.x) {
    counters[i] = 0;
  }
  __syncthreads();
  unsigned* const mine = &counters[Copies::copy() * Copies::kCopyPitch];
  const auto* const vectors = reinterpret_cast<const uint4*>(values);
  const long long stride = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  long long i = first;
  for (; i + (kVectors - 1) * stride < n / 16; i += kVectors * stride) {
    uint4 held[kVectors];
#pragma unroll
    for (int j = 0; j < kVectors; ++j) {
      held[j] = vectors[i + j * stride];
    }
#pragma unroll
    for (int j = 0; j < kVectors; ++j) {
      countSixteen<Copies>(held[j], mine);
    }
  }
  for (; i < n / 16; i += stride) {
    const uint4 last = vectors[i];
    countSixteen<Copies>(last, mine);
  }
  if (first < n % 16) {
    atomicAdd(&mine[values[n / 16 * 16 + first] * Copies::kBinPitch], 1u);
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
    unsigned sum = 0;
#pragma unroll
    for (unsigned k = 0; k < Copies::kCopiesOfCounter; ++k) {
      // Neighbours begin with different copies: where a lane has a bank, a copy is in one bank.
      const unsigned copy = (k + bin) % Copies::kCopiesOfCounter;
      sum += counters[copy * Copies::kCopyPitch + bin * Copies::kBinPitch];
    }
    atomicAdd(&counts[bin], sum);
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "histogram",
    "counts how often each byte comes: in memory, in shared memory, in copies for each warp or lane",
    {"histogramSharedKernel", "histogramGlobalKernel"},
    {{"lanes", "a copy of the counters for each lane, all of it in one bank", "warps", "dram", "int32",
      "read"},
     {"warps", "a copy of the counters for each warp of the block", "warps", "l1", "int32", "read"},
     {"shared", "one copy of the counters in shared memory", "warps", "l1", "int32", "read"},
     {"global", "every value adds to a counter in memory; a sixteenth of the values", "warps", "latency",
      "int32", "read"},
     {"cub", "the library's histogram", "registers", "l1", "int32", "read"}},
    measuredOptions({{"n", 1 << 28, 1, 2147483647, "values, a byte each"},
                     {"skew", 0, 0, 100, "percent of the values that are the same; the others are random"},
                     {"block", 512, 32, 1024, "threads in a block, a multiple of 32"}},
                    10, 1),
    {"--n", "100003"}};

struct Kernel {
  const char* name;
  void (*function)(long long, const unsigned char*, unsigned*);
};

Kernel chosenKernel(const std::string& variant) {
  return variant == "global"   ? Kernel{"histogramGlobalKernel", histogramGlobalKernel}
         : variant == "shared" ? Kernel{"histogramSharedKernel", histogramSharedKernel<OneForTheBlock>}
         : variant == "warps"  ? Kernel{"histogramSharedKernel", histogramSharedKernel<OneForEachWarp>}
                               : Kernel{"histogramSharedKernel", histogramSharedKernel<OneForEachLane>};
}

// One value more often than the others.
std::vector<unsigned char> valuesOf(const Arguments& arguments, std::int64_t n) {
  Random random(arguments["seed"]);
  auto values = random.bits<unsigned char>(n);
  const auto favourite = static_cast<unsigned char>(random.next());
  if (const auto skew = static_cast<std::uint64_t>(arguments["skew"]); skew > 0) {
    for (unsigned char& value : values) {
      value = random.next() % 100 < skew ? favourite : value;
    }
  }
  return values;
}

// Bytes that CUB wants for itself.
std::size_t scratchBytes(int n) {
  std::size_t bytes = 0;
  WARPMETER_CHECK(cubHistogram(nullptr, bytes, n, nullptr, nullptr));
  return bytes;
}

void checkCounts(const std::vector<unsigned char>& values, const std::vector<unsigned>& counts) {
  std::vector<unsigned> expected(kBins);
  for (const unsigned char value : values) {
    ++expected[value];
  }
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    if (counts[bin] != expected[bin]) {
      throw differs("the count of " + std::to_string(bin), counts[bin], expected[bin]);
    }
  }
}

void histogram(Run& run) {
  const std::string& variant = run.arguments.variant();
  const bool cub = variant == "cub";
  const Kernel kernel = chosenKernel(variant);
  const std::string option = "--n " + std::to_string(run.arguments["n"]);
  // All of the default size would take the atomics in memory many times as long as the others.
  const std::int64_t n = variant == "global" ? (run.arguments["n"] + 15) / 16 : run.arguments["n"];
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  if (block % 32 != 0) {
    throw Failure{kExitUsage,
                  "--block " + std::to_string(block) + " is not allowed, it must be a multiple of 32"};
  }
  requireHostMemory(n, option);

  openDevice(run);
  requireDeviceMemory(n, option);
  requireBlock(kernel.function, block);
  // One wave of blocks walks over the array.
  const unsigned grid = std::min(blocksFor(n, 16LL * block), blocksAtOnce(run, kernel.function, block));
  const std::vector<unsigned char> values = valuesOf(run.arguments, n);
  DeviceArray<unsigned char> deviceValues(n);
  DeviceArray<unsigned> counts(kBins);
  std::size_t scratch = cub ? scratchBytes(static_cast<int>(n)) : 0;
  DeviceArray<unsigned char> deviceScratch(static_cast<std::int64_t>(scratch) + 1);
  const auto launch = [&] {
    if (cub) {
      WARPMETER_CHECK(
          cubHistogram(deviceScratch.get(), scratch, static_cast<int>(n), deviceValues.get(), counts.get()));
      return;
    }
    kernel.function<<<grid, block>>>(n, deviceValues.get(), counts.get());
    run.report.launches.add({kernel.name, grid, block});
  };
  if (cub) {
    run.report.notice("CUB's launches are not in the list");
  }

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceValues.upload(values, run.report);
    counts.upload(std::vector<unsigned>(kBins), run.report);
    launch();
    checkLaunch(variant.c_str());
    checkCounts(values, counts.download(run.report));
    run.nvtx.mark("checked");
    run.report.checked(kBins, "the CPU's counts");
  }
  // Later launches of ours add to the same counts; nobody reads them any more.
  const double launchNs = measure(run, cub ? "cub" : kernel.name, launch);
  reportTraffic(run, static_cast<double>(n), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, histogram); }
