// SPDX-License-Identifier: Apache-2.0
// warpmeter-calibrate GPU: what this GPU can reach, as one line of JSON. `warpmeter calibrate` runs it and
// keeps the answer; without an argument it prints how many GPUs there are.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "calibrate/rates.h"

namespace {

using namespace warpmeter::calibrate;

constexpr int kFailed = 1;
constexpr int kUsage = 2;
constexpr int kNoGpu = 4;

int complain(int code, const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  return code;
}

std::string uuidText(const cudaUUID_t& uuid) {
  std::string out;
  char digits[3];
  for (int i = 0; i < 16; ++i) {
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    out += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits);
  }
  return out;
}

// Bytes read and written per second by the best copy inside the GPU's memory; bytes: of one copy.
double copyRate(std::size_t& bytes) {
  constexpr std::size_t kWanted = std::size_t{1} << 30;
  constexpr std::size_t kLeast = std::size_t{64} << 20;  // smaller ones stay in the L2 cache
  std::size_t available = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&available, &total) != cudaSuccess) {
    return 0;
  }
  bytes = std::min(kWanted, available * 4 / 10 >> 20 << 20);
  if (bytes < kLeast) {
    bytes = 0;
    return 0;
  }
  void* from = nullptr;
  void* to = nullptr;
  double seconds = 0;
  if (cudaMalloc(&from, bytes) == cudaSuccess && cudaMalloc(&to, bytes) == cudaSuccess &&
      cudaMemset(from, 0x5a, bytes) == cudaSuccess && cudaMemset(to, 0, bytes) == cudaSuccess) {
    seconds = bestSeconds([&] { cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice); });
  }
  cudaFree(from);
  cudaFree(to);
  return seconds > 0 ? 2.0 * static_cast<double>(bytes) / seconds : 0;
}

void printRate(const char* name, double rate) {
  if (rate > 0) {
    std::printf(",\"%s\":%.6g", name, rate);
  } else {
    std::printf(",\"%s\":null", name);
  }
}

// The way that reaches the tensor cores' rate on this chip; of 10.x and later neither does.
double bestTensorRate(const cudaDeviceProp& gpu) {
  if (gpu.major == 9) {
    return std::max(hopperTensorRate(gpu.multiProcessorCount), tensorRate(gpu.multiProcessorCount));
  }
  return gpu.major == 8 || gpu.major == 12 ? tensorRate(gpu.multiProcessorCount) : 0;
}

int measure(int device) {
  cudaDeviceProp gpu{};
  cudaError_t error = cudaSetDevice(device);
  if (error == cudaSuccess) {
    error = cudaGetDeviceProperties(&gpu, device);
  }
  if (error == cudaSuccess) {
    error = cudaFree(nullptr);
  }
  if (error != cudaSuccess) {
    return complain(kFailed, std::string("GPU ") + std::to_string(device) + ": " + cudaGetErrorString(error));
  }
  std::size_t bytes = 0;
  fp32Rate(gpu.multiProcessorCount);  // clocks rise
  const double fp32 = fp32Rate(gpu.multiProcessorCount);
  const double fp64 = fp64Rate(gpu.multiProcessorCount);
  const double dram = copyRate(bytes);
  const double tensor = bestTensorRate(gpu);
  error = cudaDeviceSynchronize();
  if (error != cudaSuccess || dram <= 0 || fp32 <= 0) {
    return complain(kFailed, std::string("GPU ") + std::to_string(device) + " could not be measured: " +
                                 (error != cudaSuccess ? cudaGetErrorString(error)
                                  : bytes == 0         ? "not enough of its memory is free"
                                                       : "its copies or kernels failed"));
  }
  // Names of GPUs hold letters, digits, blanks and dashes.
  std::printf("{\"gpu\":%d,\"uuid\":\"%s\",\"name\":\"%s\",\"copyBytes\":%zu", device,
              uuidText(gpu.uuid).c_str(), gpu.name, bytes);
  printRate("dramBytesPerSec", dram);
  printRate("fp32PerSec", fp32);
  printRate("fp64PerSec", fp64);
  printRate("tensorBf16PerSec", tensor);
  std::printf("}\n");
  return std::fflush(stdout) == 0 ? 0 : kFailed;
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    return complain(kNoGpu, std::string("no GPU to measure: ") +
                                (error == cudaErrorInsufficientDriver
                                     ? "no NVIDIA driver, or one too old for this program"
                                     : cudaGetErrorString(error != cudaSuccess ? error : cudaErrorNoDevice)));
  }
  if (argc < 2) {
    std::printf("{\"gpus\":%d}\n", count);
    return 0;
  }
  char* end = nullptr;
  const long device = std::strtol(argv[1], &end, 10);
  if (end == argv[1] || *end != '\0' || device < 0 || device >= count) {
    return complain(kUsage,
                    std::string("no GPU ") + argv[1] + ": the last one is " + std::to_string(count - 1));
  }
  return measure(static_cast<int>(device));
}
