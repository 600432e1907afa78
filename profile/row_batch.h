// SPDX-License-Identifier: Apache-2.0
// RowBatch: a span of rows as a virtual table, so that one INSERT ... SELECT moves a whole batch. Compared
// with bind + step for every row this saves a reset and a statement start per row, about half of the time
// (benchmarks/profile_writer_bench.cpp). Not thread safe: belongs to the connection's thread.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "row_tables.h"
#include "string_table.h"

namespace warpmeter {

class RowBatch {
 public:
  // After the row's own columns follows `text`, the string that column `textColumn` refers to, if it is >= 0.
  RowBatch(Table table, const StringTable& strings, int textColumn = -1);

  // The batch must stay at its address while the connection lives.
  int attach(sqlite3* db);
  std::string insertSql() const;

  // `rows` need to live only until the statement made of insertSql() has been stepped.
  void set(const std::int64_t* rows, std::size_t count) {
    begin_ = rows;
    end_ = rows + count * columns_;
  }

  const std::int64_t* begin() const { return begin_; }
  const std::int64_t* end() const { return end_; }
  std::size_t columns() const { return columns_; }
  int textColumn() const { return textColumn_; }
  const StringTable& strings() const { return strings_; }

 private:
  const TableInfo& info_;
  const StringTable& strings_;
  std::size_t columns_;
  int textColumn_;
  std::string moduleName_;
  const std::int64_t* begin_ = nullptr;
  const std::int64_t* end_ = nullptr;
};

// The strings (first, last] of a StringTable as a virtual table `wm_strings(id, value)`.
class StringBatch {
 public:
  explicit StringBatch(const StringTable& strings) : strings_(strings) {}
  int attach(sqlite3* db);
  static const char* insertSql() { return "INSERT INTO StringIds SELECT id, value FROM wm_strings"; }

  void set(std::int64_t first, std::int64_t last) {
    first_ = first;
    last_ = last;
  }
  std::int64_t first() const { return first_; }
  std::int64_t last() const { return last_; }
  const StringTable& strings() const { return strings_; }

 private:
  const StringTable& strings_;
  std::int64_t first_ = 0, last_ = 0;
};

}  // namespace warpmeter
