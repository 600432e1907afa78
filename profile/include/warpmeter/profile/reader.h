// SPDX-License-Identifier: Apache-2.0
// ProfileReader: opens a Warpmeter file or an nsys .sqlite export by content and reads it by typed rows.
// Columns are found by name; a column or table that the file lacks reads as kNull / no rows.
// Threads: const calls from several threads are safe, each uses its own connection from a small pool.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "warpmeter/profile/counters.h"
#include "warpmeter/profile/info.h"
#include "warpmeter/profile/result.h"
#include "warpmeter/profile/rows.h"

namespace warpmeter {

enum class FileKind { warpmeter, nsys };

// Half-open range of rowids; {0, INT64_MAX} is the whole table.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

// A string of the file. In a file without string ids for NVTX text the reader hands out negative ids.
struct StringEntry {
  std::int64_t id = 0;
  std::string text;
};

struct LossInfo {
  std::string kind, why;
  std::int64_t count = kNull, fromNs = kNull, toNs = kNull;
  GlobalPid globalPid;
};

struct SelfCostInfo {
  std::string what;
  std::int64_t ns = kNull, count = kNull;
  GlobalPid globalPid;
};

struct ThreadInfo {
  GlobalTid globalTid;
  std::string name;
};

class ProfileReader {
 public:
  // Errors: notFound, isDirectory, noPermission, empty, foreign, newerMajor, truncated, unsupported (Kineto
  // .json, by name). Never writes beside the file; a WAL file in a read-only folder is copied to $TMPDIR first.
  static Result<ProfileReader> open(const std::filesystem::path& path);
  ProfileReader(ProfileReader&&) noexcept;
  ProfileReader& operator=(ProfileReader&&) noexcept;
  ~ProfileReader();

  const std::filesystem::path& path() const;
  FileKind kind() const;
  std::string schemaVersion() const;  // "3.24.14"; "unversioned" for old nsys files
  bool unfinished() const;            // ours, and finish() never ran

  // Calls visit with batches (in rowid order) until done, an error or stop. firstRowid of each batch is the
  // rowid of its first row when rowids are dense; visit's second argument gives the rowid of every row.
  template <class Row>
  using Visit = std::function<void(std::span<const Row> rows, std::span<const std::int64_t> rowids)>;

  Result<void> read(RowRange range, const Visit<KernelRow>& visit, std::stop_token stop = {}) const;
  Result<void> readUntimed(RowRange range, const Visit<KernelRow>& visit, std::stop_token stop = {}) const;
  // As read(), without the columns that neither identify a launch nor say how it was configured (launchType,
  // cacheConfig, localMemoryTotal, gridId, sharedMemoryLimitConfig, qmd*, graphId, clusterSchedulingPolicy): they
  // read as kNull. For a million kernels the columns are most of the time.
  Result<void> readLaunches(RowRange range, const Visit<KernelRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<ApiRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<MemcpyRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<MemsetRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<SyncRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<CudaEventRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<OverheadRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<NvtxRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<MemoryRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<MarkRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<LatencyRow>& visit, std::stop_token stop = {}) const;
  Result<void> read(RowRange range, const Visit<GpuMetricRow>& visit, std::stop_token stop = {}) const;

  // Largest rowid + 1 of the row type's table; 0 when the table is absent or empty. Cheap.
  template <class Row>
  std::int64_t rowEnd() const;

  // All strings of the file (StringIds, and NVTX texts without an id). Read once, then kept.
  Result<std::vector<StringEntry>> strings() const;

  Result<SessionInfo> session() const;
  Result<std::vector<ProcessInfo>> processes() const;
  Result<std::vector<GpuInfo>> gpus() const;
  Result<std::vector<CudaDeviceInfo>> cudaDevices() const;
  Result<std::vector<StreamRow>> streams() const;
  Result<std::vector<ContextRow>> contexts() const;
  Result<std::vector<ThreadInfo>> threads() const;
  Result<std::vector<LossInfo>> losses() const;
  Result<std::vector<SelfCostInfo>> selfCosts() const;
  Result<std::vector<ClockRow>> clocks() const;

  // Counters; empty where the file has none (SessionInfo::counters says why).
  Result<std::vector<SampleSetInfo>> sampleSets() const;  // by setId
  // Unpacks every batch, by its start over all sets, and calls visit; the batch lives until visit returns. Damaged
  // data ends it with ErrorKind::truncated, after the batches before it; stop with ErrorKind::cancelled.
  Result<void> readSamples(const std::function<void(const SampleBatch&)>& visit, std::stop_token stop = {}) const;
  // The same in parts, which threads may read at once: the batches by their start, and some of them in the order given.
  Result<std::vector<SamplePlace>> samplePlaces() const;
  Result<void> readSamples(std::span<const SamplePlace> places, const std::function<void(const SampleBatch&)>& visit,
                           std::stop_token stop = {}) const;
  Result<std::vector<RangedValue>> rangedValues() const;
  Result<std::vector<PcSamples>> pcSamples() const;
  Result<std::vector<PcRun>> pcRuns() const;
  Result<std::vector<CeilingInfo>> ceilings() const;
  Result<std::vector<GpuMetricInfo>> gpuMetrics() const;  // what typeId and metricId of GpuMetricRow mean

 private:
  struct Impl;
  explicit ProfileReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace warpmeter
