// SPDX-License-Identifier: Apache-2.0
#include "cupti_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "warpmeter/wire/cupti_paths.h"

namespace warpmeter::sampler {
namespace {

constexpr int kMode = RTLD_NOW | RTLD_LOCAL;

void* openBelow(const std::string& toolkit) {
  for (const char* soname : wire::kCuptiSonames) {
    for (const char* folder : wire::kCuptiFolders) {
      if (void* handle = dlopen((toolkit + "/" + folder + "/" + soname).c_str(), kMode)) return handle;
    }
  }
  return nullptr;
}

void* openAnywhere() {
  for (const char* soname : wire::kCuptiSonames) {
    if (void* handle = dlopen(soname, kMode)) return handle;
  }
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* toolkit = std::getenv(variable);
    if (toolkit == nullptr || toolkit[0] != '/') continue;
    if (void* handle = openBelow(toolkit)) return handle;
  }
  for (const char* toolkit : wire::kCudaToolkits) {
    if (void* handle = openBelow(toolkit)) return handle;
  }
  return nullptr;
}

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

std::string checkVersion(std::uint32_t version) {
  if (version < kOldestSamplingCupti) {
    return fmt::format(
        "CUPTI {} is too old for counters: CUDA 12.6 (CUPTI {}) is the oldest with PM sampling", version,
        kOldestSamplingCupti);
  }
  if (version == kRefusedCupti) {
    return "CUPTI 130000 (CUDA 13.0 without Update 1) has defects that are fixed in Update 1: use 13.0 "
           "Update 1 or newer";
  }
  return {};
}

// libnvperf_host and libnvperf_target must come from the folder of the libcupti in use, else CUPTI fails or
// crashes.
void loadCompanions(const std::string& cuptiPath) {
  const std::string folder = cuptiPath.substr(0, cuptiPath.rfind('/') + 1);
  if (folder.empty()) return;
  for (const char* name : {"libnvperf_target.so", "libnvperf_host.so"}) {
    dlopen((folder + name).c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
}

struct Driver {
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuDeviceGetCount) count = nullptr;
  decltype(&::cuDeviceGet) get = nullptr;
  CUresult (*uuid)(CUuuid*, CUdevice) = nullptr;
  decltype(&::cuDeviceGetName) name = nullptr;
  decltype(&::cuDeviceGetAttribute) attribute = nullptr;
};

bool loadDriver(Driver& d) {
  void* library = dlopen("libcuda.so.1", kMode);
  if (library == nullptr) return false;
  if (!find(library, "cuDeviceGetUuid_v2", d.uuid) && !find(library, "cuDeviceGetUuid", d.uuid)) return false;
  return find(library, "cuInit", d.init) && find(library, "cuDeviceGetCount", d.count) &&
         find(library, "cuDeviceGet", d.get) && find(library, "cuDeviceGetName", d.name) &&
         find(library, "cuDeviceGetAttribute", d.attribute);
}

std::string uuidText(const CUuuid& uuid) {
  std::string text;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

Cupti loadCupti(const std::string& explicitPath) {
  Cupti cupti;
  void* handle = explicitPath.empty() ? openAnywhere() : dlopen(explicitPath.c_str(), kMode);
  if (handle == nullptr) {
    const char* why = dlerror();
    cupti.problem = explicitPath.empty()
                        ? "no libcupti.so.13 or .12 found: put its folder on LD_LIBRARY_PATH or name it"
                        : fmt::format("{} cannot be loaded: {}", explicitPath, why == nullptr ? "" : why);
    return cupti;
  }
  find(handle, "cuptiGetResultString", cupti.cuptiGetResultString);
  find(handle, "cuptiGetSassToSourceCorrelation", cupti.cuptiGetSassToSourceCorrelation);
  if (!find(handle, "cuptiGetVersion", cupti.cuptiGetVersion) ||
      cupti.cuptiGetVersion(&cupti.version) != CUPTI_SUCCESS) {
    cupti.problem = "cuptiGetVersion is missing or fails";
    return cupti;
  }
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(cupti.cuptiGetVersion), &info) != 0 && info.dli_fname != nullptr) {
    cupti.path = info.dli_fname;
  }
  cupti.problem = checkVersion(cupti.version);
  if (!cupti.problem.empty()) return cupti;
#define WARPMETER_FIND(name)                                     \
  if (!find(handle, #name, cupti.name) && cupti.problem.empty()) \
    cupti.problem = cupti.path + " has no function " #name;
  WARPMETER_SAMPLER_CUPTI(WARPMETER_FIND)
#undef WARPMETER_FIND
  if (cupti.problem.empty()) loadCompanions(cupti.path);
  return cupti;
}

std::string resultText(const Cupti& cupti, int code) {
  const char* text = nullptr;
  if (cupti.cuptiGetResultString != nullptr)
    cupti.cuptiGetResultString(static_cast<CUptiResult>(code), &text);
  return fmt::format("{} {}", code, text == nullptr ? "?" : text);
}

GpuList listGpus() {
  GpuList list;
  Driver driver;
  if (!loadDriver(driver)) {
    list.problem = "no NVIDIA driver (libcuda.so.1 cannot be loaded): install it";
    return list;
  }
  int count = 0;
  const CUresult status = driver.init(0);
  if (status != CUDA_SUCCESS || driver.count(&count) != CUDA_SUCCESS || count == 0) {
    list.problem = fmt::format("the driver offers no GPU (cuInit answered {})", static_cast<int>(status));
    return list;
  }
  for (int i = 0; i < count; ++i) {
    GpuDevice gpu;
    gpu.ordinal = i;
    CUdevice device = 0;
    CUuuid uuid = {};
    char name[128] = {};
    if (driver.get(&device, i) != CUDA_SUCCESS || driver.uuid(&uuid, device) != CUDA_SUCCESS) continue;
    gpu.uuid = uuidText(uuid);
    if (driver.name(name, sizeof name, device) == CUDA_SUCCESS) gpu.name = name;
    driver.attribute(&gpu.clockKhz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, device);
    list.gpus.push_back(std::move(gpu));
  }
  if (list.gpus.empty()) list.problem = "the driver names no GPU by its UUID";
  return list;
}

}  // namespace warpmeter::sampler
