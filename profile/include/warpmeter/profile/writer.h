// SPDX-License-Identifier: Apache-2.0
// ProfileWriter: creates a profile and appends to it. One thread at a time; the object may move between threads.
// Every append goes into the open transaction; commit() makes it durable against process death (not power
// loss: synchronous=OFF). A failed append or commit leaves the file readable up to the last commit.
// A row with kNull in a NOT NULL column is left out; commit() writes how many in a loss row, "invalid_row".
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>

#include "warpmeter/profile/counters.h"
#include "warpmeter/profile/info.h"
#include "warpmeter/profile/result.h"
#include "warpmeter/profile/rows.h"

namespace warpmeter {

struct WriterOptions {
  bool overwrite = false;            // --force; else an existing file is ErrorKind::exists
  std::int64_t reserveBytes = 1 << 20;  // disk kept aside for the loss row when it is full
};

class ProfileWriter {
 public:
  // Creates the file (mode 0600) with the whole schema and the session row, then switches WAL on
  // (TRUNCATE on a network file system). Nothing is left behind when it fails.
  static Result<ProfileWriter> create(const std::filesystem::path& path, const SessionInfo& session,
                                      const WriterOptions& options = {});
  ProfileWriter(ProfileWriter&&) noexcept;
  ProfileWriter& operator=(ProfileWriter&&) noexcept;
  ~ProfileWriter();  // rolls back what was not committed; does not finish()

  // The id of a string, new or known. Ids start at 1. Invalid UTF-8 is stored as it is.
  StringId intern(std::string_view text);

  Result<void> append(std::span<const KernelRow> rows);
  Result<void> appendUntimed(std::span<const KernelRow> rows);  // WM_UNTIMED
  Result<void> append(std::span<const ApiRow> rows);
  Result<void> append(std::span<const MemcpyRow> rows);
  Result<void> append(std::span<const MemsetRow> rows);
  Result<void> append(std::span<const SyncRow> rows);
  Result<void> append(std::span<const CudaEventRow> rows);
  Result<void> append(std::span<const OverheadRow> rows);
  Result<void> append(std::span<const NvtxRow> rows);
  Result<void> append(std::span<const MemoryRow> rows);
  Result<void> append(std::span<const MarkRow> rows);
  Result<void> append(std::span<const LatencyRow> rows);
  Result<void> append(std::span<const LossRow> rows);
  Result<void> append(std::span<const SelfCostRow> rows);
  Result<void> append(std::span<const StreamRow> rows);
  Result<void> append(std::span<const ContextRow> rows);
  Result<void> append(std::span<const ThreadRow> rows);
  Result<void> append(std::span<const GraphNodeRow> rows);
  Result<void> append(std::span<const ClockRow> rows);
  Result<void> append(std::span<const GpuMetricRow> rows);

  Result<void> append(std::span<const PackedSamples> batches);  // their sets should be there before
  Result<void> append(std::span<const RangedValue> values);
  Result<void> append(std::span<const PcSamples> samples);
  Result<void> append(std::span<const PcRun> runs);

  Result<void> put(const ProcessInfo& process);      // insert, or replace the row with that globalPid
  Result<void> put(const GpuInfo& gpu);              // insert, or replace the row with that id
  Result<void> put(const CudaDeviceInfo& device);
  Result<void> put(const SampleSetInfo& set);        // insert, or replace the rows with that setId
  Result<void> put(const CeilingInfo& ceiling);      // insert, or replace the row with that gpuId and kind
  Result<void> put(const GpuMetricInfo& metric);     // insert, or replace the row with those ids
  Result<void> putSession(const SessionInfo& session);

  // Ends the transaction; checkpoints the WAL at most every 5 s.
  Result<void> commit();

  // After an error from append or commit: rolls back, frees the reserve, writes the loss row and
  // commits. Later appends are refused. The file stays WAL and readable.
  Result<void> closeAfterError(const Error& cause, std::int64_t atNs, std::int64_t lostRows);

  // Indexes, WM_OVERVIEW, journal_mode=delete (tried for 5 s; false = the file stays WAL because of a reader).
  Result<bool> finish(const SessionInfo& session);

  std::int64_t rowsWritten() const;

 private:
  struct Impl;
  explicit ProfileWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Does for a file whose recorder was killed what finish() would have done: indexes, WM_OVERVIEW, leaving WAL
// mode if no reader holds the file. The session row keeps saying that its end is unknown. Errors: those of
// ProfileReader::open; busy while the recording runs; usage for a file that is not Warpmeter's own.
Result<void> finishFile(const std::filesystem::path& path);

}  // namespace warpmeter
