// SPDX-License-Identifier: Apache-2.0
#include "sqlite_db.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace warpmeter {

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(stmt_, other.stmt_);
  return *this;
}

int Statement::prepare(sqlite3* db, std::string_view sql, unsigned flags) {
  sqlite3_finalize(stmt_);
  stmt_ = nullptr;
  return sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), flags, &stmt_, nullptr);
}

int Statement::run() {
  const int rc = sqlite3_step(stmt_);
  sqlite3_reset(stmt_);
  return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

void Statement::bind(int index, std::int64_t value) {
  if (isNull(value)) {
    sqlite3_bind_null(stmt_, index);
  } else {
    sqlite3_bind_int64(stmt_, index, value);
  }
}

void Statement::bind(int index, std::string_view text) {
  // A null pointer would bind NULL, also with length 0.
  sqlite3_bind_text64(stmt_, index, text.data() ? text.data() : "", text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
}

void Statement::bind(int index, double value) { sqlite3_bind_double(stmt_, index, value); }

void Statement::bind(int index, std::span<const std::byte> blob) {
  if (blob.empty()) {
    sqlite3_bind_zeroblob(stmt_, index, 0);
  } else {
    sqlite3_bind_blob64(stmt_, index, blob.data(), blob.size(), SQLITE_STATIC);
  }
}

void Statement::bindOrNull(int index, std::string_view text) {
  if (text.empty()) {
    sqlite3_bind_null(stmt_, index);
  } else {
    bind(index, text);
  }
}

std::int64_t Statement::integer(int column) const {
  if (sqlite3_column_type(stmt_, column) == SQLITE_NULL) return kNull;
  return sqlite3_column_int64(stmt_, column);
}

std::string Statement::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(stmt_, column));
  if (!data) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column))};
}

double Statement::real(int column) const { return sqlite3_column_double(stmt_, column); }

std::span<const std::byte> Statement::blob(int column) const {
  const void* data = sqlite3_column_blob(stmt_, column);
  if (data == nullptr) return {};
  return {static_cast<const std::byte*>(data), static_cast<std::size_t>(sqlite3_column_bytes(stmt_, column))};
}

Db& Db::operator=(Db&& other) noexcept {
  std::swap(db_, other.db_);
  return *this;
}

int Db::open(const std::string& name, int flags) {
  close();
  const int rc = sqlite3_open_v2(name.c_str(), &db_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (db_) sqlite3_extended_result_codes(db_, 1);
  return rc;
}

void Db::close() {
  if (db_) sqlite3_close_v2(db_);
  db_ = nullptr;
}

std::int64_t Db::scalar(std::string_view sql) const {
  Statement statement;
  if (statement.prepare(db_, sql) != SQLITE_OK || statement.step() != SQLITE_ROW) return kNull;
  return statement.integer(0);
}

namespace {

ErrorKind kindOfErrno(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return ErrorKind::notFound;
    case EISDIR:
      return ErrorKind::isDirectory;
    case EACCES:
    case EPERM:
    case EROFS:
      return ErrorKind::noPermission;
    case EEXIST:
      return ErrorKind::exists;
    case ENOSPC:
    case EFBIG:
    case EDQUOT:
      return ErrorKind::diskFull;
    default:
      return ErrorKind::io;
  }
}

ErrorKind kindOfSqlite(int code, int systemError) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return ErrorKind::diskFull;
    case SQLITE_IOERR: {
      // A write beyond RLIMIT_FSIZE fails with EFBIG, which SQLite reports as an I/O error.
      const ErrorKind kind = kindOfErrno(systemError);
      return kind == ErrorKind::diskFull ? kind : ErrorKind::io;
    }
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorKind::busy;
    case SQLITE_CORRUPT:
      return ErrorKind::truncated;
    case SQLITE_NOTADB:
      return ErrorKind::foreign;
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return ErrorKind::noPermission;
    case SQLITE_CANTOPEN:
      return systemError ? kindOfErrno(systemError) : ErrorKind::io;
    case SQLITE_INTERRUPT:
      return ErrorKind::cancelled;
    case SQLITE_CONSTRAINT:
      return ErrorKind::usage;
    default:
      return ErrorKind::io;
  }
}

// The text of an errno, with the limit's name where it is one that people set.
std::string errnoText(int error) {
  if (error == EMFILE) return "the limit of open files (ulimit -n) is reached";
  if (error == EFBIG) return "the file size limit (ulimit -f) is reached";
  return std::strerror(error);
}

}  // namespace

Error toError(sqlite3* db, const std::filesystem::path& path, std::string_view doing) {
  const int lastErrno = errno;
  const int code = db ? sqlite3_extended_errcode(db) : SQLITE_NOMEM;
  int systemError = db ? sqlite3_system_errno(db) : 0;
  // A COMMIT that fails leaves no errno with SQLite; the thread's own is that of the write then.
  if (systemError == 0 && code == SQLITE_IOERR_WRITE) systemError = lastErrno;
  const ErrorKind kind = kindOfSqlite(code, systemError);
  if (kind == ErrorKind::diskFull) {
    const char* why =
        systemError == EFBIG ? "the file size limit (ulimit -f) is reached" : "the disk is full";
    return {kind, fmt::format("{}: cannot {}: {}", path.string(), doing, why)};
  }
  if (kind == ErrorKind::truncated) {
    return {kind, fmt::format("{}: damaged or cut off: record or copy it again", path.string())};
  }
  std::string why = db ? sqlite3_errmsg(db) : "out of memory";
  const bool fromSystem = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  if (systemError && fromSystem) why += fmt::format(" ({})", errnoText(systemError));
  return {kind, fmt::format("{}: cannot {}: {}", path.string(), doing, why)};
}

Error errnoError(int error, const std::filesystem::path& path, std::string_view doing) {
  return {kindOfErrno(error), fmt::format("{}: cannot {}: {}", path.string(), doing, errnoText(error))};
}

}  // namespace warpmeter
