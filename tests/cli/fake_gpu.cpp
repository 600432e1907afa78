// SPDX-License-Identifier: Apache-2.0
// A libcuda.so.1 with one GPU that has a name and a UUID and can do nothing: what the CLI asks a driver
// before it runs the bundled programs.
#include <cstdio>
#include <cstring>

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
int cuDeviceGetCount(int* count) { return *count = 1, 0; }
int cuDeviceGet(int* device, int index) { return *device = index, 0; }
int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<std::size_t>(length), "NVIDIA H200");
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 16 ? 132 : attribute == 75 ? 9 : 0;
  return 0;
}
int cuDeviceGetUuid_v2(void* uuid, int) {
  std::memset(uuid, 0xab, 16);
  return 0;
}
}
