// SPDX-License-Identifier: Apache-2.0
#include "symbols.h"

#include <dlfcn.h>

#include <cstring>

namespace warpmeter::counters {

const char* loadSymbols(void* table, std::span<const Symbol> symbols, const char* libraryPath) noexcept {
  void* handle = dlopen(libraryPath, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (handle == nullptr) return libraryPath;
  for (const Symbol& entry : symbols) {
    void* symbol = dlsym(handle, entry.name);
    if (symbol == nullptr) return entry.name;
    std::memcpy(static_cast<char*>(table) + entry.offset, &symbol, sizeof symbol);
  }
  return nullptr;
}

}  // namespace warpmeter::counters
