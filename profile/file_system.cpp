// SPDX-License-Identifier: Apache-2.0
#include "file_system.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "sqlite_db.h"

namespace warpmeter {

namespace fs = std::filesystem;

bool isNetworkFileSystem(const fs::path& folder) {
  struct statfs info {};
  if (statfs(folder.c_str(), &info) != 0) return false;
  switch (static_cast<std::uint32_t>(info.f_type)) {
    case 0x6969:      // NFS
    case 0x517b:      // SMB
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB 2
    case 0x0bd00bd0:  // Lustre
    case 0x47504653:  // GPFS
    case 0x00c36400:  // Ceph
    case 0x5346414f:  // OpenAFS
    case 0x01021997:  // 9P
    case 0x65735546:  // FUSE: sshfs, s3fs, gcsfuse, ...
    case 0x19830326:  // BeeGFS
    case 0x20030528:  // OrangeFS
    case 0xaad7aaea:  // PanFS
    case 0x01161970:  // GFS2
    case 0x7461636f:  // OCFS2
      return true;
    default:
      return false;
  }
}

std::optional<std::int64_t> fileSizeLimit() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  constexpr auto kMax = static_cast<rlim_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(limit.rlim_cur < kMax ? limit.rlim_cur : kMax);
}

bool isWritableFolder(const fs::path& folder) { return access(folder.c_str(), W_OK) == 0; }

fs::path folderOf(const fs::path& file) {
  const fs::path parent = file.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

fs::path beside(const fs::path& file, const char* suffix) {
  fs::path result = file;
  result += suffix;
  return result;
}

namespace {

constexpr const char* kParts[] = {"-wal", "-journal", ""};

// Changes whenever somebody writes to the file or its log.
std::string fingerprint(const fs::path& file) {
  std::string result;
  for (const char* suffix : kParts) {
    struct stat info {};
    if (stat(beside(file, suffix).c_str(), &info) != 0) continue;
    result += std::to_string(info.st_size) + '.' + std::to_string(info.st_mtim.tv_sec) + '.' +
              std::to_string(info.st_mtim.tv_nsec) + suffix + ' ';
  }
  return result;
}

Result<void> copyParts(const fs::path& from, const fs::path& to) {
  for (const char* suffix : kParts) {
    std::error_code error;
    if (*suffix && !fs::exists(beside(from, suffix), error)) continue;
    fs::copy_file(beside(from, suffix), beside(to, suffix), fs::copy_options::overwrite_existing, error);
    if (error) return errnoError(error.value(), beside(from, suffix), "copy it to $TMPDIR to read it");
    fs::permissions(beside(to, suffix), fs::perms::owner_read | fs::perms::owner_write, error);
  }
  return {};
}

}  // namespace

Result<TemporaryCopy> TemporaryCopy::make(const fs::path& file) {
  const char* base = std::getenv("TMPDIR");
  std::string folder = (base && *base ? std::string(base) : std::string("/tmp")) + "/warpmeter-XXXXXX";
  if (!mkdtemp(folder.data())) return errnoError(errno, folder, "make a folder for a copy");
  TemporaryCopy copy{fs::path(folder)};
  copy.file_ = copy.folder_ / file.filename();
  // File and log belong together only if nobody wrote to them meanwhile.
  for (int attempt = 0; attempt < 5; ++attempt) {
    const std::string before = fingerprint(file);
    if (Result<void> copied = copyParts(file, copy.file_); !copied) return std::move(copied).error();
    if (fingerprint(file) == before) return copy;
  }
  return Error{ErrorKind::busy, file.string() +
                                    ": is being written and its folder is read-only: copy it when "
                                    "the recording has ended"};
}

TemporaryCopy::TemporaryCopy(TemporaryCopy&& other) noexcept
    : folder_(std::exchange(other.folder_, {})), file_(std::move(other.file_)) {}

TemporaryCopy& TemporaryCopy::operator=(TemporaryCopy&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(file_, other.file_);
  return *this;
}

TemporaryCopy::~TemporaryCopy() {
  if (folder_.empty()) return;
  std::error_code error;
  fs::remove_all(folder_, error);
}

}  // namespace warpmeter
