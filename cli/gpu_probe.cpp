// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_probe.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cli/environment.h"
#include "cli/json.h"
#include "cli/subprocess.h"

namespace warpmeter::cli {
namespace {

constexpr int kTimeoutMs = 30'000;  // cuInit on a cold driver without persistence takes seconds

// CUdevice_attribute
constexpr int kMultiprocessorCount = 16, kComputeMajor = 75, kComputeMinor = 76;

struct Uuid {
  unsigned char bytes[16];
};

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

std::string uuidText(const Uuid& u) {
  std::string out = "GPU-";
  for (int i = 0; i < 16; ++i)
    out += fmt::format("{}{:02x}", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", u.bytes[i]);
  return out;
}

// Nothing injected: doctor's own cuInit must not load anybody's library.
void forgetInjection() {
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "CUDA_INJECTION32_PATH"})
    unsetenv(name);
}

std::string pathOf(const void* symbolAddress) {
  Dl_info info{};
  return dladdr(symbolAddress, &info) && info.dli_fname ? info.dli_fname : "";
}

Json gpuJson(void* cuda, int index) {
  const auto deviceGet = symbol<int (*)(int*, int)>(cuda, "cuDeviceGet");
  const auto getName = symbol<int (*)(char*, int, int)>(cuda, "cuDeviceGetName");
  const auto getAttribute = symbol<int (*)(int*, int, int)>(cuda, "cuDeviceGetAttribute");
  auto getUuid = symbol<int (*)(Uuid*, int)>(cuda, "cuDeviceGetUuid_v2");
  if (!getUuid) getUuid = symbol<int (*)(Uuid*, int)>(cuda, "cuDeviceGetUuid");
  int device = 0;
  if (!deviceGet || !getName || !getAttribute || deviceGet(&device, index) != 0) return nullptr;
  char name[256] = "";
  getName(name, sizeof name - 1, device);
  const auto attribute = [&](int which) {
    int value = 0;
    getAttribute(&value, which, device);
    return value;
  };
  Uuid uuid{};
  const bool known = getUuid && getUuid(&uuid, device) == 0;
  return Json{{"name", name},
              {"uuid", known ? uuidText(uuid) : ""},
              {"major", attribute(kComputeMajor)},
              {"minor", attribute(kComputeMinor)},
              {"sms", attribute(kMultiprocessorCount)}};
}

std::string askDriver() {
  forgetInjection();
  Json json{{"library", false}};
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!cuda) return json.dump();
  json["library"] = true;
  const auto init = symbol<int (*)(unsigned)>(cuda, "cuInit");
  const auto getCount = symbol<int (*)(int*)>(cuda, "cuDeviceGetCount");
  const auto getVersion = symbol<int (*)(int*)>(cuda, "cuDriverGetVersion");
  const auto errorString = symbol<int (*)(int, const char**)>(cuda, "cuGetErrorString");
  if (!init || !getCount) return json.dump();
  json["path"] = pathOf(reinterpret_cast<void*>(init));
  const int error = init(0);
  json["error"] = error;
  const char* text = nullptr;
  if (error != 0 && errorString && errorString(error, &text) == 0 && text) json["errorText"] = text;
  int version = 0, count = 0;
  if (getVersion && getVersion(&version) == 0) json["version"] = version;
  json["gpus"] = Json::array();
  if (error == 0 && getCount(&count) == 0)
    for (int i = 0; i < count; ++i) json["gpus"].push_back(gpuJson(cuda, i));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build ..." -> "580.159.03"
std::string kernelModuleVersion() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word.find('.') != std::string::npos && word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return "";
}

std::string askCupti(const std::string& preferred) {
  forgetInjection();
  std::vector<std::string> places;
  if (!preferred.empty()) places.push_back(preferred);
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) places.emplace_back(name);
  for (const std::string& home :
       {variable("CUDA_HOME"), variable("CUDA_PATH"), std::string("/usr/local/cuda")})
    if (!home.empty())
      for (const char* below :
           {"/extras/CUPTI/lib64/libcupti.so", "/lib64/libcupti.so", "/targets/x86_64-linux/lib/libcupti.so"})
        places.push_back(home + below);
  for (const auto& place : places) {
    void* library = dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!library) continue;
    const auto getVersion = symbol<int (*)(std::uint32_t*)>(library, "cuptiGetVersion");
    std::uint32_t version = 0;
    if (!getVersion || getVersion(&version) != 0) continue;
    return Json{{"path", pathOf(reinterpret_cast<void*>(getVersion))}, {"version", version}}.dump(
        -1, ' ', false, Json::error_handler_t::replace);
  }
  return "{}";
}

}  // namespace

GpuProbe probeGpus() {
  GpuProbe probe;
  probe.driverVersion = kernelModuleVersion();
  const auto child = captureInChild(askDriver, kTimeoutMs);
  const Json json = child ? Json::parse(child->out, nullptr, false) : Json();
  if (!json.is_object()) {
    probe.library = true;
    probe.initError = -1;
    probe.initErrorText =
        child && child->timedOut ? "the driver did not answer within 30 s" : "the driver crashed";
    return probe;
  }
  probe.library = json.value("library", false);
  probe.libraryPath = json.value("path", "");
  probe.initError = json.value("error", 0);
  probe.initErrorText = json.value("errorText", "");
  probe.cudaVersion = json.value("version", 0);
  int index = 0;
  for (const auto& gpu : json.value("gpus", Json::array())) {
    ProbedGpu out;
    out.index = index++;
    if (gpu.is_object()) {
      out.name = gpu.value("name", "");
      out.uuid = gpu.value("uuid", "");
      out.computeMajor = gpu.value("major", 0);
      out.computeMinor = gpu.value("minor", 0);
      out.smCount = gpu.value("sms", 0);
    }
    out.mig = out.name.find(" MIG ") != std::string::npos;
    probe.gpus.push_back(std::move(out));
  }
  return probe;
}

CuptiProbe probeCupti(const std::string& preferred) {
  const auto child = captureInChild([&] { return askCupti(preferred); }, kTimeoutMs);
  const Json json = child ? Json::parse(child->out, nullptr, false) : Json();
  if (!json.is_object()) return {};
  return {json.value("path", ""), json.value("version", 0)};
}

std::string cuptiVersionText(long long version) {
  if (version >= 1000) return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
  constexpr std::array kNames{"11.8", "12.0", "12.2", "12.3", "12.4",  "12.5",
                              "12.6", "12.6", "12.8", "12.9", "12.9.1"};
  const auto index = version - 18;
  if (index >= 0 && index < static_cast<long long>(kNames.size()))
    return kNames[static_cast<std::size_t>(index)];
  return fmt::format("of API version {}", version);
}

}  // namespace warpmeter::cli
