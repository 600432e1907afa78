// SPDX-License-Identifier: Apache-2.0
#include "file_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "schema_text.h"
#include "sqlite_db.h"

namespace warpmeter {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCutOff = "damaged or cut off: record or copy it again";

Error make(ErrorKind kind, const fs::path& path, std::string_view text) {
  return {kind, fmt::format("{}: {}", path.string(), text)};
}

Result<void> checkPath(const fs::path& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return make(ErrorKind::notFound, path, "no such file");
    return errnoError(errno, path, "open it");
  }
  if (S_ISDIR(info.st_mode)) return make(ErrorKind::isDirectory, path, "is a directory, not a profile");
  if (!S_ISREG(info.st_mode)) return make(ErrorKind::foreign, path, "is not a regular file");
  if (access(path.c_str(), R_OK) != 0) {
    return make(ErrorKind::noPermission, path, "no permission to read it");
  }
  if (info.st_size == 0) return make(ErrorKind::empty, path, "is empty");
  return {};
}

// What a file that SQLite does not take may be. Only such files are opened here: closing a descriptor of a
// database would drop the locks that this process holds on it.
Error explainForeign(const fs::path& path) {
  std::array<char, 256> head{};
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const ssize_t got = fd < 0 ? 0 : ::read(fd, head.data(), head.size());
  if (fd >= 0) close(fd);
  const std::string_view text(head.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::string name = path.filename().string();
  const auto ends = [&](std::string_view suffix) { return std::string_view(name).ends_with(suffix); };

  if (text.starts_with(std::string_view("SQLite format 3\0", 16))) {
    return make(ErrorKind::truncated, path, kCutOff);
  }
  const std::size_t firstSign = text.find_first_not_of(" \t\r\n");
  const bool json = firstSign != std::string_view::npos && (text[firstSign] == '{' || text[firstSign] == '[');
  const bool gzip = text.starts_with("\x1f\x8b");
  if (json || (gzip && ends(".json.gz"))) {
    return make(
        ErrorKind::unsupported, path,
        "Kineto trace: import is not built yet, only Warpmeter files and nsys .sqlite exports can be read");
  }
  if (gzip) {
    const std::string command = ends(".gz") ? fmt::format("gunzip -k '{}'", path.string())
                                            : fmt::format("gzip -dc '{0}' > '{0}.unpacked'", path.string());
    return make(ErrorKind::foreign, path, "is compressed with gzip: unpack it first with " + command);
  }
  if (ends(".nsys-rep") || ends(".qdrep")) {
    return make(ErrorKind::foreign, path, "an nsys report: convert it with nsys export --type sqlite first");
  }
  return make(ErrorKind::foreign, path, "is neither a Warpmeter file nor an nsys .sqlite export");
}

std::string percentEncoded(const std::string& path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '.' || c == '-' || c == '_' || c == '~';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string uriOf(const fs::path& path, bool immutable) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return fmt::format("file://{}{}", percentEncoded(absolute.string()), immutable ? "?immutable=1" : "");
}

// First read of the file: finds out whether it is a database that can be read in place.
int tryOpen(const OpenedFile& file, Db& db) {
  int rc = db.open(file.uri, file.flags);
  if (rc == SQLITE_OK) {
    sqlite3_busy_timeout(db.get(), 5000);
    rc = db.exec("SELECT count(*) FROM sqlite_master");
  }
  return rc;
}

bool hasTable(const Db& db, const char* name) {
  return db.scalar(fmt::format("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{}'",
                               name)) > 0;
}

bool hasColumn(const Db& db, const char* table, const char* column) {
  return db.scalar(fmt::format("SELECT count(*) FROM pragma_table_info('{}') WHERE name = '{}'", table,
                               column)) > 0;
}

bool looksLikeNsys(const Db& db) {
  constexpr const char* kKernels = "CUPTI_ACTIVITY_KIND_KERNEL";
  if (!hasTable(db, "StringIds")) return false;
  if (hasTable(db, kKernels)) {
    for (const char* column : {"start", "end", "deviceId", "streamId"}) {
      if (!hasColumn(db, kKernels, column)) return false;
    }
    return hasColumn(db, kKernels, "shortName") || hasColumn(db, kKernels, "demangledName");
  }
  for (const char* table :
       {"META_DATA_EXPORT", "EXPORT_META_DATA", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"}) {
    if (hasTable(db, table)) return true;
  }
  return false;
}

// SQLite takes a cut inside the last page for a short page; the header knows better. A file with a log may be
// shorter than it says.
bool isCutOff(const Db& db, const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  const std::int64_t pages = db.scalar("PRAGMA page_count"), pageSize = db.scalar("PRAGMA page_size");
  return !error && pages > 0 && pageSize > 0 && size < static_cast<std::uintmax_t>(pages * pageSize);
}

Result<FileKind> kindOf(const Db& db, const fs::path& path) {
  if (db.scalar("PRAGMA application_id") == kApplicationId) {
    const std::int64_t version = db.scalar("PRAGMA user_version");
    const std::int64_t major = version >> 16, minor = version & 0xffff;
    if (major > kFormatMajor) {
      return make(
          ErrorKind::newerMajor, path,
          fmt::format("written in format {}.{} by a newer Warpmeter, this one reads up to {}.x: update it",
                      major, minor, kFormatMajor));
    }
    if (!hasTable(db, "WM_SESSION")) {
      return make(ErrorKind::truncated, path, "has no session: the recorder was stopped while creating it");
    }
    return FileKind::warpmeter;
  }
  if (looksLikeNsys(db)) return FileKind::nsys;
  return make(ErrorKind::foreign, path,
              "is an SQLite database, but neither a Warpmeter file nor an nsys export");
}

}  // namespace

Result<OpenedFile> probeFile(const fs::path& path) {
  if (Result<void> checked = checkPath(path); !checked) return std::move(checked).error();
  OpenedFile file;
  file.flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  std::error_code tooLong;  // a name at the limit has no room for the suffix: no log then
  const bool hasLog = fs::exists(beside(path, "-wal"), tooLong);
  const bool writable = isWritableFolder(folderOf(path));
  if (hasLog && !writable) {
    // SQLite would need to make FILE-shm beside it.
    Result<TemporaryCopy> copy = TemporaryCopy::make(path);
    if (!copy) return std::move(copy).error();
    file.copy = std::move(copy).value();
  }
  // immutable=1 reads a WAL-mode file without making FILE-wal, and would miss the rows of an existing one.
  file.uri = uriOf(file.copy ? file.copy->file() : path, !hasLog && !writable);
  Db db;
  int rc = tryOpen(file, db);
  if (rc == SQLITE_READONLY_ROLLBACK || rc == SQLITE_READONLY_RECOVERY) {
    // A writer was killed in mid-transaction: undone in a copy, the file itself is not ours to change.
    Result<TemporaryCopy> copy = TemporaryCopy::make(path);
    if (!copy) return std::move(copy).error();
    file.copy = std::move(copy).value();
    file.flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI;
    file.uri = uriOf(file.copy->file(), false);
    rc = tryOpen(file, db);
  }
  if ((rc & 0xff) == SQLITE_NOTADB) return explainForeign(path);
  if (rc != SQLITE_OK) return toError(db.get(), path, "read it");
  if (!hasLog && !file.copy && isCutOff(db, path)) return make(ErrorKind::truncated, path, kCutOff);
  Result<FileKind> kind = kindOf(db, path);
  if (!kind) return std::move(kind).error();
  file.kind = *kind;
  return file;
}

}  // namespace warpmeter
