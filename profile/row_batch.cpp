// SPDX-License-Identifier: Apache-2.0
#include "row_batch.h"

#include <fmt/format.h>

#include <new>
#include <utility>

namespace warpmeter {

namespace {

// Both virtual tables are eponymous, read only and scanned from start to end; only the cursor differs.
struct RowCursor {
  sqlite3_vtab_cursor base;
  const std::int64_t* row;
  const RowBatch* batch;
};

struct StringCursor {
  sqlite3_vtab_cursor base;
  std::int64_t id;
  const StringBatch* batch;
};

template <class Batch>
struct BatchTable {
  sqlite3_vtab base;
  const Batch* batch;
};

std::string declaration(const RowBatch& batch) {
  std::string sql = "CREATE TABLE x(";
  for (std::size_t i = 0; i < batch.columns(); ++i) sql += fmt::format("{}c{}", i ? ", " : "", i);
  return sql + (batch.textColumn() >= 0 ? ", text)" : ")");
}

std::string declaration(const StringBatch&) { return "CREATE TABLE x(id, value)"; }

template <class Batch>
int connect(sqlite3* db, void* aux, int, const char* const*, sqlite3_vtab** out, char**) {
  const auto* batch = static_cast<const Batch*>(aux);
  const int rc = sqlite3_declare_vtab(db, declaration(*batch).c_str());
  if (rc != SQLITE_OK) return rc;
  auto* table = new (std::nothrow) BatchTable<Batch>{{}, batch};
  if (!table) return SQLITE_NOMEM;
  *out = &table->base;
  return SQLITE_OK;
}

template <class Batch>
int disconnect(sqlite3_vtab* table) {
  delete reinterpret_cast<BatchTable<Batch>*>(table);
  return SQLITE_OK;
}

int bestIndex(sqlite3_vtab*, sqlite3_index_info* info) {
  info->estimatedCost = 1000;
  return SQLITE_OK;
}

template <class Batch, class Cursor>
int openCursor(sqlite3_vtab* table, sqlite3_vtab_cursor** out) {
  auto* cursor = new (std::nothrow) Cursor{{}, {}, reinterpret_cast<BatchTable<Batch>*>(table)->batch};
  if (!cursor) return SQLITE_NOMEM;
  *out = &cursor->base;
  return SQLITE_OK;
}

template <class Cursor>
Cursor& cast(sqlite3_vtab_cursor* cursor) {
  return *reinterpret_cast<Cursor*>(cursor);
}

template <class Cursor>
int closeCursor(sqlite3_vtab_cursor* cursor) {
  delete &cast<Cursor>(cursor);
  return SQLITE_OK;
}

int rowFilter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) {
  cast<RowCursor>(cursor).row = cast<RowCursor>(cursor).batch->begin();
  return SQLITE_OK;
}

int rowNext(sqlite3_vtab_cursor* cursor) {
  cast<RowCursor>(cursor).row += cast<RowCursor>(cursor).batch->columns();
  return SQLITE_OK;
}

int rowEof(sqlite3_vtab_cursor* cursor) {
  return cast<RowCursor>(cursor).row >= cast<RowCursor>(cursor).batch->end();
}

// The table outlives the statement and never changes a text, so SQLite need not copy it.
void resultText(sqlite3_context* context, std::string_view text) {
  sqlite3_result_text64(context, text.data() ? text.data() : "", text.size(), SQLITE_STATIC, SQLITE_UTF8);
}

int rowColumn(sqlite3_vtab_cursor* base, sqlite3_context* context, int column) {
  const RowCursor& cursor = cast<RowCursor>(base);
  const RowBatch& batch = *cursor.batch;
  if (static_cast<std::size_t>(column) < batch.columns()) {
    const std::int64_t value = cursor.row[column];
    if (!isNull(value)) sqlite3_result_int64(context, value);  // the result is NULL when nothing is set
  } else if (const std::int64_t id = cursor.row[batch.textColumn()]; batch.strings().contains(id)) {
    resultText(context, batch.strings().text(id));
  }
  return SQLITE_OK;
}

int rowRowid(sqlite3_vtab_cursor* base, sqlite3_int64* out) {
  const RowCursor& cursor = cast<RowCursor>(base);
  *out = cursor.row - cursor.batch->begin();
  return SQLITE_OK;
}

int stringFilter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) {
  cast<StringCursor>(cursor).id = cast<StringCursor>(cursor).batch->first() + 1;
  return SQLITE_OK;
}

int stringNext(sqlite3_vtab_cursor* cursor) {
  ++cast<StringCursor>(cursor).id;
  return SQLITE_OK;
}

int stringEof(sqlite3_vtab_cursor* cursor) {
  return cast<StringCursor>(cursor).id > cast<StringCursor>(cursor).batch->last();
}

int stringColumn(sqlite3_vtab_cursor* base, sqlite3_context* context, int column) {
  const StringCursor& cursor = cast<StringCursor>(base);
  if (column == 0) {
    sqlite3_result_int64(context, cursor.id);
  } else {
    resultText(context, cursor.batch->strings().text(cursor.id));
  }
  return SQLITE_OK;
}

int stringRowid(sqlite3_vtab_cursor* base, sqlite3_int64* out) {
  *out = cast<StringCursor>(base).id;
  return SQLITE_OK;
}

template <class Batch, class Cursor>
constexpr sqlite3_module moduleOf(int (*filter)(sqlite3_vtab_cursor*, int, const char*, int, sqlite3_value**),
                                  int (*next)(sqlite3_vtab_cursor*), int (*eof)(sqlite3_vtab_cursor*),
                                  int (*column)(sqlite3_vtab_cursor*, sqlite3_context*, int),
                                  int (*rowid)(sqlite3_vtab_cursor*, sqlite3_int64*)) {
  sqlite3_module module{};  // xCreate stays null: the table exists by its name alone
  module.xConnect = connect<Batch>;
  module.xBestIndex = bestIndex;
  module.xDisconnect = disconnect<Batch>;
  module.xOpen = openCursor<Batch, Cursor>;
  module.xClose = closeCursor<Cursor>;
  module.xFilter = filter;
  module.xNext = next;
  module.xEof = eof;
  module.xColumn = column;
  module.xRowid = rowid;
  return module;
}

constexpr sqlite3_module kRowModule =
    moduleOf<RowBatch, RowCursor>(rowFilter, rowNext, rowEof, rowColumn, rowRowid);
constexpr sqlite3_module kStringModule =
    moduleOf<StringBatch, StringCursor>(stringFilter, stringNext, stringEof, stringColumn, stringRowid);

}  // namespace

RowBatch::RowBatch(Table table, const StringTable& strings, int textColumn)
    : info_(tableInfo(table)),
      strings_(strings),
      columns_(info_.columns.size()),
      textColumn_(textColumn),
      moduleName_(fmt::format("wm_batch_{}", info_.name)) {}

int RowBatch::attach(sqlite3* db) {
  return sqlite3_create_module_v2(db, moduleName_.c_str(), &kRowModule, this, nullptr);
}

std::string RowBatch::insertSql() const {
  std::string names, values;
  for (std::size_t i = 0; i < columns_; ++i) {
    names += fmt::format("{}\"{}\"", i ? ", " : "", info_.columns[i]);
    values += fmt::format("{}c{}", i ? ", " : "", i);
  }
  if (textColumn_ >= 0) {
    names += ", text";
    values += ", text";
  }
  // OR IGNORE leaves out rows that have NULL where the table has NOT NULL; the writer counts them.
  return fmt::format("INSERT OR IGNORE INTO {} ({}{}) SELECT {}{} FROM {}", info_.name, names,
                     info_.constantColumns, values, info_.constantValues, moduleName_);
}

int StringBatch::attach(sqlite3* db) {
  return sqlite3_create_module_v2(db, "wm_strings", &kStringModule, this, nullptr);
}

}  // namespace warpmeter
