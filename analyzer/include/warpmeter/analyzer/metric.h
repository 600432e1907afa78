// SPDX-License-Identifier: Apache-2.0
// Metric: a measured or computed number with its uncertainty. Unmeasured is nullopt with a reason, never 0.
#pragma once

#include <cstdint>
#include <optional>

#include "warpmeter/analyzer/names.h"

namespace warpmeter::analyzer {

struct Metric {
  std::optional<double> value, low, high;
  std::int64_t samples = 0;
  Provenance provenance = Provenance::computed;
  std::optional<Reason> reason;  // set exactly when value is not

  static Metric of(double v) { return {v, v, v, 1, Provenance::computed, std::nullopt}; }
  static Metric missing(Reason why) {
    return {std::nullopt, std::nullopt, std::nullopt, 0, Provenance::computed, why};
  }
};

}  // namespace warpmeter::analyzer
