// SPDX-License-Identifier: Apache-2.0
// The analyzer on one million kernels (four streams, two API calls each): loading, analyses, one picture.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "support/view_of.h"
#include "warpmeter/analyzer/cold_start.h"
#include "warpmeter/analyzer/concurrency.h"
#include "warpmeter/analyzer/kernel_summary.h"
#include "warpmeter/analyzer/nvtx_summary.h"
#include "warpmeter/analyzer/timeline.h"
#include "warpmeter/profile/writer.h"

namespace {

using namespace warpmeter;
using namespace warpmeter::analyzer;
using support::must;

constexpr std::int64_t kKernels = 1'000'000, kBatch = 10'000, kStepNs = 5000;

void fill(ProfileWriter& writer, std::int64_t from) {
  const std::int64_t pid = makeGlobalPid(100).value, tid = makeGlobalTid(100, 100).value;
  std::vector<KernelRow> kernels;
  std::vector<ApiRow> calls;
  std::vector<NvtxRow> ranges;
  for (std::int64_t i = from; i < from + kBatch; ++i) {
    KernelRow k;
    k.start = i * kStepNs + 3000, k.end = k.start + 1000 + i * 7919 % 9000;
    k.deviceId = 0, k.contextId = 1, k.streamId = 7 + i % 4, k.correlationId = i + 1, k.globalPid = pid;
    k.demangledName = k.shortName = k.mangledName =
        writer.intern("void kernel" + std::to_string(i % 40) + "<float>(float*)").value;
    k.registersPerThread = 32, k.gridX = 1 + i % 13, k.blockX = 256;
    k.gridY = k.gridZ = k.blockY = k.blockZ = 1;
    k.staticSharedMemory = k.dynamicSharedMemory = k.localMemoryPerThread = k.localMemoryTotal = k.gridId = 0;
    kernels.push_back(k);
    static const std::int64_t kLaunch = writer.intern("cudaLaunchKernel_v7000").value;
    static const std::int64_t kEvent = writer.intern("cudaEventRecord_v3020").value;
    calls.push_back({i * kStepNs, i * kStepNs + 2500, 0, tid, i + 1, kLaunch, 0, kNull});
    calls.push_back({i * kStepNs + 2600, i * kStepNs + 3500, 0, tid, kNull, kEvent, 0, kNull});
    if (i % 10 == 0) {
      NvtxRow n;
      n.start = i * kStepNs - 100, n.end = n.start + 9 * kStepNs, n.eventType = 59, n.globalTid = tid;
      n.textId = writer.intern("step " + std::to_string(i / 10 % 100)).value;
      ranges.push_back(n);
    }
  }
  must(writer.append(std::span<const KernelRow>(kernels)));
  must(writer.append(std::span<const ApiRow>(calls)));
  must(writer.append(std::span<const NvtxRow>(ranges)));
  must(writer.commit());
}

const std::filesystem::path& millionKernels() {
  static const support::TempDir dir;
  static const std::filesystem::path path = [] {
    auto file = dir.path() / "million.wm.sqlite";
    ProfileWriter writer = must(ProfileWriter::create(file, SessionInfo{}));
    for (std::int64_t i = 0; i < kKernels; i += kBatch) fill(writer, i);
    must(writer.finish(SessionInfo{}));
    return file;
  }();
  return path;
}

std::shared_ptr<const ProfileView> view() {
  static const auto loaded = std::make_shared<const ProfileView>(support::viewOfFile(millionKernels()));
  return loaded;
}

void loadTables(benchmark::State& state, Tables tables, std::int64_t rows) {
  millionKernels();
  std::size_t bytes = 0;
  for (auto _ : state) bytes = support::viewOfFile(millionKernels(), tables).columnBytes();
  state.counters["bytes/row"] = static_cast<double>(bytes) / static_cast<double>(rows);
  state.counters["rows/s"] =
      benchmark::Counter(static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK_CAPTURE(loadTables, kernels, Tables::kernels, kKernels)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(loadTables, api, Tables::api, 2 * kKernels)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(loadTables, nvtx, Tables::nvtx, kKernels / 10)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

template <class Analysis>
void analyze(benchmark::State& state, Analysis analysis) {
  view();
  for (auto _ : state) benchmark::DoNotOptimize(analysis(*view()));
}
BENCHMARK_CAPTURE(analyze, kernelSummary, [](const ProfileView& v) {
  return must(summarizeKernels(v)).timed;
})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(analyze, concurrency, [](const ProfileView& v) {
  return must(concurrencyOf(v)).size();
})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(analyze, coldStart, [](const ProfileView& v) {
  return must(coldStartsOf(v)).size();
})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(analyze, nvtxSummary, [](const ProfileView& v) {
  return must(summarizeNvtx(v)).rows.size();
})->Unit(benchmark::kMillisecond);

void timelineBuild(benchmark::State& state) {
  view();
  for (auto _ : state) benchmark::DoNotOptimize(must(Timeline::build(view())).tracks().size());
}
BENCHMARK(timelineBuild)->Unit(benchmark::kMillisecond);

// All rows of all tracks on 1920 columns; the argument is the part of the run that is visible, 1/n.
void picture(benchmark::State& state) {
  static const Timeline timeline = must(Timeline::build(view()));
  const auto range = timeline.range();
  const std::int64_t t0 = range.beginNs + range.lengthNs() / 3;
  RowPicture out;
  std::size_t drawn = 0;
  for (auto _ : state) {
    drawn = 0;
    for (const Track& track : timeline.tracks()) {
      for (const SpanIndex& row : track.rows) {
        row.picture(state.range(0) == 1 ? range.beginNs : t0, t0 + range.lengthNs() / state.range(0), 1920,
                    out);
        drawn += out.bars.size() + out.columns.size();
      }
    }
  }
  state.counters["drawn"] = static_cast<double>(drawn);
}
BENCHMARK(picture)->Arg(1)->Arg(100)->Arg(10'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
