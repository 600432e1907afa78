// SPDX-License-Identifier: Apache-2.0
#include "src/counters/interval.h"

#include <array>
#include <cmath>

namespace warpmeter::analyzer {
namespace {

// Below 5 degrees of freedom the expansion is too coarse.
constexpr std::array<double, 5> kFew{12.7062, 4.3027, 3.1824, 2.7764, 2.5706};

}  // namespace

double studentQuantile(double degrees) {
  if (degrees <= 1) return kFew[0];
  if (degrees < 5) {
    const auto below = static_cast<std::size_t>(degrees);
    const double part = degrees - static_cast<double>(below);
    return kFew[below - 1] + part * (kFew[below] - kFew[below - 1]);
  }
  // Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5).
  const double x = kNormal95, x3 = x * x * x, x5 = x3 * x * x, x7 = x5 * x * x, v = degrees;
  return x + (x3 + x) / (4 * v) + (5 * x5 + 16 * x3 + 3 * x) / (96 * v * v) +
         (3 * x7 + 19 * x5 + 17 * x3 - 15 * x) / (384 * v * v * v);
}

double halfWidth(const Estimate& estimate, double systematic) {
  const double t = studentQuantile(estimate.degrees);
  return std::sqrt(t * t * estimate.sampling + kNormal95 * kNormal95 * (estimate.expectation + systematic));
}

}  // namespace warpmeter::analyzer
