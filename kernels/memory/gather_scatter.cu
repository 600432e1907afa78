// SPDX-License-Identifier: Apache-2.0
// Lesson: a list of places decides what the memory has to move. Neighbouring places share sectors; random
// ones take a whole sector for each word, and written ones make it read the rest of the sector first.
#include "common/measure.h"
#include "common/random.h"

constexpr int kPlaces = 4;  // of each thread: so many loads are under way at once

// A thread's part of the list: places block x apart, so that neighbours read neighbours.
struct Places {
  long long first;
  unsigned place[kPlaces];

  __device__ void load(long long count, const unsigned* __restrict__ places) {
    first = static_cast<long long>(blockIdx.x) * blockDim.x * kPlaces + threadIdx.x;
#pragma unroll
    for (int j = 0; j < kPlaces; ++j) {
      place[j] = at(j) < count ? places[at(j)] : 0;
    }
  }
  __device__ long long at(int j) const { return first + j * static_cast<long long>(blockDim.x); }
};

// to[i] = from[places[i]]
__global__ void gatherKernel(long long count, const unsigned* __restrict__ places,
                             const unsigned* __restrict__ from, unsigned* __restrict__ to) {
  Places mine;
  mine.load(count, places);
  unsigned held[kPlaces];
#pragma unroll
  for (int j = 0; j < kPlaces; ++j) {
    held[j] = from[mine.place[j]];
  }
#pragma unroll
  for (int j = 0; j < kPlaces; ++j) {
    if (mine.at(j) < count) {
      to[mine.at(j)] = held[j];
    }
  }
}

// to[places[i]] = from[i]; no place comes twice.
__global__ void scatterKernel(long long count, const unsigned* __restrict__ places,
                              const unsigned* __restrict__ from, unsigned* __restrict__ to) {
  Places mine;
  mine.load(count, places);
  unsigned held[kPlaces];
#pragma unroll
  for (int j = 0; j < kPlaces; ++j) {
    held[j] = from[mine.at(j) < count ? mine.at(j) : 0];
  }
#pragma unroll
  for (int j = 0; j < kPlaces; ++j) {
    if (mine.at(j) < count) {
      to[mine.place[j]] = held[j];
    }
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "gather_scatter",
    "copies every fourth word of an array by a list of places: in order, in random order, sorted again",
    {"gatherKernel", "scatterKernel"},
    {{"coalesced", "reads the first quarter of the array, place after place", "warps", "dram", "", "mixed"},
     {"gather", "reads random places in random order: a sector of 32 bytes for each word", "warps", "dram",
      "", "read"},
     {"scatter", "writes random places in random order: a sector is read and written for each word", "warps",
      "latency", "", "mixed"},
     {"sorted", "reads the same random places in rising order: a sector comes once for all its words",
      "warps", "dram", "", "mixed"}},
    measuredOptions({{"n", 1 << 27, 4, 1LL << 32, "words of the array; a quarter of them is copied"},
                     {"block", 256, 1, 1024, "threads in a block"}},
                    20, 1),
    {"--n", "4009"}};

// Random places below n, none twice: a one-to-one mix of as many bits as n needs, applied until it falls
// below n. A shuffled list would be as good, but takes ten times as long: all of its accesses miss the CPU's
// caches.
std::vector<unsigned> randomPlaces(std::int64_t count, std::int64_t n, Random& random) {
  int bits = 1;
  while (std::int64_t{1} << bits < n) {
    ++bits;
  }
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const std::uint64_t first = random.next() | 1;
  const std::uint64_t second = random.next() | 1;
  const std::uint64_t offset = random.next();
  const int shift = (bits + 1) / 2;
  std::vector<unsigned> places(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::uint64_t place = i;
    do {
      place = (place * first + offset) & mask;
      place ^= place >> shift;
      place = (place * second) & mask;
      place ^= place >> shift;
    } while (place >= static_cast<std::uint64_t>(n));
    places[i] = static_cast<unsigned>(place);
  }
  return places;
}

// The same places in rising order, by a bit for each word of the array.
std::vector<unsigned> sorted(const std::vector<unsigned>& places, std::int64_t n) {
  std::vector<bool> taken(static_cast<std::size_t>(n));
  for (const unsigned place : places) {
    taken[place] = true;
  }
  std::vector<unsigned> rising;
  rising.reserve(places.size());
  for (std::size_t place = 0; place < taken.size(); ++place) {
    if (taken[place]) {
      rising.push_back(static_cast<unsigned>(place));
    }
  }
  return rising;
}

std::vector<unsigned> placesOf(const std::string& variant, std::int64_t count, std::int64_t n,
                               Random& random) {
  std::vector<unsigned> places(static_cast<std::size_t>(count));
  if (variant == "coalesced") {
    for (std::size_t i = 0; i < places.size(); ++i) {
      places[i] = static_cast<unsigned>(i);
    }
    return places;
  }
  places = randomPlaces(count, n, random);
  return variant == "sorted" ? sorted(places, n) : places;
}

void gatherScatter(Run& run) {
  const std::string& variant = run.arguments.variant();
  const bool scatters = variant == "scatter";
  const std::int64_t n = run.arguments["n"];
  const std::int64_t count = n / 4;
  const std::string option = "--n " + std::to_string(n);
  constexpr std::int64_t kWord = sizeof(unsigned);
  requireHostMemory((2 * n + 2 * count) * kWord, option);
  const auto block = static_cast<unsigned>(run.arguments["block"]);
  const unsigned grid = blocksFor(count, static_cast<std::int64_t>(block) * kPlaces);
  const auto kernel = scatters ? scatterKernel : gatherKernel;
  const char* name = scatters ? "scatterKernel" : "gatherKernel";

  openDevice(run);
  requireDeviceMemory((n + 2 * count) * kWord, option);
  requireBlock(kernel, block);
  Random random(run.arguments["seed"]);
  const std::vector<unsigned> places = placesOf(variant, count, n, random);
  const auto from = random.bits<unsigned>(scatters ? count : n);
  DeviceArray<unsigned> devicePlaces(count);
  DeviceArray<unsigned> deviceFrom(scatters ? count : n);
  DeviceArray<unsigned> deviceTo(scatters ? n : count);
  const auto launch = [&] {
    kernel<<<grid, block>>>(count, devicePlaces.get(), deviceFrom.get(), deviceTo.get());
    run.report.launches.add({name, grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    devicePlaces.upload(places, run.report);
    deviceFrom.upload(from, run.report);
    WARPMETER_CHECK(cudaMemset(deviceTo.get(), 0, deviceTo.bytes()));
    run.report.copy({"memset", "device", static_cast<std::int64_t>(deviceTo.bytes())});
    launch();
    checkLaunch(name);
    const std::vector<unsigned> to = deviceTo.download(run.report);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const unsigned result = to[scatters ? places[i] : i];
      const unsigned expected = from[scatters ? i : places[i]];
      if (result != expected) {
        throw differs("word " + std::to_string(i), result, expected);
      }
    }
    run.nvtx.mark("checked");
    run.report.checked(count, "the original words");
  }
  const double launchNs = measure(run, name, launch);
  run.report.value("usedBytesPerSec", "words and places, read + written",
                   1e9 * static_cast<double>(3 * count * kWord) / launchNs, Unit::bytesPerSec);
  if (variant == "coalesced") {  // of the others only counters can say how many sectors came, and how often
    reportTraffic(run, static_cast<double>(3 * count * kWord), launchNs);
  }
  run.report.value("wordsPerSec", "words copied a second", 1e9 * static_cast<double>(count) / launchNs,
                   Unit::count);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, gatherScatter); }
