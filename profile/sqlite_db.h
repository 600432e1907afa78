// SPDX-License-Identifier: Apache-2.0
// RAII around sqlite3 and sqlite3_stmt. Return codes stay SQLite's; toError makes the line for a person.
// A Db belongs to one thread at a time (opened with SQLITE_OPEN_NOMUTEX).
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "warpmeter/profile/ids.h"
#include "warpmeter/profile/result.h"

namespace warpmeter {

class Statement {
 public:
  Statement() = default;
  Statement(Statement&& other) noexcept : stmt_(other.stmt_) { other.stmt_ = nullptr; }
  Statement& operator=(Statement&& other) noexcept;
  ~Statement() { sqlite3_finalize(stmt_); }

  int prepare(sqlite3* db, std::string_view sql, unsigned flags = 0);
  explicit operator bool() const { return stmt_ != nullptr; }
  sqlite3_stmt* get() const { return stmt_; }

  int step() { return sqlite3_step(stmt_); }
  void reset() { sqlite3_reset(stmt_); }
  // Steps a statement without rows once and resets it. SQLITE_OK when done.
  int run();

  // Parameters count from 1. kNull binds NULL. Text is copied.
  void bind(int index, std::int64_t value);
  void bind(int index, std::string_view text);
  void bind(int index, double value);
  void bind(int index, std::span<const std::byte> blob);  // must live until the statement has run
  // An empty text binds NULL.
  void bindOrNull(int index, std::string_view text);

  std::int64_t integer(int column) const;  // kNull for NULL
  std::string text(int column) const;      // empty for NULL; keeps embedded NULs
  double real(int column) const;           // 0 for NULL
  std::span<const std::byte> blob(int column) const;  // valid until the next step

 private:
  sqlite3_stmt* stmt_ = nullptr;
};

class Db {
 public:
  Db() = default;
  Db(Db&& other) noexcept : db_(other.db_) { other.db_ = nullptr; }
  Db& operator=(Db&& other) noexcept;
  ~Db() { close(); }

  int open(const std::string& name, int flags);
  void close();
  int exec(const char* sql) { return sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); }
  // First column of the first row; kNull when there is none or on an error.
  std::int64_t scalar(std::string_view sql) const;
  sqlite3* get() const { return db_; }
  explicit operator bool() const { return db_ != nullptr; }

 private:
  sqlite3* db_ = nullptr;
};

// What SQLite's last result code on `db` means, as one line "PATH: cannot DOING: why".
Error toError(sqlite3* db, const std::filesystem::path& path, std::string_view doing);
// The same for an errno.
Error errnoError(int error, const std::filesystem::path& path, std::string_view doing);

}  // namespace warpmeter
