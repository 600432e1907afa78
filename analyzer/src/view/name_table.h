// SPDX-License-Identifier: Apache-2.0
// All texts of a view under 32-bit ids. A copy may grow without the original seeing it; texts are shared.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "warpmeter/analyzer/lanes.h"

namespace warpmeter::analyzer {

class NameTable {
 public:
  NameTable()
      : texts_{std::string_view{}}, arena_(std::make_shared<std::deque<std::string>>()), arenas_{arena_} {}

  // Texts that the copy adds go to an arena of its own: others read theirs at the same time.
  NameTable(const NameTable& other)
      : texts_(other.texts_),
        ids_(other.ids_),
        arena_(std::make_shared<std::deque<std::string>>()),
        arenas_(other.arenas_) {
    arenas_.push_back(arena_);
  }
  NameTable& operator=(const NameTable&) = delete;

  NameId intern(std::string_view text) {
    if (text.empty()) return 0;
    if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
    const auto id = static_cast<NameId>(texts_.size());
    const std::string_view kept = arena_->emplace_back(text);
    texts_.push_back(kept);
    ids_.emplace(kept, id);
    return id;
  }
  NameId find(std::string_view text) const {
    const auto known = ids_.find(text);
    return known == ids_.end() ? 0 : known->second;
  }
  std::string_view text(NameId id) const { return id < texts_.size() ? texts_[id] : std::string_view{}; }

 private:
  std::vector<std::string_view> texts_;
  std::unordered_map<std::string_view, NameId> ids_;
  std::shared_ptr<std::deque<std::string>> arena_;
  std::vector<std::shared_ptr<const std::deque<std::string>>> arenas_;
};

}  // namespace warpmeter::analyzer
