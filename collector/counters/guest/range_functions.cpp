// SPDX-License-Identifier: Apache-2.0
#include "range_functions.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstring>

namespace warpmeter::counters {
namespace {

struct Entry {
  const char* name;
  std::size_t offset;
};
constexpr Entry kEntries[] = {
#define WARPMETER_ENTRY(name) {#name, offsetof(RangeFunctions, name)},
    WARPMETER_RANGE_FUNCTIONS(WARPMETER_ENTRY)
#undef WARPMETER_ENTRY
};

}  // namespace

const char* loadRangeFunctions(RangeFunctions& functions, const char* libraryPath) noexcept {
  void* handle = dlopen(libraryPath, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return libraryPath;
  auto* table = reinterpret_cast<char*>(&functions);
  for (const Entry& entry : kEntries) {
    void* symbol = dlsym(handle, entry.name);
    if (symbol == nullptr) return entry.name;
    std::memcpy(table + entry.offset, &symbol, sizeof symbol);
  }
  return nullptr;
}

}  // namespace warpmeter::counters
