// SPDX-License-Identifier: Apache-2.0
// Tables with many rows, as batches of integers.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reader_impl.h"

namespace warpmeter {

namespace {

constexpr std::size_t kBatchRows = 4096;

// What readLaunches() does without.
constexpr std::string_view kBesideLaunches[] = {
    "launchType",         "cacheConfig",    "localMemoryTotal", "gridId",  "sharedMemoryLimitConfig",
    "qmdBulkReleaseDone", "qmdPreexitDone", "qmdLastCtaDone",   "graphId", "clusterSchedulingPolicy"};

}  // namespace

// Rows reach us through an aggregate function, wm_take(rowid, column, ...): SQLite hands it the values of a
// row at once, and the statement is stepped once for the whole range. Against a step and one call per column
// for every row this takes a fifth off the time to read a million kernels and two million API calls.
class RowSink {
 public:
  virtual ~RowSink() = default;
  // False stops the statement.
  virtual bool take(sqlite3_value** values) = 0;
};

namespace {

// Zero is what SQLite gives for NULL and for text that is no number too, so only zeros need the second look.
std::int64_t integerOrNull(sqlite3_value* value) {
  const std::int64_t number = sqlite3_value_int64(value);
  if (number != 0) return number;
  const int type = sqlite3_value_type(value);
  return type == SQLITE_INTEGER || type == SQLITE_FLOAT ? 0 : kNull;
}

void takeStep(sqlite3_context* context, int, sqlite3_value** values) noexcept {
  auto* sink = static_cast<RowSink*>(sqlite3_user_data(context));
  if (!sink->take(values)) sqlite3_result_error_code(context, SQLITE_INTERRUPT);
}

void takeFinal(sqlite3_context* context) noexcept { sqlite3_result_null(context); }

template <class Row>
class BatchSink final : public RowSink {
 public:
  using Texts = std::unordered_map<std::string, std::int64_t>;

  BatchSink(const ProfileReader::Visit<Row>& visit, const Texts& texts, std::stop_token stop)
      : visit_(visit), texts_(texts), stop_(std::move(stop)), rows_(kBatchRows), rowids_(kBatchRows) {}

  bool take(sqlite3_value** values) override {
    rowids_[used_] = sqlite3_value_int64(values[0]);
    auto* row = reinterpret_cast<std::int64_t*>(&rows_[used_]);
    for (std::size_t i = 0; i < kColumns; ++i) row[i] = integerOrNull(values[i + 1]);
    if constexpr (std::is_same_v<Row, NvtxRow>) {
      if (isNull(rows_[used_].textId)) rows_[used_].textId = idOf(values[kColumns + 1]);
    }
    ++used_;
    return used_ < kBatchRows || flush();
  }

  // False when cancelled, or when visit threw.
  bool flush() {
    if (used_ == 0) return true;
    try {
      visit_(std::span<const Row>(rows_.data(), used_), std::span<const std::int64_t>(rowids_.data(), used_));
    } catch (...) {
      thrown_ = std::current_exception();  // not through SQLite's frames
      return false;
    }
    used_ = 0;
    return !stop_.stop_requested();
  }

  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  static constexpr std::size_t kColumns = kColumnsOf<Row>;

  // The map is complete before reading starts, so no lock is needed.
  std::int64_t idOf(sqlite3_value* text) const {
    if (sqlite3_value_type(text) != SQLITE_TEXT) return kNull;
    const auto* data = reinterpret_cast<const char*>(sqlite3_value_text(text));
    const auto known = texts_.find(std::string(data, static_cast<std::size_t>(sqlite3_value_bytes(text))));
    return known == texts_.end() ? kNull : known->second;
  }

  const ProfileReader::Visit<Row>& visit_;
  const Texts& texts_;
  std::stop_token stop_;
  std::exception_ptr thrown_;
  std::vector<Row> rows_;
  std::vector<std::int64_t> rowids_;
  std::size_t used_ = 0;
};

int registerSink(Db& db, RowSink* sink) {
  return sqlite3_create_function_v2(db.get(), "wm_take", -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, sink, nullptr,
                                    sink ? takeStep : nullptr, sink ? takeFinal : nullptr, nullptr);
}

}  // namespace

template <class Row>
Result<void> ProfileReader::Impl::readRows(Table table, RowRange range, const Visit<Row>& visit,
                                           std::stop_token stop, std::span<const std::string_view> leftOut) {
  const TableInfo& info = tableInfo(table);
  if (!hasTable(info.name) || range.first >= range.last) return {};
  std::string sql = "SELECT wm_take(rowid";
  for (const char* name : info.columns) {
    const bool wanted = std::find(leftOut.begin(), leftOut.end(), name) == leftOut.end();
    sql += ", " + (wanted ? column(info.name, name) : "NULL");
  }
  if constexpr (std::is_same_v<Row, NvtxRow>) {
    if (Result<void> loaded = loadNvtxTexts(); !loaded) return loaded;
    sql += nvtxTexts.empty() ? ", NULL" : ", text";
  }
  sql += fmt::format(") FROM {} WHERE rowid >= ?1 AND rowid < ?2", info.name);

  Result<ConnectionPool::Lease> db = pool.take(path);
  if (!db) return std::move(db).error();
  BatchSink<Row> sink(visit, nvtxTexts, stop);
  Result<void> read = runInto(**db, sink, sql, range);
  sink.rethrow();
  if (stop.stop_requested()) return Error{ErrorKind::cancelled, fmt::format("{}: cancelled", path.string())};
  if (!read) return read;
  sink.flush();
  sink.rethrow();
  return {};
}

Result<void> ProfileReader::Impl::runInto(Db& db, RowSink& sink, const std::string& sql, RowRange range) {
  Result<void> result;
  if (registerSink(db, &sink) != SQLITE_OK) return error(db, "read it");
  {
    Statement statement;
    if (statement.prepare(db.get(), sql) == SQLITE_OK) {
      statement.bind(1, range.first);
      statement.bind(2, range.last);
      if (statement.step() != SQLITE_ROW) result = error(db, "read it");
    } else {
      result = error(db, "read it");
    }
  }
  registerSink(db, nullptr);  // the sink is about to go; after the statement, which uses it
  return result;
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
WARPMETER_READ(LatencyRow)
WARPMETER_READ(GpuMetricRow)

#undef WARPMETER_READ

Result<void> ProfileReader::readUntimed(RowRange range, const Visit<KernelRow>& visit,
                                        std::stop_token stop) const {
  return impl_->readRows<KernelRow>(Table::untimed, range, visit, std::move(stop));
}

Result<void> ProfileReader::readLaunches(RowRange range, const Visit<KernelRow>& visit,
                                         std::stop_token stop) const {
  return impl_->readRows<KernelRow>(Table::kernel, range, visit, std::move(stop), kBesideLaunches);
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
