// SPDX-License-Identifier: Apache-2.0
// The writer's strings: text -> id in memory. Ids are dense and start at 1.
// The writer knows how many of them the file has.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "warpmeter/profile/ids.h"

namespace warpmeter {

class StringTable {
 public:
  StringId intern(std::string_view text);

  std::int64_t size() const { return static_cast<std::int64_t>(texts_.size()); }
  // Empty for an id that was never handed out.
  std::string_view text(std::int64_t id) const;
  bool contains(std::int64_t id) const { return id >= 1 && id <= size(); }

 private:
  std::deque<std::string> texts_;  // a deque: the map's keys point into it
  std::unordered_map<std::string_view, std::int64_t> ids_;
};

}  // namespace warpmeter
