// SPDX-License-Identifier: Apache-2.0
// Read-only connections to one file, one per thread that reads at the moment.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "file_probe.h"
#include "sqlite_db.h"

namespace warpmeter {

class ConnectionPool {
 public:
  explicit ConnectionPool(OpenedFile file) : file_(std::move(file)) {}

  // Gives the connection back when it goes.
  class Lease {
   public:
    Lease(ConnectionPool& pool, std::unique_ptr<Db> db) : pool_(&pool), db_(std::move(db)) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (db_) pool_->giveBack(std::move(db_));
    }
    Db& operator*() { return *db_; }
    Db* operator->() { return db_.get(); }

   private:
    ConnectionPool* pool_;
    std::unique_ptr<Db> db_;
  };

  Result<Lease> take(const std::filesystem::path& path);
  FileKind kind() const { return file_.kind; }

 private:
  void giveBack(std::unique_ptr<Db> db);

  OpenedFile file_;  // before idle_: a temporary copy must outlive its connections
  std::mutex mutex_;
  std::vector<std::unique_ptr<Db>> idle_;
};

}  // namespace warpmeter
