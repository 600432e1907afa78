// SPDX-License-Identifier: Apache-2.0
#include "record_walk.h"

namespace warpmeter::recorder {

std::map<std::uint32_t, std::int64_t> countKinds(std::span<const std::byte> bytes, const std::uint16_t* sizes) {
  std::map<std::uint32_t, std::int64_t> counts;
  for (std::size_t at = 0; at + 8 <= bytes.size();) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, bytes.data() + at, sizeof kind);
    const std::size_t size = kind < wire::kKindCount ? sizes[kind] : 0;
    if (size == 0 || size > bytes.size() - at) break;
    ++counts[kind];
    at += size;
  }
  return counts;
}

}  // namespace warpmeter::recorder
