// SPDX-License-Identifier: Apache-2.0
// What the writer and the reader need to know of the file system.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "warpmeter/profile/result.h"

namespace warpmeter {

// A file system whose memory maps and locks are not shared by all its clients, so that WAL cannot be used:
// NFS, SMB, Lustre, GPFS, Ceph, 9P, FUSE and the like. False when statfs fails.
bool isNetworkFileSystem(const std::filesystem::path& folder);

// RLIMIT_FSIZE of this process; nothing when unlimited.
std::optional<std::int64_t> fileSizeLimit();

bool isWritableFolder(const std::filesystem::path& folder);
std::filesystem::path folderOf(const std::filesystem::path& file);
std::filesystem::path beside(const std::filesystem::path& file,
                             const char* suffix);  // FILE + "-wal" and so on

// A private folder (0700) under $TMPDIR that holds copies of `file` and of what stands beside it ("-wal",
// "-journal"); removed with the object.
class TemporaryCopy {
 public:
  static Result<TemporaryCopy> make(const std::filesystem::path& file);
  TemporaryCopy(TemporaryCopy&& other) noexcept;
  TemporaryCopy& operator=(TemporaryCopy&& other) noexcept;
  ~TemporaryCopy();
  const std::filesystem::path& file() const { return file_; }

 private:
  explicit TemporaryCopy(std::filesystem::path folder) : folder_(std::move(folder)) {}
  std::filesystem::path folder_, file_;
};

}  // namespace warpmeter
