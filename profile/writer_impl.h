// SPDX-License-Identifier: Apache-2.0
// The inside of ProfileWriter, shared by the files that implement it.
//
// How the file stays readable when the disk is full: a nameless file in the same folder holds `reserveBytes`
// of disk. When a write fails, the transaction is rolled back, the reserve is given up, and the loss row
// takes its place. With a file size limit (ulimit -f) that does not help; there the writer itself stops
// before the limit.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "row_batch.h"
#include "sqlite_db.h"
#include "string_table.h"
#include "warpmeter/profile/writer.h"

namespace warpmeter {

struct ProfileWriter::Impl {
  enum class State { open, diskFull, finished };

  struct Appender {
    explicit Appender(RowBatch b) : batch(std::move(b)) {}
    RowBatch batch;
    Statement insert;
  };

  Impl(std::filesystem::path file, const WriterOptions& writerOptions);
  ~Impl();

  // create(): in this order.
  Result<void> createFile();
  Result<void> writeSchema(const SessionInfo& session);
  Result<void> startLog();
  Result<void> takeReserve();

  Error error(std::string_view doing) const { return toError(db.get(), path, doing); }
  Result<void> refuseUnlessOpen() const;
  Result<void> begin();
  Result<void> beginUnlessClosed();
  Result<void> run(const char* sql, std::string_view doing);
  Result<void> flushStrings();
  // Puts rows of the table's columns into the open transaction.
  Result<void> insertRows(Table table, const std::int64_t* rows, std::size_t count);
  Result<void> writeRefusedRows();
  Result<void> sayRefused(const char* table, std::int64_t count);
  Result<void> checkFileSizeLimit();
  Result<void> commitTransaction();
  void rollback();
  void checkpointIfDue();

  std::filesystem::path path;
  WriterOptions options;
  StringTable strings;
  StringBatch stringBatch{strings};
  std::deque<Appender> appenders;  // by Table; a deque because SQLite keeps the batches' addresses
  int lockFile = -1;               // holds flock() while a recording is running; closed after `db`
  int reserveFile = -1;
  Db db;
  Statement beginStatement, commitStatement, insertStrings, pageCount;

  State state = State::open;
  bool wal = false;
  bool inTransaction = false;
  std::int64_t pageSize = 0;
  std::int64_t flushedStrings = 0, committedStrings = 0;
  std::int64_t logPages = 0;  // of the log in use, by SQLite's WAL hook
  std::int64_t checkpointBytes = 0;
  std::optional<std::int64_t> fileLimit;
  std::chrono::steady_clock::time_point lastCheckpoint;
  std::unordered_set<std::int64_t> namedThreads;
  std::int64_t rows = 0, rowsCommitted = 0;
  std::array<std::int64_t, kTableCount> refusedRows{};  // since the last commit
};

// writer_info.cpp
Result<void> writeSession(Db& db, const std::filesystem::path& path, const SessionInfo& session);

}  // namespace warpmeter
