// SPDX-License-Identifier: Apache-2.0
#include "connection_pool.h"

namespace warpmeter {

Result<ConnectionPool::Lease> ConnectionPool::take(const std::filesystem::path& path) {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Db> db = std::move(idle_.back());
      idle_.pop_back();
      return Lease(*this, std::move(db));
    }
  }
  auto db = std::make_unique<Db>();
  if (db->open(file_.uri, file_.flags) != SQLITE_OK) return toError(db->get(), path, "open it");
  sqlite3_busy_timeout(db->get(), 5000);
  db->exec("PRAGMA cache_size=-8192; PRAGMA query_only=ON");
  return Lease(*this, std::move(db));
}

void ConnectionPool::giveBack(std::unique_ptr<Db> db) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(db));
}

}  // namespace warpmeter
