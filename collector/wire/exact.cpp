// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/wire/exact.h"

#include "warpmeter/wire/layout.h"

namespace warpmeter::wire {
namespace {

bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t total) {
  return offset >= sizeof(Configurations) && offset <= total && bytes <= total - offset;
}

}  // namespace

ExactArea* exactAreaOf(void* base) {
  const Header* header = headerOf(base);
  if (header->exactBytes < kExactBytes) return nullptr;
  return reinterpret_cast<ExactArea*>(static_cast<std::byte*>(base) + header->exactOffset);
}

bool soundConfigurations(const void* start, std::uint64_t bytes) {
  if (bytes < sizeof(Configurations) || bytes > kExactBytes - kConfigurationsOffset) return false;
  const auto& all = *static_cast<const Configurations*>(start);
  if (all.magic != kConfigurationsMagic || all.bytes != bytes) return false;
  if (all.count == 0 || all.count > kMaxConfigurations || all.chip[kChipBytes - 1] != 0) return false;
  const auto* text = static_cast<const char*>(start);
  for (std::uint32_t i = 0; i < all.count; ++i) {
    const Configuration& c = all.entries[i];
    if (c.imageBytes == 0 || c.imageOffset % 8 != 0 || !inside(c.imageOffset, c.imageBytes, bytes))
      return false;
    if (c.metrics == 0 || c.namesBytes == 0 || !inside(c.namesOffset, c.namesBytes, bytes)) return false;
    std::uint32_t ends = 0;
    for (std::uint32_t at = 0; at < c.namesBytes; ++at) ends += text[c.namesOffset + at] == 0 ? 1 : 0;
    if (ends != c.metrics || text[c.namesOffset + c.namesBytes - 1] != 0) return false;
  }
  return true;
}

}  // namespace warpmeter::wire
