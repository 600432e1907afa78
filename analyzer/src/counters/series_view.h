// SPDX-License-Identifier: Apache-2.0
// A sampled series as the attribution sees it: columns by what they mean, and which samples may be used.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "src/counters/roles.h"
#include "warpmeter/analyzer/samples.h"

namespace warpmeter::analyzer {

enum class SampleUse : std::uint8_t {
  dropped,     // other work may be in it
  sequential,  // at any moment at most one kind of kernel
  concurrent,  // kernels of different kinds at once: cycles and warps are not their sum
};

struct SeriesView {
  const SampleSeries* series = nullptr;
  std::array<const float*, kRoles> column{};  // nullptr: the set lacks it
  std::array<float, kRoles> scale{};
  RoleSet roles;
  std::vector<SampleUse> use;  // by sample
  // By sample: the operation that it lies in, away from its edges and from everything else; UINT32_MAX: none.
  std::vector<std::uint32_t> inner;
  std::int64_t offsetNs = 0;  // a sample's time - this = time of the activity records

  explicit SeriesView(const SampleSeries& s)
      : series(&s), use(s.size(), SampleUse::sequential), inner(s.size(), UINT32_MAX) {
    for (std::size_t m = 0; m < s.metrics.size(); ++m) {
      const auto counter = counterOf(s.metrics[m], s.chip);
      if (!counter) continue;
      const auto r = static_cast<std::size_t>(counter->role);
      if (roles.test(r)) continue;
      roles.set(r);
      column[r] = s.values[m].data();
      scale[r] = static_cast<float>(counter->scale);
    }
  }
  std::size_t size() const { return series->size(); }
  std::int64_t beginNs(std::size_t i) const { return series->startNs(i) - offsetNs; }
  std::int64_t endNs(std::size_t i) const { return series->endNs(i) - offsetNs; }
  double value(std::size_t role, std::size_t i) const {
    return double{column[role][i]} * double{scale[role]};
  }
};

}  // namespace warpmeter::analyzer
