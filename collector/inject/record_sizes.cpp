// SPDX-License-Identifier: Apache-2.0
#include "record_sizes.h"

namespace warpmeter::inject {

// A buffer in which every 8-byte word may be taken for a record of kind RUNTIME: put one record of the kind in question
// at its start, ask for the next one, and its address gives the size. Records are aligned to 8 bytes.
void askRecordSizes(const CuptiFunctions& cupti, std::uint16_t (&recordBytes)[wire::kKindCount]) noexcept {
  constexpr int kWords = 256;
  std::uint64_t buffer[kWords];
  auto* bytes = reinterpret_cast<std::uint8_t*>(buffer);
  for (std::uint32_t kind = 1; kind < static_cast<std::uint32_t>(wire::kKindCount); ++kind) {
    for (std::uint64_t& word : buffer) word = CUPTI_ACTIVITY_KIND_RUNTIME;
    buffer[0] = kind;
    auto* record = reinterpret_cast<CUpti_Activity*>(bytes);
    recordBytes[kind] = 0;
    if (cupti.cuptiActivityGetNextRecord(bytes, sizeof buffer, &record) != CUPTI_SUCCESS) continue;
    const auto size = reinterpret_cast<std::uint8_t*>(record) - bytes;
    if (size >= 8 && size < static_cast<std::ptrdiff_t>(sizeof buffer) && size % 8 == 0) {
      recordBytes[kind] = static_cast<std::uint16_t>(size);
    }
  }
}

}  // namespace warpmeter::inject
