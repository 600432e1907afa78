// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/program.h"
#include "common/random.h"

namespace warpmeter::kernels {

// How B lies in memory.
enum class Stored { byRows, byColumns };

// Compares C = A B, all n x n, A and C row by row, with double precision: all elements of a small matrix,
// random ones of a large one (n^3 operations take minutes on a CPU). An element may be off by errorPerStep x
// (n + 1) x the sum of its products' magnitudes. Returns how many were compared; throws Failure at the first
// that differs.
inline std::int64_t checkProduct(std::int64_t n, const std::vector<float>& a, const std::vector<float>& b,
                                 Stored stored, const std::vector<float>& c, Random& random,
                                 double errorPerStep) {
  const std::int64_t samples = std::min<std::int64_t>(n * n, 4096);
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    const std::int64_t index =
        n * n <= 4096 ? sample : static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(n * n));
    double sum = 0;
    double magnitude = 0;
    for (std::int64_t k = 0; k < n; ++k) {
      const double product = static_cast<double>(a[index / n * n + k]) *
                             b[stored == Stored::byRows ? k * n + index % n : index % n * n + k];
      sum += product;
      magnitude += std::abs(product);
    }
    if (!(std::abs(c[index] - sum) <= errorPerStep * static_cast<double>(n + 1) * magnitude)) {
      throw differs("C[" + std::to_string(index / n) + "][" + std::to_string(index % n) + "]", c[index], sum);
    }
  }
  return samples;
}

}  // namespace warpmeter::kernels
