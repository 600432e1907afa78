// SPDX-License-Identifier: Apache-2.0
// Lesson: a list must be followed node by node, so a warp waits for the memory at every step. Only other
// warps can use that time: with one warp on each SM everything is idle, with 64 the memory is busy.
#include <numeric>

#include "common/measure.h"
#include "common/random.h"

constexpr unsigned kLanes = 32;

// A warp follows a list from its start; a node is 512 bytes, 16 of them for each lane: the number of the next
// node, which is the same in all lanes, and three words of content.
__global__ void followKernel(int visits, const uint4* __restrict__ nodes, const unsigned* __restrict__ starts,
                             unsigned* __restrict__ sums) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned node = starts[thread / kLanes];
  unsigned sum = 0;
#pragma unroll 1
  for (int visit = 0; visit < visits; ++visit) {
    const uint4 part = nodes[static_cast<unsigned long long>(node) * kLanes + threadIdx.x % kLanes];
    node = part.x;
    sum = 31 * sum + (part.y ^ part.z ^ part.w);
  }
  sums[thread] = sum;
}

namespace {

using namespace warpmeter::kernels;

constexpr std::int64_t kNodeBytes = kLanes * sizeof(uint4);

const Program kProgram{
    "latency",
    "warps follow a list through memory: every load waits for the one before",
    {"followKernel"},
    {{"one-warp", "one warp on each SM: nothing to do while it waits", "grid", "latency", "int32", "read"},
     {"many-warps", "as many warps as an SM takes share the same visits", "warps", "dram", "int32", "read"}},
    measuredOptions({{"bytes", 512 << 20, kNodeBytes, 1LL << 37, "size of the list, a multiple of 512"},
                     {"visits", 4096, 1, 100'000'000, "nodes that the warps of each SM visit together"},
                     {"block", 256, 32, 1024, "threads in a block of many-warps, whole warps"}},
                    20, 1),
    {"--bytes", "65536", "--visits", "128"}};

// order: the nodes as they follow one another, in a circle.
std::vector<uint4> makeList(const std::vector<unsigned>& order, Random& random) {
  auto nodes = random.bits<uint4>(static_cast<std::int64_t>(order.size()) * kLanes);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const unsigned next = order[i + 1 < order.size() ? i + 1 : 0];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      nodes[static_cast<std::size_t>(order[i]) * kLanes + lane].x = next;
    }
  }
  return nodes;
}

std::vector<unsigned> randomOrder(std::int64_t size, Random& random) {
  std::vector<unsigned> order(static_cast<std::size_t>(size));
  std::iota(order.begin(), order.end(), 0u);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.next() % i]);
  }
  return order;
}

void checkSums(const std::vector<uint4>& nodes, const std::vector<unsigned>& starts,
               const std::vector<unsigned>& sums, std::int64_t visits) {
  for (std::size_t warp = 0; warp < starts.size(); ++warp) {
    unsigned expected[kLanes] = {};
    std::size_t node = starts[warp];
    for (std::int64_t visit = 0; visit < visits; ++visit) {
      const uint4* const parts = &nodes[node * kLanes];
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        expected[lane] = 31 * expected[lane] + (parts[lane].y ^ parts[lane].z ^ parts[lane].w);
      }
      node = parts[0].x;
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (sums[warp * kLanes + lane] != expected[lane]) {
        throw differs("the sum of thread " + std::to_string(warp * kLanes + lane), sums[warp * kLanes + lane],
                      expected[lane]);
      }
    }
  }
}

void latency(Run& run) {
  const std::int64_t bytes = run.arguments["bytes"];
  const std::string option = "--bytes " + std::to_string(bytes);
  const bool manyWarps = run.arguments.variant() == "many-warps";
  const auto block = manyWarps ? static_cast<unsigned>(run.arguments["block"]) : kLanes;
  if (bytes % kNodeBytes != 0) {
    throw Failure{kExitUsage,
                  option + " is not allowed, it must be a multiple of " + std::to_string(kNodeBytes)};
  }
  if (block % kLanes != 0) {
    throw Failure{kExitUsage,
                  "--block " + std::to_string(block) + " is not allowed, it must be a multiple of 32"};
  }
  requireHostMemory(bytes, option);

  openDevice(run);
  requireDeviceMemory(bytes, option);
  requireBlock(followKernel, block);
  const unsigned perSm =
      manyWarps ? static_cast<unsigned>(deviceAttribute(run, cudaDevAttrMaxThreadsPerMultiProcessor)) / block
                : 1;
  const unsigned grid = perSm * static_cast<unsigned>(deviceAttribute(run, cudaDevAttrMultiProcessorCount));
  const std::int64_t warps = static_cast<std::int64_t>(grid) * block / kLanes;
  const std::int64_t visits = std::max<std::int64_t>(1, run.arguments["visits"] / (perSm * block / kLanes));

  Random random(run.arguments["seed"]);
  const std::vector<unsigned> order = randomOrder(bytes / kNodeBytes, random);
  const std::vector<uint4> nodes = makeList(order, random);
  std::vector<unsigned> starts(static_cast<std::size_t>(warps));
  for (std::size_t warp = 0; warp < starts.size(); ++warp) {  // where the warp before ends: no node twice
    starts[warp] = order[warp * static_cast<std::size_t>(visits) % order.size()];
  }
  DeviceArray<uint4> deviceNodes(static_cast<std::int64_t>(nodes.size()));
  DeviceArray<unsigned> deviceStarts(warps);
  DeviceArray<unsigned> deviceSums(warps * kLanes);
  const auto launch = [&] {
    followKernel<<<grid, block>>>(static_cast<int>(visits), deviceNodes.get(), deviceStarts.get(),
                                  deviceSums.get());
    run.report.launches.add({"followKernel", grid, block});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceNodes.upload(nodes, run.report);
    deviceStarts.upload(starts, run.report);
    launch();
    checkLaunch("followKernel");
    checkSums(nodes, starts, deviceSums.download(run.report), visits);
    run.nvtx.mark("checked");
    run.report.checked(warps * kLanes, "the CPU's sums");
  }
  const double launchNs = measure(run, "followKernel", launch);
  run.report.value("visitNs", "one visit of a warp", launchNs / static_cast<double>(visits),
                   Unit::nanoseconds);
  reportTraffic(run, static_cast<double>(warps * visits * kNodeBytes), launchNs);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, latency); }
