// SPDX-License-Identifier: Apache-2.0
// Transactions and rows.
#include <fmt/format.h>

#include <utility>

#include "writer_impl.h"

namespace warpmeter {

namespace {

template <class Row>
const std::int64_t* asIntegers(std::span<const Row> rows) {
  return reinterpret_cast<const std::int64_t*>(rows.data());
}

}  // namespace

Result<void> ProfileWriter::Impl::refuseUnlessOpen() const {
  if (state == State::open) return {};
  if (state == State::diskFull) {
    return Error{ErrorKind::diskFull, fmt::format("{}: was closed because the disk is full", path.string())};
  }
  return Error{ErrorKind::usage, fmt::format("{}: is finished already", path.string())};
}

Result<void> ProfileWriter::Impl::run(const char* sql, std::string_view doing) {
  if (db.exec(sql) != SQLITE_OK) return error(doing);
  return {};
}

Result<void> ProfileWriter::Impl::begin() {
  if (inTransaction) return {};
  if (beginStatement.run() != SQLITE_OK) return error("begin a transaction");
  inTransaction = true;
  return {};
}

Result<void> ProfileWriter::Impl::flushStrings() {
  if (flushedStrings == strings.size()) return {};
  if (Result<void> r = begin(); !r) return r;
  stringBatch.set(flushedStrings, strings.size());
  if (insertStrings.run() != SQLITE_OK) return error("write strings");
  flushedStrings = strings.size();
  return checkFileSizeLimit();
}

Result<void> ProfileWriter::Impl::insertRows(Table table, const std::int64_t* data, std::size_t count) {
  if (count == 0) return {};
  if (Result<void> r = begin(); !r) return r;
  Appender& appender = appenders[static_cast<std::size_t>(table)];
  appender.batch.set(data, count);
  if (appender.insert.run() != SQLITE_OK) return error("write rows");
  const std::int64_t written = sqlite3_changes64(db.get());
  rows += written;
  refusedRows[static_cast<std::size_t>(table)] += static_cast<std::int64_t>(count) - written;
  return checkFileSizeLimit();
}

// One bad row must not cost the batch, let alone the recording; what is missing is said.
Result<void> ProfileWriter::Impl::writeRefusedRows() {
  for (std::size_t i = 0; i < kTableCount; ++i) {
    const std::int64_t count = std::exchange(refusedRows[i], 0);
    if (count == 0 || static_cast<Table>(i) == Table::loss) continue;
    if (Result<void> r = sayRefused(tableInfo(static_cast<Table>(i)).name, count); !r) return r;
  }
  return {};
}

Result<void> ProfileWriter::Impl::sayRefused(const char* table, std::int64_t count) {
  LossRow row;
  row.kind = strings.intern("invalid_row").value;
  row.why = strings.intern(fmt::format("rows without a value that {} needs", table)).value;
  row.count = count;
  return insertRows(Table::loss, &row.kind, 1);
}

Result<void> ProfileWriter::Impl::checkFileSizeLimit() {
  if (!fileLimit) return {};
  // The file as it will be after the next checkpoint. The log holds at most as much as was written since the
  // last one, which is less than a quarter of the limit plus this transaction.
  std::int64_t pages = 0;
  if (pageCount.step() == SQLITE_ROW) pages = pageCount.integer(0);
  pageCount.reset();
  if (pages * pageSize + options.reserveBytes / 4 <= *fileLimit) return {};
  return Error{ErrorKind::diskFull, fmt::format("{}: the file size limit (ulimit -f) of {} bytes is reached",
                                                path.string(), *fileLimit)};
}

Result<void> ProfileWriter::Impl::commitTransaction() {
  if (!inTransaction) return {};
  if (commitStatement.run() != SQLITE_OK) return error("commit");
  inTransaction = false;
  committedStrings = flushedStrings;
  rowsCommitted = rows;
  return {};
}

void ProfileWriter::Impl::rollback() {
  // After some errors SQLite has rolled back by itself.
  if (!sqlite3_get_autocommit(db.get())) db.exec("ROLLBACK");
  inTransaction = false;
  flushedStrings = committedStrings;
  rows = rowsCommitted;
  refusedRows = {};
}

StringId ProfileWriter::intern(std::string_view text) { return impl_->strings.intern(text); }

#define WARPMETER_APPEND(Row)                                               \
  Result<void> ProfileWriter::append(std::span<const Row> rows) {           \
    if (Result<void> r = impl_->refuseUnlessOpen(); !r) return r;           \
    return impl_->insertRows(kTableOf<Row>, asIntegers(rows), rows.size()); \
  }

WARPMETER_APPEND(KernelRow)
WARPMETER_APPEND(ApiRow)
WARPMETER_APPEND(MemcpyRow)
WARPMETER_APPEND(MemsetRow)
WARPMETER_APPEND(SyncRow)
WARPMETER_APPEND(CudaEventRow)
WARPMETER_APPEND(OverheadRow)
WARPMETER_APPEND(NvtxRow)
WARPMETER_APPEND(MemoryRow)
WARPMETER_APPEND(MarkRow)
WARPMETER_APPEND(LossRow)
WARPMETER_APPEND(SelfCostRow)
WARPMETER_APPEND(StreamRow)
WARPMETER_APPEND(ContextRow)
WARPMETER_APPEND(GraphNodeRow)
WARPMETER_APPEND(ClockRow)
WARPMETER_APPEND(LatencyRow)
WARPMETER_APPEND(GpuMetricRow)

#undef WARPMETER_APPEND

Result<void> ProfileWriter::appendUntimed(std::span<const KernelRow> rows) {
  if (Result<void> r = impl_->refuseUnlessOpen(); !r) return r;
  return impl_->insertRows(Table::untimed, asIntegers(rows), rows.size());
}

// A thread has one name: clients count on one row per thread. A later name replaces the earlier one.
Result<void> ProfileWriter::append(std::span<const ThreadRow> rows) {
  Impl& w = *impl_;
  if (Result<void> r = w.refuseUnlessOpen(); !r) return r;
  Statement update;
  for (const ThreadRow& row : rows) {
    if (w.namedThreads.insert(row.globalTid).second) {
      if (Result<void> r = w.insertRows(Table::thread, &row.nameId, 1); !r) return r;
      continue;
    }
    if (Result<void> r = w.begin(); !r) return r;
    if (!update) {
      update.prepare(w.db.get(), "UPDATE ThreadNames SET nameId = ?1, priority = ?2 WHERE globalTid = ?3");
    }
    update.bind(1, row.nameId);
    update.bind(2, row.priority);
    update.bind(3, row.globalTid);
    if (update.run() != SQLITE_OK) return w.error("write a thread's name");
  }
  return {};
}

}  // namespace warpmeter
