// SPDX-License-Identifier: Apache-2.0
#include "nvlink.h"

#include <dlfcn.h>

#include <memory>

namespace warpmeter::sampler {
namespace {

// From NVML's reference: nvmlReturn_t is an int and 0 is success, nvmlDevice_t a pointer, nvmlEnableState_t 0
// or 1, and links are counted from 0 (at most 18 of them so far).
constexpr int kSuccess = 0;
constexpr unsigned kMostLinks = 18;
using Device = void*;

template <class Function>
Function found(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

bool mayHaveNvlink(const std::string& uuid) {
  const std::unique_ptr<void, int (*)(void*)> library(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL),
                                                      dlclose);
  if (library == nullptr) return true;
  const auto start = found<int (*)()>(library.get(), "nvmlInit_v2");
  const auto end = found<int (*)()>(library.get(), "nvmlShutdown");
  const auto byUuid = found<int (*)(const char*, Device*)>(library.get(), "nvmlDeviceGetHandleByUUID");
  const auto state = found<int (*)(Device, unsigned, unsigned*)>(library.get(), "nvmlDeviceGetNvLinkState");
  if (start == nullptr || end == nullptr || byUuid == nullptr || state == nullptr || start() != kSuccess)
    return true;
  bool up = false, known = false;
  Device device = nullptr;
  if (byUuid(("GPU-" + uuid).c_str(), &device) == kSuccess) {
    known = true;
    for (unsigned link = 0; link < kMostLinks && !up; ++link) {
      unsigned active = 0;  // a link that the GPU has not is an error: then it is not up either
      up = state(device, link, &active) == kSuccess && active != 0;
    }
  }
  end();
  return up || !known;
}

}  // namespace warpmeter::sampler
