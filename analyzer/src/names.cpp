// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/names.h"

namespace warpmeter::analyzer {
namespace {

template <class Enum, std::size_t N>
std::optional<Enum> fromId(const std::array<NamedText, N>& list, std::string_view id) {
  for (std::size_t i = 0; i < N; ++i) {
    if (list[i].id == id) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Reason> reasonFromId(std::string_view id) { return fromId<Reason>(kReasons, id); }
std::optional<FindingId> findingFromId(std::string_view id) { return fromId<FindingId>(kFindings, id); }

}  // namespace warpmeter::analyzer
