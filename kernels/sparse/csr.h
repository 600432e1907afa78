// SPDX-License-Identifier: Apache-2.0
// Sparse matrices row by row (CSR) on the CPU: random ones, and what a product with them should be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "common/program.h"
#include "common/random.h"

namespace warpmeter::kernels {

// The entries of row r are numbers starts[r] to starts[r + 1] - 1 of columnOf and values, columns rising.
struct Csr {
  int columns = 0;
  std::vector<int> starts;
  std::vector<int> columnOf;
  std::vector<float> values;

  int rows() const { return static_cast<int>(starts.size()) - 1; }
  int entries() const { return starts.back(); }
};

// Row lengths of a power law, in random order: the k-th longest row is k^0.6 times shorter than the longest
// one, so that rows longer than L get rare as L^-1.67. The mean is perRow unless columns cuts long rows.
inline std::vector<int> powerLawLengths(int rows, int columns, std::int64_t perRow, Random& random) {
  constexpr double kExponent = 0.6;
  double sum = 0;
  for (int k = 1; k <= rows; ++k) {
    sum += std::pow(k, -kExponent);
  }
  const double longest = static_cast<double>(perRow) * rows / sum;
  std::vector<int> lengths;
  for (int k = 1; k <= rows; ++k) {
    lengths.push_back(static_cast<int>(std::clamp<double>(longest * std::pow(k, -kExponent), 1, columns)));
  }
  for (std::size_t i = lengths.size(); i > 1; --i) {
    std::swap(lengths[i - 1], lengths[random.next() % i]);
  }
  return lengths;
}

// Row r has lengths[r] <= columns entries, each in a random place of its own part of the row: rising without
// a sort.
inline Csr randomCsr(const std::vector<int>& lengths, int columns, Random& random) {
  Csr matrix;
  matrix.columns = columns;
  matrix.starts.assign(1, 0);
  std::int64_t entries = 0;
  for (const int length : lengths) {
    entries += length;
    matrix.starts.push_back(static_cast<int>(entries));
  }
  matrix.columnOf.reserve(static_cast<std::size_t>(entries));
  for (const std::int64_t length : lengths) {
    for (std::int64_t k = 0; k < length; ++k) {
      const std::int64_t first = k * columns / length;
      const std::int64_t width = (k + 1) * columns / length - first;
      matrix.columnOf.push_back(
          static_cast<int>(first + static_cast<std::int64_t>((random.next() >> 32) * width >> 32)));
    }
  }
  matrix.values = random.vector(entries);
  return matrix;
}

// A matrix of rows x rows with perRow entries in a row, checked before anything is allocated: entries and
// rows are counted in an int together. Throws Failure{kExitUsage}.
inline void requireCsrSize(std::int64_t rows, std::int64_t perRow) {
  const std::string options = "--rows " + std::to_string(rows) + " --per-row " + std::to_string(perRow);
  if (perRow > rows) {
    throw Failure{kExitUsage,
                  options + " is not allowed, a row has no more entries than the matrix has columns"};
  }
  if (rows * (perRow + 1) > 2147483647) {
    throw Failure{kExitUsage, options + " is too large: rows and entries together must stay below 2^31"};
  }
}

// Whether value can be the sum of count products with these magnitudes, added up in float in any order.
inline bool isSum(float value, double expected, double magnitude, int count) {
  return std::abs(value - expected) <= 0x1p-24 * (count + 1) * magnitude;
}

}  // namespace warpmeter::kernels
