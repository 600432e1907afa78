// SPDX-License-Identifier: Apache-2.0
// One statement with its parameters in order; the first failure sticks. For the tables with few rows.
#pragma once

#include <string_view>

#include "sqlite_db.h"

namespace warpmeter {

class StatementRow {
 public:
  StatementRow(Db& db, std::string_view sql) { ok_ = statement_.prepare(db.get(), sql) == SQLITE_OK; }
  StatementRow& operator<<(std::int64_t value) {
    if (ok_) statement_.bind(++index_, value);
    return *this;
  }
  StatementRow& operator<<(double value) {
    if (ok_) statement_.bind(++index_, value);
    return *this;
  }
  StatementRow& operator<<(std::span<const std::byte> blob) {
    if (ok_) statement_.bind(++index_, blob);
    return *this;
  }
  // An empty text is NULL.
  StatementRow& operator<<(std::string_view text) {
    if (ok_) statement_.bindOrNull(++index_, text);
    return *this;
  }
  // Afterwards the parameters may be given again.
  bool run() {
    ok_ = ok_ && statement_.run() == SQLITE_OK;
    index_ = 0;
    return ok_;
  }

 private:
  Statement statement_;
  int index_ = 0;
  bool ok_ = false;
};

}  // namespace warpmeter
