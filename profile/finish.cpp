// SPDX-License-Identifier: Apache-2.0
#include "finish.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "file_system.h"
#include "schema_text.h"
#include "warpmeter/profile/reader.h"
#include "warpmeter/profile/writer.h"

namespace warpmeter {

namespace {

struct Index {
  const char* name;
  const char* table;
  const char* column;
};

// correlationId joins GPU work with the call that asked for it, in nearly every query that clients run;
// start puts a time range and WM_OVERVIEW's scan in order. More indexes cost more than they saved.
constexpr Index kIndexes[] = {
    {"wm_kernel_correlation", "CUPTI_ACTIVITY_KIND_KERNEL", "correlationId"},
    {"wm_kernel_start", "CUPTI_ACTIVITY_KIND_KERNEL", "start"},
    {"wm_runtime_correlation", "CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId"},
    {"wm_memcpy_correlation", "CUPTI_ACTIVITY_KIND_MEMCPY", "correlationId"},
    {"wm_memcpy_start", "CUPTI_ACTIVITY_KIND_MEMCPY", "start"},
    {"wm_memset_correlation", "CUPTI_ACTIVITY_KIND_MEMSET", "correlationId"},
    {"wm_memset_start", "CUPTI_ACTIVITY_KIND_MEMSET", "start"},
};

// Held while a file is finished; closes after the database because closing drops SQLite's locks too.
class RecordingLock {
 public:
  ~RecordingLock() {
    if (fd_ >= 0) close(fd_);
  }
  Result<void> take(const std::filesystem::path& path) {
    fd_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd_ < 0) return errnoError(errno, path, "open it for finishing");
    if (isNetworkFileSystem(folderOf(path)) || flock(fd_, LOCK_EX | LOCK_NB) == 0) return {};
    return Error{ErrorKind::busy,
                 fmt::format("{}: is still being recorded: wait for its end", path.string())};
  }

 private:
  int fd_ = -1;
};

}  // namespace

Result<void> createIndexes(Db& db, const std::filesystem::path& path) {
  for (const Index& index : kIndexes) {
    const std::string sql =
        fmt::format("CREATE INDEX IF NOT EXISTS {} ON {} ({})", index.name, index.table, index.column);
    if (db.exec(sql.c_str()) != SQLITE_OK) return toError(db.get(), path, "write the indexes");
  }
  return {};
}

Result<void> markFinished(Db& db, const std::filesystem::path& path) {
  if (db.exec("UPDATE WM_SESSION SET finished = 1") != SQLITE_OK) {
    return toError(db.get(), path, "mark the profile as finished");
  }
  return {};
}

bool leaveWal(Db& db, std::chrono::milliseconds patience) {
  // SQLite's busy handler is not asked for the exclusive lock that this needs.
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    Statement statement;
    if (statement.prepare(db.get(), "PRAGMA journal_mode=DELETE") != SQLITE_OK) return false;
    if (statement.step() == SQLITE_ROW && statement.text(0) == "delete") return true;
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

Result<void> finishFile(const std::filesystem::path& path) {
  {
    Result<ProfileReader> reader = ProfileReader::open(path);
    if (!reader) return std::move(reader).error();
    if (reader->kind() != FileKind::warpmeter) {
      return Error{ErrorKind::usage,
                   fmt::format("{}: is not Warpmeter's own: nothing to finish", path.string())};
    }
  }
  RecordingLock lock;
  if (Result<void> taken = lock.take(path); !taken) return taken;
  Db db;
  if (db.open(path.string(), SQLITE_OPEN_READWRITE) != SQLITE_OK) return toError(db.get(), path, "open it");
  sqlite3_busy_timeout(db.get(), 5000);
  db.exec("PRAGMA synchronous=OFF; PRAGMA cache_size=-16384");
  if (Result<void> r = createIndexes(db, path); !r) return r;
  if (Result<void> r = writeOverview(db, path); !r) return r;
  if (Result<void> r = markFinished(db, path); !r) return r;
  leaveWal(db, std::chrono::milliseconds(5000));
  return {};
}

}  // namespace warpmeter
