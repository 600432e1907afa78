// SPDX-License-Identifier: Apache-2.0
// One walk over each buffer that CUPTI completed: text pointers become string references. Sizes of records are those
// that this process's own libcupti gave (record_sizes.cpp), so newer and older layouts are stepped over correctly, and
// a field is touched only where the record is long enough to have it.
#pragma once

#include <cstdint>

#include "names.h"
#include "warpmeter/wire/layout.h"

namespace warpmeter::inject {

enum class PointerUse : std::uint8_t {
  none,
  text,     // a name: replaced by a reference
  discard,  // means nothing outside this process: replaced by 0
  release,  // as discard, but CUPTI wants it freed by us
};

struct RecordLayout {
  std::uint16_t bytes = 0;         // 0 = unknown kind
  std::uint16_t offset[2] = {};    // of pointers
  PointerUse use[2] = {};
};

struct RecordTable {
  RecordLayout kinds[wire::kKindCount];
};

// Fills the pointer columns from the sizes: which kinds hold which pointers is known from the toolkit's headers.
void fillRecordTable(RecordTable& table, const std::uint16_t (&recordBytes)[wire::kKindCount]) noexcept;

struct WalkResult {
  std::uint64_t records = 0;
  bool complete = true;  // false: stopped at something that is no record; the rest is left as it is
};
WalkResult walkBuffer(const RecordTable& table, Names& names, std::uint8_t* buffer, std::uint64_t validBytes) noexcept;

// Counts without touching.
std::uint64_t countRecords(const RecordTable& table, const std::uint8_t* buffer, std::uint64_t validBytes) noexcept;

}  // namespace warpmeter::inject
