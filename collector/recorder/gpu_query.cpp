// SPDX-License-Identifier: Apache-2.0
#include "gpu_query.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>

#include "child_process.h"

extern char** environ;

namespace warpmeter::recorder {
namespace {

// CUdevice_attribute
struct Attribute {
  int id;
  const char* key;
  std::int64_t GpuInfo::*field;
  std::int64_t scale;
};
constexpr Attribute kAttributes[] = {
    {1, "maxThreadsPerBlock", &GpuInfo::maxThreadsPerBlock, 1},
    {8, "maxShmemPerBlock", &GpuInfo::maxShmemPerBlock, 1},
    {9, "constantMemory", &GpuInfo::constantMemory, 1},
    {10, "threadsPerWarp", &GpuInfo::threadsPerWarp, 1},
    {12, "maxRegistersPerBlock", &GpuInfo::maxRegistersPerBlock, 1},
    {13, "clockRate", &GpuInfo::clockRate, 1000},
    {16, "smCount", &GpuInfo::smCount, 1},
    {36, "memoryClockHz", &GpuInfo::memoryClockHz, 1000},
    {37, "memoryBusBits", &GpuInfo::memoryBusBits, 1},
    {38, "l2CacheSize", &GpuInfo::l2CacheSize, 1},
    {40, "asyncEngines", &GpuInfo::asyncEngines, 1},
    {75, "computeMajor", &GpuInfo::computeMajor, 1},
    {76, "computeMinor", &GpuInfo::computeMinor, 1},
    {81, "maxShmemPerSm", &GpuInfo::maxShmemPerSm, 1},
    {82, "maxRegistersPerSm", &GpuInfo::maxRegistersPerSm, 1},
    {97, "maxShmemPerBlockOptin", &GpuInfo::maxShmemPerBlockOptin, 1},
    {106, "maxBlocksPerSm", &GpuInfo::maxBlocksPerSm, 1},
    {111, "reservedShmemPerBlock", &GpuInfo::reservedShmemPerBlock, 1},
};
constexpr int kIntegrated = 18, kMaxThreadsPerSm = 39;
constexpr int kBlockDim[3] = {2, 3, 4}, kGridDim[3] = {5, 6, 7};

struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*count)(int*) = nullptr;
  int (*get)(int*, int) = nullptr;
  int (*attribute)(int*, int, int) = nullptr;
  int (*name)(char*, int, int) = nullptr;
  int (*uuid)(unsigned char*, int) = nullptr;
  int (*memory)(std::size_t*, int) = nullptr;
  int (*bus)(char*, int, int) = nullptr;
};

template <class Function>
bool find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, symbol));
  return function != nullptr;
}

bool load(Driver& d) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  const bool ok = find(library, "cuInit", d.init) && find(library, "cuDeviceGetCount", d.count) &&
                  find(library, "cuDeviceGet", d.get) && find(library, "cuDeviceGetAttribute", d.attribute) &&
                  find(library, "cuDeviceGetName", d.name);
  if (!find(library, "cuDeviceGetUuid_v2", d.uuid)) find(library, "cuDeviceGetUuid", d.uuid);
  find(library, "cuDeviceTotalMem_v2", d.memory);
  find(library, "cuDeviceGetPCIBusId", d.bus);
  return ok && d.uuid != nullptr;
}

void printUuid(const unsigned char* uuid) {
  std::fputs("uuid ", stdout);
  for (int i = 0; i < 16; ++i) std::printf("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
  std::fputc('\n', stdout);
}

void printGpu(const Driver& d, int ordinal) {
  int device = 0;
  unsigned char uuid[16] = {};
  if (d.get(&device, ordinal) != 0 || d.uuid(uuid, device) != 0) return;
  std::printf("gpu %d\n", ordinal);
  printUuid(uuid);
  char text[256] = {};
  if (d.name(text, sizeof text, device) == 0) std::printf("name %s\n", text);
  if (d.bus != nullptr && d.bus(text, sizeof text, device) == 0) std::printf("busLocation %s\n", text);
  std::size_t bytes = 0;
  if (d.memory != nullptr && d.memory(&bytes, device) == 0) std::printf("totalMemory %zu\n", bytes);
  int value = 0;
  for (const Attribute& a : kAttributes) {
    if (d.attribute(&value, a.id, device) == 0) std::printf("%s %lld\n", a.key, static_cast<long long>(value * a.scale));
  }
  if (d.attribute(&value, kIntegrated, device) == 0) std::printf("isDiscrete %d\n", value == 0);
  if (d.attribute(&value, kMaxThreadsPerSm, device) == 0) std::printf("maxWarpsPerSm %d\n", value / 32);
  for (int i = 0; i < 3; ++i) {
    if (d.attribute(&value, kBlockDim[i], device) == 0) std::printf("maxBlockDim%c %d\n", "XYZ"[i], value);
    if (d.attribute(&value, kGridDim[i], device) == 0) std::printf("maxGridDim%c %d\n", "XYZ"[i], value);
  }
}

void assign(GpuInfo& gpu, std::string_view key, std::string_view text) {
  if (key == "uuid") gpu.uuid = text;
  if (key == "name") gpu.name = text;
  if (key == "busLocation") gpu.busLocation = text;
  std::int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return;
  for (const Attribute& a : kAttributes) {
    if (key == a.key) gpu.*a.field = value;
  }
  if (key == "totalMemory") gpu.totalMemory = value;
  if (key == "isDiscrete") gpu.isDiscrete = value;
  if (key == "maxWarpsPerSm") gpu.maxWarpsPerSm = value;
  if (key.size() == 12 && key.starts_with("maxBlockDim") && key[11] >= 'X' && key[11] <= 'Z') gpu.maxBlockDim[key[11] - 'X'] = value;
  if (key.size() == 11 && key.starts_with("maxGridDim") && key[10] >= 'X' && key[10] <= 'Z') gpu.maxGridDim[key[10] - 'X'] = value;
}

}  // namespace

int queryGpusMain() {
  Driver driver;
  int count = 0;
  if (!load(driver) || driver.init(0) != 0 || driver.count(&count) != 0) return 1;
  for (int i = 0; i < count; ++i) printGpu(driver, i);
  std::fflush(stdout);
  _exit(0);  // not through the driver's exit handlers
}

std::vector<GpuInfo> parseGpuLines(std::string_view text) {
  std::vector<GpuInfo> gpus;
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (end == text.npos) break;  // cut off in the middle
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const auto blank = line.find(' ');
    if (blank == line.npos) continue;
    const std::string_view key = line.substr(0, blank), value = line.substr(blank + 1);
    if (key == "gpu") {
      gpus.emplace_back().limitSource = "driver";
      std::from_chars(value.data(), value.data() + value.size(), gpus.back().id);
      gpus.back().cuDevice = gpus.back().id;
    } else if (!gpus.empty()) {
      assign(gpus.back(), key, value);
    }
  }
  return gpus;
}

std::vector<std::string> childEnvironment() {
  static constexpr std::string_view kForbidden[] = {"CUDA_INJECTION64_PATH=", "NVTX_INJECTION64_PATH=", "LD_PRELOAD=",
                                                    "CUDA_VISIBLE_DEVICES=", "CUDA_MPS_PIPE_DIRECTORY=", "WARPMETER_"};
  std::vector<std::string> result;
  for (char** at = environ; *at != nullptr; ++at) {
    bool allowed = true;
    for (const std::string_view prefix : kForbidden) allowed = allowed && !std::string_view(*at).starts_with(prefix);
    if (allowed) result.emplace_back(*at);
  }
  return result;
}

GpuQuery::~GpuQuery() { stop(); }

void GpuQuery::start(std::int64_t nowNs) {
  if (started_) return;
  started_ = true;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  const bool ok = spawnChild("/proc/self/exe", {"warpmeter-recorder", "--query-gpus"}, -1, ends[1], -1, child_) == 0;
  close(ends[1]);
  fd_ = ends[0];
  startedNs_ = nowNs;
  if (!ok) stop();
}

bool GpuQuery::poll(std::int64_t nowNs) {
  if (fd_ < 0) return false;
  char buffer[4096];
  ssize_t n = 0;
  while ((n = read(fd_, buffer, sizeof buffer)) > 0 && text_.size() < (1u << 20)) {
    text_.append(buffer, static_cast<std::size_t>(n));
  }
  const bool ended = n == 0;
  if (!ended && nowNs - startedNs_ < kTimeoutNs) return false;
  result_ = parseGpuLines(text_);
  stop();
  return true;
}

void GpuQuery::stop() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  if (child_ > 0) {
    kill(child_, SIGKILL);  // gone already, or it will never answer
    // A child stuck inside the driver cannot be reaped; waiting for it would hang the recorder too.
    for (int i = 0; i < 100 && waitpid(child_, nullptr, WNOHANG) == 0; ++i) usleep(1000);
  }
  child_ = -1;
}

}  // namespace warpmeter::recorder
