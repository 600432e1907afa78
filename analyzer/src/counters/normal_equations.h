// SPDX-License-Identifier: Apache-2.0
// Sparse sums x x' and x y over samples.
#pragma once

#include <Eigen/SparseCore>
#include <cstdint>
#include <span>
#include <vector>

#include "src/counters/layout.h"

namespace warpmeter::analyzer {

// A sparse matrix that is added up, usually weight x row x row', upper triangle. Open addressing: an addition
// is one probe.
class GramSum {
 public:
  void add(std::span<const Regressor> row, double weight);
  void add(const GramSum& other);
  void add(std::uint32_t i, std::uint32_t j, double value) { addAt(std::uint64_t{i} << 32 | j, value); }
  // Both triangles.
  void appendTo(std::vector<Eigen::Triplet<double>>& out) const;
  template <class F>
  void forEach(F&& each) const {
    for (const Cell& c : cells_) {
      if (c.key != kEmpty)
        each(static_cast<std::uint32_t>(c.key >> 32), static_cast<std::uint32_t>(c.key), c.sum);
    }
  }

 private:
  struct Cell {
    std::uint64_t key = kEmpty;
    double sum = 0;
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  void addAt(std::uint64_t key, double value);
  void grow();
  std::vector<Cell> cells_{std::vector<Cell>(1024)};
  std::size_t used_ = 0,
              last_ = 0;  // last_: cell of the last addition; samples that follow each other are alike
};

}  // namespace warpmeter::analyzer
