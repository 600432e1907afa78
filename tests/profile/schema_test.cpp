// SPDX-License-Identifier: Apache-2.0
// The file's shape is a contract with other people's tools: core tables as nsys 3.24.14 has them, ours as
// docs/format.md says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "profile/profile_files.h"
#include "profile/scratch.h"

namespace warpmeter {
namespace {

using namespace test;
using testing::Contains;
using testing::IsEmpty;

std::vector<std::string> linesOf(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

// "TABLE column TYPE [NOT NULL]" in the table's order.
std::vector<std::string> columnsOf(RawDb& db, const std::string& table) {
  return db.rows("SELECT '" + table +
                 " ' || name || ' ' || type || iif(\"notnull\", ' NOT NULL', '') "
                 "FROM pragma_table_info('" +
                 table + "') ORDER BY cid");
}

std::vector<std::string> coreTables(RawDb& db) {
  return db.rows(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'WM\\_%' ESCAPE '\\' "
      "AND name NOT LIKE 'sqlite%' ORDER BY name");
}

class Schema : public testing::Test {
 protected:
  Schema() { createWriter(path_); }

  Scratch scratch_;
  std::filesystem::path path_ = scratch_ / "a.wm.sqlite";
};

TEST_F(Schema, CoreColumnsAreThoseOfTheList) {
  RawDb db(path_);
  std::vector<std::string> columns;
  for (const std::string& table : coreTables(db)) {
    for (const std::string& line : columnsOf(db, table)) columns.push_back(line);
  }
  EXPECT_EQ(columns, linesOf(WARPMETER_SOURCE_DIR "/tests/profile/core_columns.txt"));
}

// Where a real export is at hand, the list itself is checked against it.
void compareWithExport(RawDb& own, const std::string& name, const std::set<std::string>& only) {
  const std::filesystem::path path = std::filesystem::path(WARPMETER_DATA_DIR) / "nsys" / name;
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << name << " beside the checkout";
  RawDb theirs(path, SQLITE_OPEN_READONLY);
  std::size_t compared = 0;
  for (const std::string& table : coreTables(theirs)) {
    if (!only.empty() && !only.contains(table)) continue;
    const std::vector<std::string> ours = columnsOf(own, table);
    if (ours.empty()) {
      EXPECT_EQ(table.substr(0, 5), "ENUM_") << table << " is missing in our file";
      continue;
    }
    EXPECT_EQ(ours, columnsOf(theirs, table));
    ++compared;
  }
  EXPECT_GE(compared, only.empty() ? 25u : only.size());
}

TEST_F(Schema, CoreColumnsAreThoseOfARealExport) {
  RawDb db(path_);
  compareWithExport(db, "rtx4060ti_streams.sqlite", {});
}

TEST_F(Schema, NvtxAndMemsetColumnsAreThoseOfARealExport) {
  RawDb db(path_);
  compareWithExport(db, "h100_2gpu_1s.sqlite", {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_MEMSET"});
}

TEST_F(Schema, EnumerationsAreThoseOfARealExport) {
  const std::filesystem::path path =
      std::filesystem::path(WARPMETER_DATA_DIR) / "nsys/rtx4060ti_streams.sqlite";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no rtx4060ti_streams.sqlite beside the checkout";
  RawDb own(path_), theirs(path, SQLITE_OPEN_READONLY);
  std::size_t tables = 0;
  for (const std::string& table : coreTables(own)) {
    if (table.substr(0, 5) != "ENUM_") continue;
    const std::vector<std::string> all = theirs.rows("SELECT id, name FROM " + table);
    for (const std::string& row : own.rows("SELECT id, name FROM " + table))
      EXPECT_THAT(all, Contains(row)) << table;
    if (table.find("NSYS") == std::string::npos) {  // those are cut down to CUDA and NVTX
      EXPECT_EQ(own.rows("SELECT id, name FROM " + table).size(), all.size()) << table;
    }
    ++tables;
  }
  EXPECT_EQ(tables, 18u);
}

TEST_F(Schema, SaysWhatItIs) {
  RawDb db(path_);
  EXPECT_EQ(db.value("PRAGMA application_id"), std::to_string(0x574d5046));
  EXPECT_EQ(db.value("PRAGMA user_version"), std::to_string(0x10001));
  EXPECT_EQ(db.value("SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'"), "3.24.14");
  EXPECT_EQ(db.value("SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_NAME'"), "Warpmeter");
  EXPECT_EQ(db.value("PRAGMA journal_mode"), "wal");
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path_).permissions(), perms::owner_read | perms::owner_write);
}

TEST_F(Schema, OwnTablesDoNotShadowThoseOfOthers) {
  // Clients fall back to any table with these words in its name, and add columns of these names.
  RawDb db(path_);
  EXPECT_THAT(
      db.rows("SELECT name FROM sqlite_master WHERE name LIKE 'WM\\_%' ESCAPE '\\' AND (name LIKE '%KERNEL%' "
              "OR name LIKE '%RUNTIME%' OR name LIKE '%NVTX%' OR name LIKE '%DRIVER%')"),
      IsEmpty());
  EXPECT_THAT(
      db.rows("SELECT m.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.name LIKE "
              "'CUPTI%' AND c.name IN ('name', 'kernelName', 'kernel_name', 'nvtxRange')"),
      IsEmpty());
}

// docs/format.md has a section "### WM_X" per table whose list items start with "- `column TYPE [NOT NULL]`".
std::map<std::string, std::vector<std::string>> documentedTables() {
  std::map<std::string, std::vector<std::string>> tables;
  std::ifstream in(WARPMETER_SOURCE_DIR "/docs/format.md");
  std::string table;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) {
      table = line.starts_with("### WM_") ? line.substr(4) : "";
      if (!table.empty()) tables[table];
    } else if (!table.empty() && line.starts_with("- `")) {
      tables[table].push_back(table + " " + line.substr(3, line.find('`', 3) - 3));
    }
  }
  return tables;
}

TEST_F(Schema, OwnTablesAreThoseOfTheDocumentation) {
  std::map<std::string, std::vector<std::string>> documented = documentedTables(), actual;
  RawDb db(path_);
  for (const std::string& name :
       db.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'WM\\_%' ESCAPE '\\'")) {
    actual[name] = columnsOf(db, name);
  }
  // WM_UNTIMED is described as "the kernel table's columns".
  std::vector<std::string> kernel = columnsOf(db, "CUPTI_ACTIVITY_KIND_KERNEL");
  for (std::string& line : kernel) {
    line.replace(0, line.find(' '), "WM_UNTIMED");
    if (line == "WM_UNTIMED start INTEGER NOT NULL" || line == "WM_UNTIMED end INTEGER NOT NULL") {
      line.resize(line.size() - std::string(" NOT NULL").size());
    }
  }
  EXPECT_EQ(actual["WM_UNTIMED"], kernel);
  EXPECT_THAT(documented["WM_UNTIMED"], IsEmpty());
  actual["WM_UNTIMED"].clear();
  EXPECT_EQ(actual, documented);
}

TEST_F(Schema, MarkKindsAreThoseOfTheHeader) {
  RawDb db(path_);
  EXPECT_EQ(db.value("SELECT id FROM WM_MARK_KIND WHERE name = 'cu_init_finished'"),
            std::to_string(static_cast<int>(MarkKind::cuInitFinished)));
  EXPECT_EQ(db.value("SELECT id FROM WM_MARK_KIND WHERE name = 'process_exit'"),
            std::to_string(static_cast<int>(MarkKind::processExit)));
  EXPECT_EQ(db.value("SELECT count(*) FROM WM_MARK_KIND"), "10");
}

}  // namespace
}  // namespace warpmeter
