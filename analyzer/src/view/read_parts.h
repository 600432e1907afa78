// SPDX-License-Identifier: Apache-2.0
// Reads the big tables of one source in parallel ranges of rowids.
#pragma once

#include <deque>
#include <functional>
#include <stop_token>
#include <vector>

#include "src/view/data.h"
#include "src/view/parts.h"

namespace warpmeter::analyzer {

// String ids of one file -> names of the view.
class StringMap {
 public:
  // Interns every string of the file.
  static Result<StringMap> of(const ProfileReader& reader, NameTable& names);
  NameId operator[](std::int64_t fileId) const;

 private:
  std::vector<NameId> dense_;  // by id, where ids are small
  std::unordered_map<std::int64_t, NameId> sparse_;
};

struct ReadRequest {
  const ProfileReader* reader = nullptr;
  const StringMap* strings = nullptr;
  std::uint32_t source = 0;
  std::int64_t offsetNs = 0;  // added to every time
  Tables tables = Tables::none;
  RowsRead from, to;  // [from, to) of each table
};

// One part per range, in order of tables and rowids. progress as in LoadOptions.
Result<std::vector<Part>> readParts(std::span<const ReadRequest> requests, const LoadOptions& options);

// Untimed launches of a source (all of them, they are few).
Result<Part> readUntimedPart(const ReadRequest& request, std::stop_token stop);

}  // namespace warpmeter::analyzer
