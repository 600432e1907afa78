// SPDX-License-Identifier: Apache-2.0
#include "src/idle_cause.h"

#include <algorithm>
#include <array>

namespace warpmeter::analyzer {
namespace {

// The outermost call around `index`.
std::size_t outermost(const ApiCalls& api, std::size_t index) {
  while (index > 0 && api.depth(index) != 0) --index;
  return index;
}

}  // namespace

std::string_view idOf(IdleCause cause) {
  constexpr std::array<std::string_view, 6> kIds{"launching", "sync", "api", "host", "queued", "unknown"};
  return kIds[static_cast<std::size_t>(cause)];
}

IdlePart IdleCauses::partOf(NameId call) {
  const auto [it, fresh] = kinds_.try_emplace(call, ApiKind::other);
  if (fresh) it->second = apiKindOf(view_.name(call));
  if (it->second == ApiKind::launch) return {IdleCause::launching, 0, 0};
  return {it->second == ApiKind::sync ? IdleCause::sync : IdleCause::api, call, 0};
}

std::vector<IdlePart> IdleCauses::partsOf(std::int64_t beginNs, std::int64_t endNs, std::uint32_t process,
                                          std::int64_t correlation) {
  const auto ref = view_.apiCall(process, correlation);
  if (!ref) return {{IdleCause::unknown, 0, endNs - beginNs}};
  const ApiCalls& api = view_.threads()[ref.lane].api;
  const std::size_t launch = outermost(api, ref.index);
  std::vector<IdlePart> parts;
  const auto add = [&](IdlePart part, std::int64_t ns) {
    if (ns <= 0) return;
    part.ns = ns;
    parts.push_back(part);
  };
  if (api.startNs(launch) < beginNs) {  // launched before the GPU fell idle
    const std::int64_t returned = std::clamp(api.endNs(launch), beginNs, endNs);
    add({IdleCause::launching, 0, 0}, returned - beginNs);
    add({IdleCause::queued, 0, 0}, endNs - returned);
    return parts;
  }
  const std::int64_t launchNs = std::min(api.startNs(launch), endNs);
  std::int64_t inCalls = 0;
  const auto starts = api.start.span();
  auto i = static_cast<std::size_t>(std::ranges::lower_bound(starts, beginNs) - starts.begin());
  for (i = outermost(api, i > 0 ? i - 1 : 0); i < launch; ++i) {
    if (api.depth(i) != 0) continue;
    const std::int64_t ns = std::min(api.endNs(i), launchNs) - std::max(api.startNs(i), beginNs);
    if (ns <= 0) continue;
    add(partOf(api.name[i]), ns);
    inCalls += ns;
  }
  add({IdleCause::host, 0, 0}, launchNs - beginNs - inCalls);
  add({IdleCause::launching, 0, 0}, endNs - launchNs);
  return parts;
}

std::vector<IdlePart> IdleTotals::sorted() const {
  std::vector<IdlePart> out;
  for (const auto& [key, ns] : totals_) out.push_back({key.first, key.second, ns});
  std::ranges::stable_sort(out, std::greater{}, &IdlePart::ns);
  return out;
}

}  // namespace warpmeter::analyzer
