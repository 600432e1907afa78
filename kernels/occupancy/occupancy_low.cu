// SPDX-License-Identifier: Apache-2.0
// Lesson: occupancy is a means. A thread that works on eight results uses what it read from shared memory
// eight times and has eight independent chains of arithmetic; that needs registers, so fewer warps fit, and
// it is faster. (V. Volkov, "Better performance at lower occupancy", GTC 2010.)
#include "common/measure.h"
#include "common/random.h"

constexpr int kBlock = 128;  // also the sources that a block holds in shared memory at once
constexpr int kMany = 8;     // knob: queries of a thread of the few warps

// y[i] = sum over all sources s of (query i . s + 1)^2, each of four numbers. A thread has `queries` queries.
template <int queries>
__global__ void __launch_bounds__(kBlock)
    similarityKernel(int count, int sources, const float4* __restrict__ query,
                     const float4* __restrict__ source, float* __restrict__ y) {
  __shared__ float4 tile[kBlock];
  const int thread = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(blockIdx.x) * kBlock * queries + thread;
  float4 mine[queries];
  float sum[queries];
#pragma unroll
  for (int q = 0; q < queries; ++q) {
    mine[q] = query[first + q * kBlock < count ? first + q * kBlock : 0];
    sum[q] = 0;
  }
  for (int base = 0; base < sources; base += kBlock) {
    if (base + thread < sources) {
      tile[thread] = source[base + thread];
    }
    __syncthreads();
    const int held = sources - base < kBlock ? sources - base : kBlock;
#pragma unroll 4
    for (int j = 0; j < held; ++j) {
      const float4 other = tile[j];
#pragma unroll
      for (int q = 0; q < queries; ++q) {
        float product = mine[q].x * other.x + 1.0f;
        product = mine[q].y * other.y + product;
        product = mine[q].z * other.z + product;
        product = mine[q].w * other.w + product;
        sum[q] = product * product + sum[q];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int q = 0; q < queries; ++q) {
    if (first + q * kBlock < count) {
      y[first + q * kBlock] = sum[q];
    }
  }
}

namespace {

using namespace warpmeter::kernels;

const Program kProgram{
    "occupancy_low",
    "sums over all pairs: many warps with one result in a thread, fewer warps with eight",
    {"similarityKernel"},
    {{"many-warps", "one query in a thread: full occupancy, but each pair reads shared memory", "warps", "l1",
      "fp32"},
     {"few-warps", "eight queries in a thread: each read serves eight pairs, in independent chains",
      "registers", "fp32", "fp32"}},
    measuredOptions({{"queries", 1 << 23, 1, 1 << 28, "results"},
                     {"sources", 1024, 1, 1 << 20, "summands of each result"}},
                    10, 1),
    {"--queries", "1500", "--sources", "300"}};

std::vector<float4> randomPoints(std::int64_t size, Random& random) {
  std::vector<float4> points(static_cast<std::size_t>(size));
  for (float4& point : points) {
    point = {random.symmetric(), random.symmetric(), random.symmetric(), random.symmetric()};
  }
  return points;
}

// All terms are positive, so an error of each operation is one of the sum: 5 for a term, one for each
// addition.
void checkSums(Run& run, const std::vector<float4>& query, const std::vector<float4>& source,
               const std::vector<float>& y, Random& random) {
  const std::size_t samples = std::min<std::size_t>(query.size(), 4096);
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const std::size_t i = query.size() <= 4096 ? sample : random.next() % query.size();
    double sum = 0;
    double magnitude = 0;
    for (const float4& s : source) {
      const double products[] = {static_cast<double>(query[i].x) * s.x, static_cast<double>(query[i].y) * s.y,
                                 static_cast<double>(query[i].z) * s.z,
                                 static_cast<double>(query[i].w) * s.w};
      double product = 1;
      double largest = 1;
      for (const double p : products) {
        product += p;
        largest += std::abs(p);
      }
      sum += product * product;
      magnitude += largest * largest;
    }
    if (!(std::abs(y[i] - sum) <= 0x1p-24 * (10 * magnitude + static_cast<double>(source.size()) * sum))) {
      throw differs("y[" + std::to_string(i) + "]", y[i], sum);
    }
  }
  run.nvtx.mark("checked");
  run.report.checked(static_cast<std::int64_t>(samples), "double precision");
}

void occupancyLow(Run& run) {
  const bool many = run.arguments.variant() == "many-warps";
  const auto kernel = many ? similarityKernel<1> : similarityKernel<kMany>;
  const auto queries = static_cast<int>(run.arguments["queries"]);
  const auto sources = static_cast<int>(run.arguments["sources"]);
  const std::string options =
      "--queries " + std::to_string(queries) + " --sources " + std::to_string(sources);
  const std::int64_t bytes = 20LL * queries + 16LL * sources;
  requireHostMemory(bytes, options);
  const unsigned grid = blocksFor(queries, many ? kBlock : kBlock * kMany);

  openDevice(run);
  requireDeviceMemory(bytes, options);
  requireBlock(kernel, kBlock);
  Random random(run.arguments["seed"]);
  const std::vector<float4> query = randomPoints(queries, random);
  const std::vector<float4> source = randomPoints(sources, random);
  DeviceArray<float4> deviceQuery(queries);
  DeviceArray<float4> deviceSource(sources);
  DeviceArray<float> deviceY(queries);
  const auto launch = [&] {
    kernel<<<grid, kBlock>>>(queries, sources, deviceQuery.get(), deviceSource.get(), deviceY.get());
    run.report.launches.add({"similarityKernel", grid, kBlock});
  };

  {
    Phase phase(run.nvtx, "check");  // also the warm-up
    deviceQuery.upload(query, run.report);
    deviceSource.upload(source, run.report);
    launch();
    checkLaunch("similarityKernel");
    checkSums(run, query, source, deviceY.download(run.report), random);
  }
  const double launchNs = measure(run, "similarityKernel", launch);
  run.report.value("warpsPerSm", "warps of an SM",
                   blocksAtOnce(run, kernel, kBlock) * (kBlock / 32) /
                       static_cast<double>(deviceAttribute(run, cudaDevAttrMultiProcessorCount)),
                   Unit::count);
  // Five multiply-adds for each pair.
  reportRate(run, "flopPerSec", "arithmetic", 1e10 * queries * sources / launchNs, Unit::flopPerSec,
             deviceCeilings(run).fp32PerSec);
}

}  // namespace

int main(int argc, char** argv) { return runProgram(kProgram, argc, argv, occupancyLow); }
