// SPDX-License-Identifier: Apache-2.0
#include "cupti_library.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "warpmeter/wire/cupti_paths.h"

namespace warpmeter::inject {
namespace {

constexpr int kMode = RTLD_NOW | RTLD_LOCAL;

struct Entry {
  const char* name;
  std::size_t offset;
  bool required;
};
constexpr Entry kEntries[] = {
#define WARPMETER_ENTRY(name, required) {#name, offsetof(CuptiFunctions, name), required},
    WARPMETER_CUPTI_FUNCTIONS(WARPMETER_ENTRY)
#undef WARPMETER_ENTRY
};

void* openIn(const char* toolkit) {
  char path[1024];
  for (const char* soname : wire::kCuptiSonames) {
    for (const char* folder : wire::kCuptiFolders) {
      const int length = std::snprintf(path, sizeof path, "%s/%s/%s", toolkit, folder, soname);
      if (length <= 0 || length >= static_cast<int>(sizeof path)) continue;
      if (void* handle = dlopen(path, kMode)) return handle;
    }
  }
  return nullptr;
}

void* openLibrary(const char* explicitPath) {
  if (explicitPath[0] != 0) return dlopen(explicitPath, kMode);
  // One that is there already (a framework's own copy) is the one that the driver will talk to.
  for (const char* soname : wire::kCuptiSonames) {
    if (void* handle = dlopen(soname, kMode | RTLD_NOLOAD)) return handle;
  }
  for (const char* soname : wire::kCuptiSonames) {
    if (void* handle = dlopen(soname, kMode)) return handle;
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* toolkit = std::getenv(variable);
    if (toolkit != nullptr && toolkit[0] == '/') {
      if (void* handle = openIn(toolkit)) return handle;
    }
  }
  for (const char* toolkit : wire::kCudaToolkits) {
    if (void* handle = openIn(toolkit)) return handle;
  }
  return nullptr;
}

void fillFunctions(CuptiLibrary& library, void* handle) {
  auto* table = reinterpret_cast<char*>(&library.functions);
  for (const Entry& entry : kEntries) {
    void* symbol = dlsym(handle, entry.name);
    std::memcpy(table + entry.offset, &symbol, sizeof symbol);
    if (symbol == nullptr && entry.required && library.problem[0] == 0) {
      std::snprintf(library.problem, sizeof library.problem, "libcupti has no function %s", entry.name);
    }
  }
}

}  // namespace

bool loadCupti(CuptiLibrary& library, const char* explicitPath) noexcept {
  void* handle = openLibrary(explicitPath);
  if (handle == nullptr && explicitPath[0] != 0) {
    std::snprintf(library.problem, sizeof library.problem, "WARPMETER_CUPTI=%.180s cannot be loaded", explicitPath);
    return false;
  }
  if (handle == nullptr) {
    std::snprintf(library.problem, sizeof library.problem,
                  "no libcupti.so.13 or .12 found; put its folder on LD_LIBRARY_PATH or set WARPMETER_CUPTI");
    return false;
  }
  fillFunctions(library, handle);
  if (library.problem[0] != 0) return false;
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(library.functions.cuptiGetVersion), &info) != 0 && info.dli_fname != nullptr) {
    std::snprintf(library.path, sizeof library.path, "%s", info.dli_fname);
  }
  if (library.functions.cuptiGetVersion(&library.version) != CUPTI_SUCCESS) {
    std::snprintf(library.problem, sizeof library.problem, "cuptiGetVersion failed");
  } else if (library.version < kOldestCupti) {
    std::snprintf(library.problem, sizeof library.problem,
                  "CUPTI %u is too old: CUDA 12.4 (CUPTI %u) is the oldest that can be recorded with", library.version,
                  kOldestCupti);
  } else if (library.version == kRefusedCupti) {
    std::snprintf(library.problem, sizeof library.problem,
                  "CUPTI 130000 (CUDA 13.0 without Update 1) loses records and can hang; use 13.0 Update 1 or newer");
  }
  return library.problem[0] == 0;
}

}  // namespace warpmeter::inject
