// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/finding.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace warpmeter::analyzer {

std::string_view idOf(Confidence c) {
  constexpr std::array<std::string_view, 3> kIds{"sure", "likely", "maybe"};
  return kIds[static_cast<std::size_t>(c)];
}

std::string_view idOf(SubjectKind k) {
  constexpr std::array<std::string_view, 7> kIds{"run",      "process",        "gpu", "stream", "thread",
                                                 "function", "distinct_kernel"};
  return kIds[static_cast<std::size_t>(k)];
}

void rank(Findings& findings) {
  std::ranges::stable_sort(findings, {}, [](const Finding& f) {
    return std::tuple{-f.recoverableHighNs, -f.recoverableLowNs, f.confidence, f.id};
  });
}

}  // namespace warpmeter::analyzer
