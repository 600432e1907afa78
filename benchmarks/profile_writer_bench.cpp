// SPDX-License-Identifier: Apache-2.0
// How fast rows go into a profile and come out again. One kernel row per two API rows, all columns filled,
// WAL, a commit every 250 ms as the recorder does it, and a producer thread that makes the rows and otherwise
// spins, so that a machine of two cores has none idle.
//
//   profile_writer_bench [--benchmark_filter=Write|Read]
//   WARPMETER_BENCH_ROWS=20000000  rows to write (default)   WARPMETER_BENCH_DIR=.  where
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "warpmeter/profile/reader.h"
#include "warpmeter/profile/writer.h"

namespace {

using namespace warpmeter;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kKernelsPerBatch = 4096;
constexpr auto kCommitEvery = std::chrono::milliseconds(250);

struct Batch {
  std::vector<KernelRow> kernels = std::vector<KernelRow>(kKernelsPerBatch);
  std::vector<ApiRow> calls = std::vector<ApiRow>(2 * kKernelsPerBatch);
  std::atomic<bool> full{false};
};

// Values of the sizes that a real recording has: ids, times growing by microseconds, names out of a few
// hundred.
void fill(Batch& batch, std::int64_t& n) {
  constexpr std::int64_t kPid = 91186;
  for (std::size_t i = 0; i < kKernelsPerBatch; ++i, ++n) {
    const std::int64_t t = 1'000'000'000 + n * 5000;
    for (std::int64_t call = 0; call < 2; ++call) {
      ApiRow& a = batch.calls[2 * i + static_cast<std::size_t>(call)];
      a.start = t + call * 2000;
      a.end = a.start + 1500;
      a.eventClass = call;
      a.globalTid = makeGlobalTid(kPid, kPid).value;
      a.correlationId = n * 2 + 1 + call;
      a.nameId = 1 + n % 300;
      a.returnValue = 0;
    }
    KernelRow& k = batch.kernels[i];
    std::int64_t* column = &k.start;
    for (std::size_t c = 0; c < sizeof(KernelRow) / 8; ++c) column[c] = static_cast<std::int64_t>(c);
    k.start = t + 3000;
    k.end = t + 7000;
    k.globalPid = makeGlobalPid(kPid).value;
    k.correlationId = n * 2 + 1;
    k.demangledName = 1 + n % 300;
    k.shortName = 2 + n % 300;
    k.mangledName = 3 + n % 300;
    k.gridX = 4096;
    k.blockX = 256;
    k.gridId = n;
    k.sharedMemoryExecuted = 102400;
    k.dynamicSharedMemory = 49152;
    k.graphNodeId = std::int64_t{1} << 32 | n;
  }
}

// The thread that stands for the recorder's other work: makes the rows, spins when the writer is behind.
class Producer {
 public:
  Producer() : thread_([this](std::stop_token stop) { work(stop); }) {}

  Batch* next() {
    Batch& batch = batches_[read_ % batches_.size()];
    while (!batch.full.load(std::memory_order_acquire)) std::this_thread::yield();
    return &batch;
  }
  void done() { batches_[read_++ % batches_.size()].full.store(false, std::memory_order_release); }

 private:
  void work(std::stop_token stop) {
    std::int64_t n = 0;
    for (std::size_t write = 0; !stop.stop_requested();) {
      Batch& batch = batches_[write % batches_.size()];
      if (batch.full.load(std::memory_order_acquire)) {
        benchmark::ClobberMemory();
        continue;
      }
      fill(batch, n);
      batch.full.store(true, std::memory_order_release);
      ++write;
    }
  }

  std::array<Batch, 4> batches_;
  std::size_t read_ = 0;
  std::jthread thread_;  // last: it uses the others
};

double residentMiB() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096 / (1 << 20);
}

std::filesystem::path benchFile(const char* name) {
  const char* folder = std::getenv("WARPMETER_BENCH_DIR");
  return std::filesystem::path(folder ? folder : ".") / name;
}

std::int64_t rowsWanted() {
  const char* text = std::getenv("WARPMETER_BENCH_ROWS");
  return text ? std::strtoll(text, nullptr, 10) : 20'000'000;
}

ProfileWriter createWriter(benchmark::State& state, const std::filesystem::path& path) {
  WriterOptions options;
  options.overwrite = true;
  Result<ProfileWriter> writer = ProfileWriter::create(path, SessionInfo{}, options);
  if (!writer) {
    state.SkipWithError(writer.error().message.c_str());
    std::exit(1);
  }
  for (int i = 0; i < 310; ++i) writer->intern(fmt::format("void kernel_{}<float, 128>(float*, int)", i));
  return std::move(writer).value();
}

void append(benchmark::State& state, ProfileWriter& writer, const Batch& batch) {
  Result<void> r = writer.append(std::span<const KernelRow>(batch.kernels));
  if (r) r = writer.append(std::span<const ApiRow>(batch.calls));
  if (!r) state.SkipWithError(r.error().message.c_str());
}

void Write(benchmark::State& state) {
  const std::filesystem::path path = benchFile("bench_write.wm.sqlite");
  const std::int64_t wanted = rowsWanted();
  for (auto _ : state) {
    ProfileWriter writer = createWriter(state, path);
    Producer producer;
    std::int64_t rows = 0;
    std::array<double, 3> resident{};
    double slowestCommit = 0;
    std::uintmax_t largestLog = 0;
    const auto start = Clock::now();
    auto lastCommit = start;
    while (rows < wanted) {
      append(state, writer, *producer.next());
      producer.done();
      rows += 3 * static_cast<std::int64_t>(kKernelsPerBatch);
      if (Clock::now() - lastCommit >= kCommitEvery) {
        const auto before = Clock::now();
        if (Result<void> r = writer.commit(); !r) state.SkipWithError(r.error().message.c_str());
        lastCommit = Clock::now();
        slowestCommit = std::max(slowestCommit, std::chrono::duration<double>(lastCommit - before).count());
        std::error_code error;
        largestLog = std::max(largestLog, std::filesystem::file_size(path.string() + "-wal", error));
      }
      resident[static_cast<std::size_t>(std::min<std::int64_t>(2, rows * 3 / wanted))] = residentMiB();
    }
    if (Result<void> r = writer.commit(); !r) state.SkipWithError(r.error().message.c_str());
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    state.counters["rows_per_s"] = static_cast<double>(rows) / seconds;
    state.counters["rss1_MiB"] = resident[0];
    state.counters["rss2_MiB"] = resident[1];
    state.counters["rss3_MiB"] = resident[2];
    state.counters["max_rss_MiB"] = static_cast<double>(usage.ru_maxrss) / 1024;
    state.counters["log_MiB"] = static_cast<double>(largestLog) / (1 << 20);
    state.counters["commit_max_ms"] = slowestCommit * 1e3;
    state.counters["bytes_per_row"] =
        static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(rows);
  }
}
BENCHMARK(Write)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

// 1 M kernels and 2 M API rows.
const std::filesystem::path& readFile(benchmark::State& state) {
  static std::filesystem::path path;
  if (!path.empty()) return path;
  path = benchFile("bench_read.wm.sqlite");
  ProfileWriter writer = createWriter(state, path);
  Batch batch;
  std::int64_t n = 0;
  while (n < 1'000'000) {
    fill(batch, n);
    append(state, writer, batch);
  }
  if (Result<void> r = writer.commit(); !r) state.SkipWithError(r.error().message.c_str());
  const auto before = Clock::now();
  if (Result<bool> r = writer.finish(SessionInfo{}); !r) state.SkipWithError(r.error().message.c_str());
  fmt::print(stderr, "finish() of 3 M rows: {:.2f} s\n",
             std::chrono::duration<double>(Clock::now() - before).count());
  return path;
}

template <class Row>
void readRange(const ProfileReader& reader, RowRange range, std::atomic<std::int64_t>& rows) {
  const ProfileReader::Visit<Row> visit = [&](std::span<const Row> batch, std::span<const std::int64_t>) {
    rows += static_cast<std::int64_t>(batch.size());
    benchmark::DoNotOptimize(batch.data());
  };
  if (const Result<void> r = reader.read(range, visit); !r) std::abort();
}

// Opens the file and reads all rows with `range(0)` threads, each a share of the rowids.
void Read(benchmark::State& state) {
  const std::filesystem::path& path = readFile(state);
  const auto threads = state.range(0);
  for (auto _ : state) {
    Result<ProfileReader> reader = ProfileReader::open(path);
    if (!reader) return state.SkipWithError(reader.error().message.c_str());
    std::atomic<std::int64_t> rows{0};
    std::vector<std::jthread> pool;
    for (std::int64_t i = 0; i < threads; ++i) {
      pool.emplace_back([&, i] {
        const auto share = [&](std::int64_t end) {
          return RowRange{end * i / threads, end * (i + 1) / threads};
        };
        readRange<KernelRow>(*reader, share(reader->rowEnd<KernelRow>()), rows);
        readRange<ApiRow>(*reader, share(reader->rowEnd<ApiRow>()), rows);
      });
    }
    pool.clear();
    state.counters["rows"] = static_cast<double>(rows);
  }
}
BENCHMARK(Read)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
