// SPDX-License-Identifier: Apache-2.0
#include "string_table.h"

namespace warpmeter {

StringId StringTable::intern(std::string_view text) {
  const auto found = ids_.find(text);
  if (found != ids_.end()) return StringId{found->second};
  texts_.emplace_back(text);
  const std::int64_t id = size();
  ids_.emplace(texts_.back(), id);
  return StringId{id};
}

std::string_view StringTable::text(std::int64_t id) const {
  if (!contains(id)) return {};
  return texts_[static_cast<std::size_t>(id - 1)];
}

}  // namespace warpmeter
