// SPDX-License-Identifier: Apache-2.0
// Lesson: memory comes in sectors of 32 bytes. Who takes 4 bytes of each pays for 32; who starts in the
// middle of one pays for one sector more a warp, which its neighbour finds in the cache.
#include "common/measure.h"
#include "common/random.h"

constexpr int kWordsPerThread = 4;  // with one, neighbouring words do not reach what the memory gives

// to[i] = from[i stride + offset]; a thread's words lie a block apart, and all are under way before the first
// is stored.
__global__ void copyStridedKernel(long long n, int stride, int offset, const unsigned* __restrict__ from,
                                  unsigned* __restrict__ to) {
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x * kWordsPerThread + threadIdx.x;
  unsigned held[kWordsPerThread] = {};
#pragma unroll
  for (int j = 0; j < kWordsPerThread; ++j) {
    const long long i = first + j * blockDim.x;
    if (i < n) {
      held[j] = from[i * stride + offset];
    }
  }
#pragma unroll
  for (int j = 0; j < kWordsPerThread; ++j) {
    const long long i = first + j * blockDim.x;
    if (i < n) {
      to[i] = held[j];
    }
  }
}

namespace {

using namespace warpmeter::kernels;

constexpr std::int64_t kWord = sizeof(unsigned);
constexpr std::int64_t kSector = 32;

const Program kProgram{
    "copy_strided",
    "reads every n-th word, or words beside the sectors' borders: the memory moves whole sectors",
    {"copyStridedKernel"},
    {{"strided", "a warp reads words that lie --stride apart: most of what comes is thrown away", "warps",
      "dram", "", "read"},
     {"misaligned", "neighbouring words, --offset words after a border", "warps", "dram", "", "mixed"},
     {"contiguous", "neighbouring words from a border on", "warps", "dram", "", "mixed"}},
    measuredOptions({{"bytes", 256 << 20, 4, 1LL << 40, "size of the array that is read, a multiple of 4"},
                     {"stride", 8, 2, 4096, "words from one to the next, for strided"},
                     {"offset", 1, 1, 4096, "words before the first one, for misaligned"},
                     {"block", 256, 1, 1024, "threads in a block"}},
                    50, 1),
    {"--bytes", "40004"}};

void copyStrided(Run& run) {
  const std::string& variant = run.arguments.variant();
  const std::int64_t bytes = run.arguments["bytes"];
  const std::string option = "--bytes " + std::to_string(bytes);
  const auto stride = static_cast<int>(variant == "strided" ? run.arguments["stride"] : 1);
  const auto offset = static_cast<int>(variant == "misaligned" ? run.arguments["offset"] : 0);
  const std::int64_t words = bytes / kWord;
  if (bytes % kWord != 0 || words <= offset) {
    throw Failure{kExitUsage, option + " is not allowed, it must be a multiple of 4 and more than " +
                                  std::to_string(offset * kWord)};
  }
  const std::int64_t n = (words - offset + stride - 1) / stride;
  requireHostMemory(bytes + n * kWord, option);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const unsigned grid = blocksFor(n, block * kWordsPerThread);

  openDevice(run);
  requireDeviceMemory(bytes + n * kWord, option);
  requireBlock(copyStridedKernel, block);
  const auto from = Random(run.arguments["seed"]).bits<unsigned>(words);
  DeviceArray<unsigned> deviceFrom(words);
  DeviceArray<unsigned> deviceTo(n);
  const auto launch = [&] {
    copyStridedKernel<<<grid, block>>>(n, stride, offset, deviceFrom.get(), deviceTo.get());
    run.report.launches.add({"copyStridedKernel", grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceFrom.upload(from, run.report);
    launch();
    checkLaunch("copyStridedKernel");
    const std::vector<unsigned> to = deviceTo.download(run.report);
    for (std::int64_t i = 0; i < n; ++i) {
      if (to[i] != from[i * stride + offset]) {
        throw differs("word " + std::to_string(i), to[i], from[i * stride + offset]);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(n, "the original words");
  }
  const double launchNs = measure(run, "copyStridedKernel", launch);
  const auto used = static_cast<double>(2 * n * kWord);
  run.report.value("usedBytesPerSec", "words copied, read + written", 1e9 * used / launchNs,
                   Unit::bytesPerSec);
  // With a stride of up to one sector every sector of the array is read, beyond that one for each word.
  const auto read = static_cast<double>(std::min(bytes, n * kSector));
  reportTraffic(run, read + static_cast<double>(n * kWord), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, copyStrided); }
