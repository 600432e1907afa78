// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 with as many GPUs as FAKE_PM_GPUS says (default 1). Their UUIDs are 16 bytes of their number
// + 1.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

int gpus() {
  const char* text = std::getenv("FAKE_PM_GPUS");
  return text == nullptr ? 1 : std::atoi(text);
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) int cuInit(unsigned) { return gpus() > 0 ? 0 : 100; }
__attribute__((visibility("default"))) int cuDeviceGetCount(int* count) { return *count = gpus(), 0; }
__attribute__((visibility("default"))) int cuDeviceGet(int* device, int ordinal) {
  return *device = ordinal, 0;
}
__attribute__((visibility("default"))) int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
  std::memset(uuid, device + 1, 16);
  return 0;
}
__attribute__((visibility("default"))) int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU");
  return 0;
}
__attribute__((visibility("default"))) int cuDeviceGetAttribute(int* value, int, int) {
  return *value = 1'500'000, 0;
}
}
