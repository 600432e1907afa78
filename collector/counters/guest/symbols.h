// SPDX-License-Identifier: Apache-2.0
// Tables of functions, filled from a libcupti that is loaded already.
#pragma once

#include <cstddef>
#include <span>

namespace warpmeter::counters {

struct Symbol {
  const char* name;
  std::size_t offset;  // of its pointer in the table
};

// nullptr = all found, else the name of a missing one, or the library's path where it is not loaded.
const char* loadSymbols(void* table, std::span<const Symbol> symbols, const char* libraryPath) noexcept;

}  // namespace warpmeter::counters
