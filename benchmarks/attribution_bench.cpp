// SPDX-License-Identifier: Apache-2.0
// Loads and attributes ten minutes of samples: 12 million of 50 us with three counters, 600 000 launches of
// 40 kernels (docs/performance.md). Prints wall times and CPU time; arguments: samples in millions, rounds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>

#include "support/view_of.h"
#include "warpmeter/analyzer/counters.h"
#include "warpmeter/profile/sample_pack.h"
#include "warpmeter/profile/writer.h"

using namespace warpmeter;
using namespace warpmeter::analyzer;
using support::must;

namespace {

constexpr std::int64_t kIntervalNs = 50'000, kKernels = 40, kBatch = 20'000;

double seconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - since).count();
}

double cpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Kernel k runs 100 + 45 k us, 1 us apart, over and over, at a rate of its own.
std::int64_t lengthOf(std::int64_t k) { return 100'000 + 45'000 * k; }

void write(const std::filesystem::path& path, std::int64_t samples) {
  SessionInfo session;
  session.counters = "sampled";
  ProfileWriter writer = must(ProfileWriter::create(path, session));
  GpuInfo gpu;
  gpu.id = 0, gpu.cuDevice = 0, gpu.name = "NVIDIA H200", gpu.computeMajor = 9, gpu.computeMinor = 0;
  must(writer.put(gpu));
  const std::int64_t end = samples * kIntervalNs;
  std::vector<KernelRow> rows;
  std::int64_t id = 0;
  for (std::int64_t at = 0; at < end; ++id) {
    const std::int64_t k = id % kKernels;
    KernelRow r;
    r.start = at, r.end = at + lengthOf(k), r.deviceId = 0, r.contextId = 1, r.streamId = 7;
    r.correlationId = id + 1, r.globalPid = makeGlobalPid(100).value;
    r.demangledName = r.shortName = r.mangledName = writer.intern("kernel" + std::to_string(k)).value;
    r.registersPerThread = 32, r.gridX = 1000, r.blockX = 256;
    r.gridY = r.gridZ = r.blockY = r.blockZ = 1;
    r.staticSharedMemory = r.dynamicSharedMemory = r.localMemoryPerThread = r.localMemoryTotal = r.gridId = 0;
    rows.push_back(r);
    at = r.end + 1000;
    if (rows.size() == 100'000 || at >= end) {
      must(writer.append(std::span<const KernelRow>(rows)));
      must(writer.commit());
      rows.clear();
    }
  }
  must(writer.put(SampleSetInfo{
      0, 0, "GH100", {"sm__cycles_active.sum", "sm__warps_active.sum", "sm__inst_executed.sum"}}));
  std::uint64_t random = 1;
  for (std::int64_t from = 0; from < samples; from += kBatch) {
    std::vector<std::int64_t> ends;
    std::vector<std::vector<std::int64_t>> values(3);
    for (std::int64_t i = from; i < std::min(from + kBatch, samples); ++i) {
      random = random * 6364136223846793005 + 1442695040888963407;
      const auto noise = static_cast<std::int64_t>(random >> 48);
      ends.push_back((i + 1) * kIntervalNs);
      values[0].push_back(11'000'000 + noise);
      values[1].push_back(300'000'000 + 64 * noise);
      values[2].push_back(9'000'000 + 16 * noise);
    }
    PackedSamples p;
    p.setId = 0, p.startNs = from * kIntervalNs, p.endNs = ends.back(), p.intervalNs = kIntervalNs;
    p.samples = static_cast<std::int64_t>(ends.size()), p.metrics = 3;
    p.data = packSamples(p.startNs, ends, values);
    must(writer.append(std::span<const PackedSamples>(&p, 1)));
    must(writer.commit());
  }
  must(writer.finish(session));
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t samples = static_cast<std::int64_t>((argc > 1 ? std::atof(argv[1]) : 12.0) * 1e6);
  const support::TempDir dir;
  const auto path = dir.path() / "samples.wm.sqlite";
  write(path, samples);
  const auto kernels = support::viewOfFile(path, Tables::kernels | Tables::copies);
  for (int rounds = argc > 2 ? std::atoi(argv[2]) : 1; rounds > 0; --rounds) {
    const double cpu = cpuSeconds();
    const auto begin = std::chrono::steady_clock::now();
    LoadOptions options;
    options.tables = Tables::counters;
    const ProfileView view = must(kernels.withTables(options));
    const double loaded = seconds(begin), loadCpu = cpuSeconds() - cpu;
    const auto summary = must(summarizeCounters(view));
    const double all = seconds(begin);
    std::printf(
        "%lld samples, %zu kernels, %.1f MB in the file: loaded in %.2f s (%.2f s of CPU), attributed in %.2f s, "
        "together %.2f s (%.2f s of CPU); %zu of %zu measured\n",
        static_cast<long long>(samples), view.kernelCount(),
        static_cast<double>(std::filesystem::file_size(path)) / 1e6, loaded, loadCpu, all - loaded, all,
        cpuSeconds() - cpu, summary.quality.measured, summary.kernels.size());
  }
}
