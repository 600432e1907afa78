// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/profile/reader.h"

#include <fmt/format.h>

#include <utility>

#include "reader_impl.h"

namespace warpmeter {
namespace {

// Every file of ours has these from its first moment, also when they stay empty.
constexpr const char* kAlwaysThere[] = {"CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME",
                                        "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
                                        "StringIds",                  "WM_SESSION",
                                        "WM_PROCESS",                 "WM_LOSS"};

}  // namespace

Result<void> ProfileReader::Impl::loadSchema() {
  const Result<void> read = forEach(
      "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'",
      [&](const Statement& row) { columns[row.text(0)].insert(row.text(1)); });
  if (!read) return read;
  for (const char* table : kAlwaysThere) {
    if (pool.kind() != FileKind::warpmeter || hasTable(table)) continue;
    return Error{ErrorKind::truncated,
                 fmt::format("{}: damaged: its table {} is missing: record or copy it again", path.string(), table)};
  }
  schemaVersion = "unversioned";
  for (const char* table : {"EXPORT_META_DATA", "META_DATA_EXPORT"}) {
    if (!hasColumn(table, "name") || !hasColumn(table, "value")) continue;
    // Old exports misspell some keys; this one was always right.
    const Result<void> found =
        forEach(fmt::format("SELECT value FROM {} WHERE name = 'EXPORT_SCHEMA_VERSION'", table),
                [&](const Statement& row) { schemaVersion = row.text(0); });
    if (!found) return found;
  }
  return {};
}

bool ProfileReader::Impl::hasColumn(std::string_view table, std::string_view column) const {
  const auto found = columns.find(table);
  return found != columns.end() && found->second.find(column) != found->second.end();
}

std::string ProfileReader::Impl::column(std::string_view table, std::string_view name) const {
  return hasColumn(table, name) ? fmt::format("\"{}\"", name) : "NULL";
}

Result<void> ProfileReader::Impl::loadNvtxTexts() {
  const std::lock_guard lock(nvtxMutex);
  // Our own writer gives every text an id.
  if (nvtxLoaded || pool.kind() == FileKind::warpmeter || !hasColumn("NVTX_EVENTS", "text")) return {};
  const std::string where = hasColumn("NVTX_EVENTS", "textId") ? "AND textId IS NULL" : "";
  const Result<void> read =
      forEach(fmt::format("SELECT text FROM NVTX_EVENTS WHERE text IS NOT NULL {} ORDER BY rowid", where),
              [&](const Statement& row) {
                nvtxTexts.try_emplace(row.text(0), -static_cast<std::int64_t>(nvtxTexts.size()) - 1);
              });
  nvtxLoaded = read.ok();
  return read;
}

ProfileReader::ProfileReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProfileReader::ProfileReader(ProfileReader&&) noexcept = default;
ProfileReader& ProfileReader::operator=(ProfileReader&&) noexcept = default;
ProfileReader::~ProfileReader() = default;

Result<ProfileReader> ProfileReader::open(const std::filesystem::path& path) {
  Result<OpenedFile> opened = probeFile(path);
  if (!opened) return std::move(opened).error();
  auto impl = std::make_unique<Impl>(path, std::move(opened).value());
  if (Result<void> loaded = impl->loadSchema(); !loaded) return std::move(loaded).error();
  return ProfileReader(std::move(impl));
}

const std::filesystem::path& ProfileReader::path() const { return impl_->path; }
FileKind ProfileReader::kind() const { return impl_->pool.kind(); }
std::string ProfileReader::schemaVersion() const { return impl_->schemaVersion; }

bool ProfileReader::unfinished() const {
  if (kind() != FileKind::warpmeter) return false;
  bool finished = false;
  const Result<void> read = impl_->forEach("SELECT finished FROM WM_SESSION",
                                           [&](const Statement& row) { finished = row.integer(0) == 1; });
  return !read || !finished;
}

Result<std::vector<StringEntry>> ProfileReader::strings() const {
  std::vector<StringEntry> result;
  if (impl_->hasTable("StringIds")) {
    const Result<void> read =
        impl_->forEach("SELECT id, value FROM StringIds ORDER BY id", [&](const Statement& row) {
          result.push_back({row.integer(0), row.text(1)});
        });
    if (!read) return read.error();
  }
  if (Result<void> loaded = impl_->loadNvtxTexts(); !loaded) return std::move(loaded).error();
  const std::lock_guard lock(impl_->nvtxMutex);
  for (const auto& [text, id] : impl_->nvtxTexts) result.push_back({id, text});
  return result;
}

}  // namespace warpmeter
