// SPDX-License-Identifier: Apache-2.0
// The inside of ProfileReader, shared by the files that implement it.
#pragma once

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "connection_pool.h"
#include "row_tables.h"
#include "warpmeter/profile/reader.h"

namespace warpmeter {

class RowSink;  // reader_rows.cpp

struct ProfileReader::Impl {
  Impl(std::filesystem::path file, OpenedFile opened) : path(std::move(file)), pool(std::move(opened)) {}

  Result<void> loadSchema();

  bool hasTable(std::string_view table) const { return columns.find(table) != columns.end(); }
  bool hasColumn(std::string_view table, std::string_view column) const;
  // The column's quoted name, or NULL where the file lacks it.
  std::string column(std::string_view table, std::string_view name) const;

  Error error(Db& db, std::string_view doing) const { return toError(db.get(), path, doing); }

  // Runs `sql` and calls `row` for every row it gives.
  template <class Fn>
  Result<void> forEach(const std::string& sql, const Fn& row) {
    Result<ConnectionPool::Lease> db = pool.take(path);
    if (!db) return std::move(db).error();
    Statement statement;
    if (statement.prepare((*db)->get(), sql) != SQLITE_OK) return error(**db, "read it");
    int rc = SQLITE_OK;
    while ((rc = statement.step()) == SQLITE_ROW) row(statement);
    if (rc != SQLITE_DONE) return error(**db, "read it");
    return {};
  }

  template <class Row>
  Result<void> readRows(Table table, RowRange range, const Visit<Row>& visit, std::stop_token stop,
                        std::span<const std::string_view> leftOut = {});
  Result<void> runInto(Db& db, RowSink& sink, const std::string& sql, RowRange range);
  std::int64_t rowEnd(Table table);

  // "SELECT a, b, NULL FROM table": the named columns as far as the file has them.
  std::string select(const char* table, std::initializer_list<const char*> names) const;
  Result<std::vector<ProcessInfo>> importedProcesses();
  Result<void> readGpus(const char* table, std::vector<GpuInfo>& result);

  // NVTX texts that have no id in the file get one, counting down from -1 in order of appearance.
  Result<void> loadNvtxTexts();

  std::filesystem::path path;
  mutable ConnectionPool pool;
  std::string schemaVersion;
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> columns;  // table -> columns

  std::mutex nvtxMutex;
  bool nvtxLoaded = false;
  std::unordered_map<std::string, std::int64_t> nvtxTexts;
};

}  // namespace warpmeter
