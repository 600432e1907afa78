// SPDX-License-Identifier: Apache-2.0
#include "pc_functions.h"

#include "symbols.h"

namespace warpmeter::counters {
namespace {

constexpr Symbol kSymbols[] = {
#define WARPMETER_ENTRY(name) {#name, offsetof(PcFunctions, name)},
    WARPMETER_PC_FUNCTIONS(WARPMETER_ENTRY)
#undef WARPMETER_ENTRY
};

}  // namespace

const char* loadPcFunctions(PcFunctions& functions, const char* libraryPath) noexcept {
  return loadSymbols(&functions, kSymbols, libraryPath);
}

}  // namespace warpmeter::counters
