// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/analysis.h"

#include <array>

#include "warpmeter/analyzer/bound_findings.h"
#include "warpmeter/analyzer/copies.h"

namespace warpmeter::analyzer {
namespace {

constexpr std::array kAnalyses{
    // and bound.latency, tensor.idle, precision.fp64, occupancy.grid-too-small
    Analysis{"bound.memory", Tables::kernels | Tables::copies | Tables::counters, findBounds},
    Analysis{"copy.pageable", Tables::copies | Tables::kernels, findPageableCopies},
};

}  // namespace

std::span<const Analysis> analyses() { return kAnalyses; }

Result<Findings> findAll(const ProfileView& view, const Limits& limits, std::stop_token stop) {
  Findings all;
  for (const Analysis& analysis : analyses()) {
    if (!has(view.tables(), analysis.tables)) continue;
    auto found = analysis.run(view, limits, stop);
    if (!found) return found.error();
    for (Finding& finding : *found) all.push_back(std::move(finding));
  }
  rank(all);
  return all;
}

}  // namespace warpmeter::analyzer
