// SPDX-License-Identifier: Apache-2.0
// What kind of CUDA call an API name stands for. One table for all analyses.
#pragma once

#include <cstdint>
#include <string_view>

namespace warpmeter::analyzer {

enum class ApiKind : std::uint8_t {
  other,
  launch,
  copy,
  memset,
  sync,
  moduleLoad,
  context,
  init,
  memory,
  stream,
  event,
  graph
};

// Name with or without version suffix and _ptsz.
ApiKind apiKindOf(std::string_view name);

}  // namespace warpmeter::analyzer
