// SPDX-License-Identifier: Apache-2.0
// Why a GPU was idle: what the thread that launched the next operation did meanwhile.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "warpmeter/analyzer/api_kinds.h"
#include "warpmeter/analyzer/concurrency.h"

namespace warpmeter::analyzer {

class IdleCauses {
 public:
  explicit IdleCauses(const ProfileView& view) : view_(view) {}

  // Parts of the gap [beginNs, endNs), which ended with an operation of that process and correlation id.
  // They add up to its length.
  std::vector<IdlePart> partsOf(std::int64_t beginNs, std::int64_t endNs, std::uint32_t process,
                                std::int64_t correlation);

 private:
  IdlePart partOf(NameId call);

  const ProfileView& view_;
  std::map<NameId, ApiKind> kinds_;
};

// Adds up parts of the same cause and call; result by time, largest first.
class IdleTotals {
 public:
  void add(const std::vector<IdlePart>& parts) {
    for (const IdlePart& p : parts) totals_[{p.cause, p.api}] += p.ns;
  }
  std::vector<IdlePart> sorted() const;

 private:
  std::map<std::pair<IdleCause, NameId>, std::int64_t> totals_;
};

}  // namespace warpmeter::analyzer
