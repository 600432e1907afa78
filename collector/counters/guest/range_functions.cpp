// SPDX-License-Identifier: Apache-2.0
#include "range_functions.h"

#include "symbols.h"

namespace warpmeter::counters {
namespace {

constexpr Symbol kSymbols[] = {
#define WARPMETER_ENTRY(name) {#name, offsetof(RangeFunctions, name)},
    WARPMETER_RANGE_FUNCTIONS(WARPMETER_ENTRY)
#undef WARPMETER_ENTRY
};

}  // namespace

const char* loadRangeFunctions(RangeFunctions& functions, const char* libraryPath) noexcept {
  return loadSymbols(&functions, kSymbols, libraryPath);
}

}  // namespace warpmeter::counters
