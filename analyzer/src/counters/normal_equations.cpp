// SPDX-License-Identifier: Apache-2.0
#include "src/counters/normal_equations.h"

#include <algorithm>
#include <bit>

namespace warpmeter::analyzer {

void GramSum::add(std::span<const Regressor> row, double weight) {
  for (std::size_t a = 0; a < row.size(); ++a) {
    const double wx = weight * row[a].second;
    for (std::size_t b = 0; b <= a; ++b) {
      const std::uint64_t i = std::min(row[a].first, row[b].first), j = std::max(row[a].first, row[b].first);
      addAt(i << 32 | j, wx * row[b].second);
    }
  }
}

void GramSum::add(const GramSum& other) {
  for (const Cell& c : other.cells_) {
    if (c.key != kEmpty) addAt(c.key, c.sum);
  }
}

void GramSum::appendTo(std::vector<Eigen::Triplet<double>>& out) const {
  for (const Cell& c : cells_) {
    if (c.key == kEmpty) continue;
    const auto i = static_cast<int>(c.key >> 32), j = static_cast<int>(c.key & 0xffffffff);
    out.emplace_back(i, j, c.sum);
    if (i != j) out.emplace_back(j, i, c.sum);
  }
}

void GramSum::addAt(std::uint64_t key, double value) {
  if (cells_[last_].key == key) {
    cells_[last_].sum += value;
    return;
  }
  const std::size_t mask = cells_.size() - 1;
  std::size_t at = (key * 0x9e3779b97f4a7c15 >> 32) & mask;
  while (cells_[at].key != key) {
    if (cells_[at].key == kEmpty) {
      if (used_ * 2 >= cells_.size()) {
        grow();
        return addAt(key, value);
      }
      cells_[at].key = key;
      ++used_;
      break;
    }
    at = (at + 1) & mask;
  }
  cells_[at].sum += value;
  last_ = at;
}

void GramSum::grow() {
  std::vector<Cell> old(cells_.size() * 2);
  old.swap(cells_);
  used_ = last_ = 0;
  for (const Cell& c : old) {
    if (c.key != kEmpty) addAt(c.key, c.sum);
  }
}

}  // namespace warpmeter::analyzer
