// SPDX-License-Identifier: Apache-2.0
// Tables with many rows, as batches of integers.
#include <limits>

#include <fmt/format.h>

#include "reader_impl.h"

namespace warpmeter {

namespace {

constexpr std::size_t kBatchRows = 4096;

// Zero is what SQLite gives for NULL too, so only zeros need the second look.
std::int64_t integerOrNull(sqlite3_stmt* statement, int column) {
  const std::int64_t value = sqlite3_column_int64(statement, column);
  if (value == 0 && sqlite3_column_type(statement, column) == SQLITE_NULL) return kNull;
  return value;
}

template <class Row>
class BatchReader {
 public:
  explicit BatchReader(const ProfileReader::Visit<Row>& visit)
      : visit_(visit), rows_(kBatchRows), rowids_(kBatchRows) {}

  std::int64_t* next(std::int64_t rowid) {
    rowids_[used_] = rowid;
    return reinterpret_cast<std::int64_t*>(&rows_[used_++]);
  }
  bool full() const { return used_ == kBatchRows; }
  void flush() {
    if (used_) visit_(std::span<const Row>(rows_.data(), used_), std::span<const std::int64_t>(rowids_.data(), used_));
    used_ = 0;
  }

 private:
  const ProfileReader::Visit<Row>& visit_;
  std::vector<Row> rows_;
  std::vector<std::int64_t> rowids_;
  std::size_t used_ = 0;
};

}  // namespace

template <class Row>
Result<void> ProfileReader::Impl::readRows(Table table, RowRange range, const Visit<Row>& visit,
                                           std::stop_token stop) {
  const TableInfo& info = tableInfo(table);
  if (!hasTable(info.name) || range.first >= range.last) return {};
  constexpr bool kIsNvtx = std::is_same_v<Row, NvtxRow>;
  constexpr int kTextId = static_cast<int>(offsetof(NvtxRow, textId) / sizeof(std::int64_t));
  constexpr int kColumns = static_cast<int>(kColumnsOf<Row>);

  std::string sql = "SELECT rowid";
  for (const char* name : info.columns) sql += ", " + column(info.name, name);
  if (kIsNvtx) {
    if (Result<void> loaded = loadNvtxTexts(); !loaded) return loaded;
    sql += nvtxTexts.empty() ? ", NULL" : ", text";
  }
  sql += fmt::format(" FROM {} WHERE rowid >= ?1 AND rowid < ?2", info.name);

  Result<ConnectionPool::Lease> db = pool.take(path);
  if (!db) return std::move(db).error();
  Statement statement;
  if (statement.prepare((*db)->get(), sql) != SQLITE_OK) return error(**db, "read it");
  statement.bind(1, range.first);
  statement.bind(2, range.last);
  BatchReader<Row> batch(visit);
  int rc = SQLITE_OK;
  while ((rc = statement.step()) == SQLITE_ROW) {
    std::int64_t* row = batch.next(sqlite3_column_int64(statement.get(), 0));
    for (int i = 0; i < kColumns; ++i) row[i] = integerOrNull(statement.get(), i + 1);
    if (kIsNvtx && isNull(row[kTextId]) && sqlite3_column_type(statement.get(), kColumns + 1) == SQLITE_TEXT) {
      // The map is complete and no longer changes, so no lock is needed.
      const auto known = nvtxTexts.find(statement.text(kColumns + 1));
      if (known != nvtxTexts.end()) row[kTextId] = known->second;
    }
    if (!batch.full()) continue;
    batch.flush();
    if (stop.stop_requested()) return Error{ErrorKind::cancelled, fmt::format("{}: cancelled", path.string())};
  }
  if (rc != SQLITE_DONE) return error(**db, "read it");
  batch.flush();
  return {};
}

#define WARPMETER_READ(Row)                                                                               \
  Result<void> ProfileReader::read(RowRange range, const Visit<Row>& visit, std::stop_token stop) const { \
    return impl_->readRows<Row>(kTableOf<Row>, range, visit, std::move(stop));                            \
  }                                                                                                       \
  template <>                                                                                             \
  std::int64_t ProfileReader::rowEnd<Row>() const {                                                       \
    return impl_->rowEnd(kTableOf<Row>);                                                                  \
  }

WARPMETER_READ(KernelRow)
WARPMETER_READ(ApiRow)
WARPMETER_READ(MemcpyRow)
WARPMETER_READ(MemsetRow)
WARPMETER_READ(SyncRow)
WARPMETER_READ(CudaEventRow)
WARPMETER_READ(OverheadRow)
WARPMETER_READ(NvtxRow)
WARPMETER_READ(MemoryRow)
WARPMETER_READ(MarkRow)

#undef WARPMETER_READ

Result<void> ProfileReader::readUntimed(RowRange range, const Visit<KernelRow>& visit, std::stop_token stop) const {
  return impl_->readRows<KernelRow>(Table::untimed, range, visit, std::move(stop));
}

std::int64_t ProfileReader::Impl::rowEnd(Table table) {
  const char* name = tableInfo(table).name;
  if (!hasTable(name)) return 0;
  Result<ConnectionPool::Lease> db = pool.take(path);
  if (!db) return 0;
  const std::int64_t last = (*db)->scalar(fmt::format("SELECT max(rowid) FROM {}", name));
  return isNull(last) ? 0 : last + 1;
}

}  // namespace warpmeter
