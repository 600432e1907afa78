// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/profile/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "file_system.h"
#include "finish.h"
#include "schema_text.h"
#include "writer_impl.h"

namespace warpmeter {

namespace {

constexpr std::chrono::seconds kCheckpointEvery{5};
// A longer log is checkpointed earlier, so that it stays this long however fast rows arrive.
constexpr std::int64_t kCheckpointBytes = std::int64_t{64} << 20;
constexpr std::chrono::milliseconds kLeaveWalPatience{5000};

int onLogWritten(void* impl, sqlite3*, const char*, int pages) {
  static_cast<std::int64_t*>(impl)[0] = pages;
  return SQLITE_OK;
}

Result<void> removeForOverwrite(const std::filesystem::path& path) {
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (!std::filesystem::exists(status)) return {};
  if (!std::filesystem::is_regular_file(status) && !std::filesystem::is_symlink(status) &&
      !std::filesystem::is_directory(status)) {
    return Error{ErrorKind::exists,
                 fmt::format("{}: not a regular file, so it is not replaced: choose another name", path.string())};
  }
  if (std::filesystem::is_directory(path, error)) return errnoError(EISDIR, path, "write the profile");
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    if (unlink(beside(path, suffix).c_str()) != 0 && errno != ENOENT) {
      return errnoError(errno, beside(path, suffix), "replace it");
    }
  }
  return {};
}

void removeAll(const std::filesystem::path& path) {
  for (const char* suffix : {"-wal", "-shm", "-journal", ""}) unlink(beside(path, suffix).c_str());
}

}  // namespace

ProfileWriter::Impl::Impl(std::filesystem::path file, const WriterOptions& writerOptions)
    : path(std::move(file)), options(writerOptions), fileLimit(fileSizeLimit()) {
  for (std::size_t i = 0; i < kTableCount; ++i) {
    const auto table = static_cast<Table>(i);
    // NVTX_EVENTS holds each text twice, as text and as textId: clients read one or the other.
    const int textColumn = table == Table::nvtx ? static_cast<int>(offsetof(NvtxRow, textId) / 8) : -1;
    appenders.emplace_back(RowBatch(table, strings, textColumn));
  }
}

ProfileWriter::Impl::~Impl() {
  if (inTransaction) rollback();
  for (Appender& appender : appenders) appender.insert = {};
  beginStatement = {};
  commitStatement = {};
  insertStrings = {};
  pageCount = {};
  db.close();
  if (reserveFile >= 0) close(reserveFile);
  // Closing any descriptor of the file drops SQLite's own locks on it: after db, therefore.
  if (lockFile >= 0) close(lockFile);
}

Result<void> ProfileWriter::Impl::createFile() {
  if (options.overwrite) {
    if (Result<void> removed = removeForOverwrite(path); !removed) return removed;
  }
  lockFile = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (lockFile < 0 && errno == EEXIST) {
    return Error{ErrorKind::exists, fmt::format("{}: exists already: choose another name, or --force to "
                                                "replace it",
                                                path.string())};
  }
  if (lockFile < 0) return errnoError(errno, path, "create the profile");
  if (fchmod(lockFile, 0600) != 0) return errnoError(errno, path, "set the profile's mode");
  return {};
}

Result<void> ProfileWriter::Impl::writeSchema(const SessionInfo& session) {
  const bool network = isNetworkFileSystem(folderOf(path));
  // Tells finishFile() that this recording is running. Not on a network file system, where flock() may
  // be made of the same locks that SQLite uses.
  if (!network) flock(lockFile, LOCK_EX | LOCK_NB);
  if (db.open(path.string(), SQLITE_OPEN_READWRITE) != SQLITE_OK) return error("open the new profile");
  sqlite3_busy_timeout(db.get(), 5000);
  wal = !network;
  if (Result<void> r = run("PRAGMA page_size=4096; PRAGMA synchronous=OFF; PRAGMA cache_size=-16384;"
                           "PRAGMA journal_mode=MEMORY; BEGIN",
                           "set up the profile");
      !r) {
    return r;
  }
  if (Result<void> r = run(kSchemaSql, "write the schema"); !r) return r;
  if (Result<void> r = run(kEnumsSql, "write the enumerations"); !r) return r;
  if (Result<void> r = writeSession(db, path, session); !r) return r;
  return run("COMMIT", "write the schema");
}

Result<void> ProfileWriter::Impl::startLog() {
  if (Result<void> r = run(wal ? "PRAGMA journal_mode=WAL" : "PRAGMA journal_mode=TRUNCATE", "start the log");
      !r) {
    return r;
  }
  pageSize = db.scalar("PRAGMA page_size");
  checkpointBytes = fileLimit ? std::min(kCheckpointBytes, *fileLimit / 4) : kCheckpointBytes;
  lastCheckpoint = std::chrono::steady_clock::now();
  stringBatch.attach(db.get());
  for (Appender& appender : appenders) appender.batch.attach(db.get());
  const auto prepare = [&](Statement& statement, std::string_view sql) {
    return statement.prepare(db.get(), sql, SQLITE_PREPARE_PERSISTENT) == SQLITE_OK;
  };
  bool ok = prepare(beginStatement, "BEGIN") && prepare(commitStatement, "COMMIT") &&
            prepare(insertStrings, StringBatch::insertSql()) && prepare(pageCount, "PRAGMA page_count");
  for (Appender& appender : appenders) ok = ok && prepare(appender.insert, appender.batch.insertSql());
  if (!ok) return error("prepare the statements");
  if (!wal) return {};
  sqlite3_wal_hook(db.get(), onLogWritten, &logPages);  // in place of SQLite's own automatic checkpoint
  return {};
}

Result<void> ProfileWriter::Impl::takeReserve() {
  if (options.reserveBytes <= 0) return {};
  reserveFile = ::open(folderOf(path).c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  // A file system without nameless files or allocation (or a file size limit below the reserve): no reserve.
  if (reserveFile < 0 || fallocate(reserveFile, FALLOC_FL_KEEP_SIZE, 0, options.reserveBytes) == 0) return {};
  if (errno != ENOSPC && errno != EDQUOT) return {};
  return errnoError(errno, path, "keep the reserve for a full disk");
}

Result<ProfileWriter> ProfileWriter::create(const std::filesystem::path& path, const SessionInfo& session,
                                            const WriterOptions& options) {
  auto impl = std::make_unique<Impl>(path, options);
  if (Result<void> r = impl->createFile(); !r) return std::move(r).error();
  Result<void> written = impl->writeSchema(session);
  if (written) written = impl->startLog();
  if (written) written = impl->takeReserve();
  if (!written) {
    impl.reset();
    removeAll(path);
    return std::move(written).error();
  }
  return ProfileWriter(std::move(impl));
}

ProfileWriter::ProfileWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ProfileWriter::ProfileWriter(ProfileWriter&&) noexcept = default;
ProfileWriter& ProfileWriter::operator=(ProfileWriter&&) noexcept = default;
ProfileWriter::~ProfileWriter() = default;

std::int64_t ProfileWriter::rowsWritten() const { return impl_->rowsCommitted; }

Result<void> ProfileWriter::commit() {
  Impl& w = *impl_;
  if (Result<void> r = w.refuseUnlessOpen(); !r) return r;
  if (Result<void> r = w.writeRefusedRows(); !r) return r;
  if (Result<void> r = w.flushStrings(); !r) return r;
  if (Result<void> r = w.commitTransaction(); !r) return r;
  w.checkpointIfDue();
  return {};
}

void ProfileWriter::Impl::checkpointIfDue() {
  if (!wal || logPages == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (logPages * pageSize < checkpointBytes && now - lastCheckpoint < kCheckpointEvery) return;
  lastCheckpoint = now;
  int pages = 0, done = 0;
  const int rc = sqlite3_wal_checkpoint_v2(db.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, &pages, &done);
  if (rc == SQLITE_OK && pages == done) logPages = 0;  // the next transaction starts the log anew
  // The rows are safe in the log: a full disk here is for the next append or commit to find.
}

Result<void> ProfileWriter::closeAfterError(const Error& cause, std::int64_t atNs, std::int64_t lostRows) {
  Impl& w = *impl_;
  if (w.state == Impl::State::finished) return w.refuseUnlessOpen();
  w.rollback();
  if (w.reserveFile >= 0) close(std::exchange(w.reserveFile, -1));
  w.state = Impl::State::diskFull;
  // Closing must not move the log into a file that cannot grow.
  sqlite3_db_config(w.db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // Only the two strings of the row: the others that wait may be large.
  LossRow row;
  row.kind = intern(cause.kind == ErrorKind::diskFull ? "disk_full" : "write_error").value;
  row.why = intern(cause.message).value;
  row.count = lostRows;
  row.fromNs = atNs;
  const auto write = [&]() -> Result<void> {
    if (Result<void> r = w.begin(); !r) return r;
    Statement statement;
    statement.prepare(w.db.get(), "INSERT OR IGNORE INTO StringIds VALUES (?1, ?2)");
    for (const std::int64_t id : {row.kind, row.why}) {
      statement.bind(1, id);
      statement.bind(2, w.strings.text(id));
      if (statement.run() != SQLITE_OK) return w.error("write the loss row");
    }
    const bool limited = std::exchange(w.fileLimit, std::nullopt).has_value();
    Result<void> inserted = w.insertRows(Table::loss, &row.kind, 1);
    if (limited) w.fileLimit = fileSizeLimit();
    if (!inserted) return inserted;
    return w.commitTransaction();
  };
  Result<void> written = write();
  if (!written) {
    // A checkpoint that completes makes the log start anew, over blocks that it has.
    w.rollback();
    sqlite3_wal_checkpoint_v2(w.db.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    written = write();
    if (!written) w.rollback();
  }
  return written;
}

Result<bool> ProfileWriter::finish(const SessionInfo& session) {
  Impl& w = *impl_;
  if (w.state == Impl::State::finished) return std::move(w.refuseUnlessOpen()).error();
  if (w.state == Impl::State::diskFull) {
    // Best effort: the session's end fits into what the loss row left of the reserve.
    if (!(w.begin() && writeSession(w.db, w.path, session) && w.commitTransaction())) w.rollback();
    return false;
  }
  if (Result<void> r = putSession(session); !r) return std::move(r).error();
  if (Result<void> r = commit(); !r) return std::move(r).error();
  w.state = Impl::State::finished;
  // The file is complete; what follows is for speed, and a full disk only leaves it out.
  Result<void> done = createIndexes(w.db, w.path);
  if (done) done = writeOverview(w.db, w.path);
  if (done) done = markFinished(w.db, w.path);
  if (!done) {
    w.rollback();
    sqlite3_db_config(w.db.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    if (done.error().kind == ErrorKind::diskFull) return false;
    return std::move(done).error();
  }
  for (Impl::Appender& appender : w.appenders) appender.insert = {};
  return !w.wal || leaveWal(w.db, kLeaveWalPatience);
}

}  // namespace warpmeter
