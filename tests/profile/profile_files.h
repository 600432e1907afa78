// SPDX-License-Identifier: Apache-2.0
// Short ways to make, open and look into profiles.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "warpmeter/profile/reader.h"
#include "warpmeter/profile/writer.h"

namespace warpmeter::test {

inline ProfileWriter createWriter(const std::filesystem::path& path, const SessionInfo& session = {}) {
  Result<ProfileWriter> writer = ProfileWriter::create(path, session);
  if (!writer) throw std::runtime_error(writer.error().message);  // fails the test by name
  return std::move(writer).value();
}

inline ProfileReader openReader(const std::filesystem::path& path) {
  Result<ProfileReader> reader = ProfileReader::open(path);
  if (!reader) throw std::runtime_error(reader.error().message);
  return std::move(reader).value();
}

template <class T>
T valueOf(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(result).value();
}

inline void require(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

template <class Row>
std::vector<Row> readAll(const ProfileReader& reader, RowRange range = {}) {
  std::vector<Row> result;
  const ProfileReader::Visit<Row> visit = [&](std::span<const Row> rows, std::span<const std::int64_t>) {
    result.insert(result.end(), rows.begin(), rows.end());
  };
  require(reader.read(range, visit));
  return result;
}

// A launch with every NOT NULL column set.
inline KernelRow launch(std::int64_t start, std::int64_t end, std::int64_t stream = 7,
                        std::int64_t name = 1) {
  KernelRow k;
  std::int64_t* column = &k.start;
  for (std::size_t i = 0; i < sizeof(KernelRow) / sizeof(std::int64_t); ++i) column[i] = 1;
  k.start = start;
  k.end = end;
  k.deviceId = 0;
  k.streamId = stream;
  k.globalPid = makeGlobalPid(4711).value;
  k.demangledName = k.shortName = k.mangledName = name;
  return k;
}

template <class Row>
Result<void> appendOne(ProfileWriter& writer, const Row& row) {
  return writer.append(std::span<const Row>(&row, 1));
}

// A plain SQLite connection, to see the file as others do.
class RawDb {
 public:
  explicit RawDb(const std::filesystem::path& path, int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) {
    if (sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) != SQLITE_OK)
      ADD_FAILURE() << sqlite3_errmsg(db_);
  }
  ~RawDb() { sqlite3_close(db_); }
  RawDb(const RawDb&) = delete;
  RawDb& operator=(const RawDb&) = delete;

  void exec(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(db_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db_);
  }

  // Every row as its columns joined by '|'; NULL reads as "NULL".
  std::vector<std::string> rows(const std::string& sql) {
    std::vector<std::string> result;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK)
        << sqlite3_errmsg(db_);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      std::string line;
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        if (i) line += '|';
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, i));
        line +=
            text ? std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, i))) : "NULL";
      }
      result.push_back(line);
    }
    sqlite3_finalize(statement);
    return result;
  }
  std::string value(const std::string& sql) {
    const std::vector<std::string> all = rows(sql);
    return all.empty() ? "no row" : all.front();
  }

 private:
  sqlite3* db_ = nullptr;
};

}  // namespace warpmeter::test
