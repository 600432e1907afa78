// SPDX-License-Identifier: Apache-2.0
// The few CUDA Runtime helpers that the programs share. Errors end the program through Failure.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "common/report.h"

namespace warpmeter::kernels {

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw Failure{kExitFailed, std::string(what) + ": " + cudaGetErrorString(status)};
  }
}

// WARPMETER_CHECK(cudaMalloc(...)): the message names the call.
#define WARPMETER_CHECK(call) ::warpmeter::kernels::check((call), #call)

// After a <<<>>> launch, which returns nothing itself.
inline void checkLaunch(const char* kernel) { check(cudaGetLastError(), kernel); }

// How many GPUs there are; creates no context. Throws Failure{kExitNoGpu} without a GPU, Failure{kExitUsage}
// when --device is not one of them.
inline int requireDevice(const Run& run) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    throw Failure{kExitNoGpu,
                  std::string("no GPU to run on: ") +
                      (status == cudaErrorInsufficientDriver
                           ? "no NVIDIA driver, or one too old for this program"
                           : cudaGetErrorString(status != cudaSuccess ? status : cudaErrorNoDevice))};
  }
  const int device = static_cast<int>(run.arguments["device"]);
  if (device >= count) {
    throw Failure{kExitUsage, "--device " + std::to_string(device) + " does not exist, the last one is " +
                                  std::to_string(count - 1)};
  }
  return count;
}

// Makes --device current and creates its context. Throws as requireDevice does.
inline void openDevice(Run& run) {
  requireDevice(run);
  const int device = static_cast<int>(run.arguments["device"]);
  WARPMETER_CHECK(cudaSetDevice(device));
  WARPMETER_CHECK(cudaFree(nullptr));
  cudaDeviceProp properties{};
  WARPMETER_CHECK(cudaGetDeviceProperties(&properties, device));
  run.report.device = properties.name;
}

// Of --device.
inline int deviceAttribute(const Run& run, cudaDeviceAttr attribute) {
  int value = 0;
  WARPMETER_CHECK(cudaDeviceGetAttribute(&value, attribute, static_cast<int>(run.arguments["device"])));
  return value;
}

// Throws Failure{kExitUsage} when the GPU has not that much free. why names the option to make smaller.
inline void requireDeviceMemory(std::int64_t bytes, std::string_view why) {
  std::size_t available = 0;
  std::size_t total = 0;
  WARPMETER_CHECK(cudaMemGetInfo(&available, &total));
  if (static_cast<std::size_t>(bytes) > available) {
    throw Failure{kExitUsage, std::string(why) + " is too large: it needs " +
                                  scaled(static_cast<double>(bytes), "B") + " of GPU memory, " +
                                  scaled(static_cast<double>(available), "B") + " are free"};
  }
}

// Throws Failure{kExitUsage} when this kernel cannot run with that many threads a block on this GPU. Asking
// also loads the kernel, so that the first timed launch does not pay for it.
template <class... Parameters>
void requireBlock(void (*kernel)(Parameters...), std::int64_t threads) {
  cudaFuncAttributes attributes{};
  WARPMETER_CHECK(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
  if (threads > attributes.maxThreadsPerBlock) {
    throw Failure{kExitUsage, "a block of " + std::to_string(threads) +
                                  " threads is not allowed, this kernel takes " +
                                  std::to_string(attributes.maxThreadsPerBlock)};
  }
}

// Blocks of this kernel that the GPU runs at once.
template <class... Parameters>
unsigned blocksAtOnce(const Run& run, void (*kernel)(Parameters...), unsigned block) {
  int perProcessor = 0;
  WARPMETER_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &perProcessor, reinterpret_cast<const void*>(kernel), static_cast<int>(block), 0));
  return static_cast<unsigned>(perProcessor * deviceAttribute(run, cudaDevAttrMultiProcessorCount));
}

// Blocks that cover count items. Throws Failure{kExitUsage} beyond the largest grid.
inline unsigned blocksFor(std::int64_t count, std::int64_t perBlock) {
  const std::int64_t blocks = count / perBlock + (count % perBlock != 0 ? 1 : 0);
  if (blocks > 2147483647) {
    throw Failure{kExitUsage,
                  "a grid of " + std::to_string(blocks) + " blocks is not allowed, choose a larger --block"};
  }
  return static_cast<unsigned>(blocks);
}

// A CUDA stream with the number under which the program lists it; 0 is the default stream.
class Stream {
 public:
  Stream() = default;
  explicit Stream(int index, unsigned flags = cudaStreamNonBlocking) : index_(index) {
    WARPMETER_CHECK(cudaStreamCreateWithFlags(&handle_, flags));
  }
  // Lower numbers go first.
  static Stream withPriority(int index, int priority) {
    Stream stream;
    stream.index_ = index;
    WARPMETER_CHECK(cudaStreamCreateWithPriority(&stream.handle_, cudaStreamNonBlocking, priority));
    return stream;
  }
  Stream(Stream&& other) noexcept : handle_(other.handle_), index_(other.index_) { other.handle_ = nullptr; }
  Stream& operator=(Stream&&) = delete;
  ~Stream() {
    if (handle_ != nullptr) {
      cudaStreamDestroy(handle_);
    }
  }
  operator cudaStream_t() const { return handle_; }
  int index() const { return index_; }
  void synchronize() const { WARPMETER_CHECK(cudaStreamSynchronize(handle_)); }

 private:
  cudaStream_t handle_ = nullptr;
  int index_ = 0;
};

// size elements in GPU memory. Copies use pageable memory and the default stream, and are reported.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::int64_t size) : size_(size) {
    WARPMETER_CHECK(cudaMalloc(reinterpret_cast<void**>(&data_), bytes()));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  T* get() const { return data_; }
  std::size_t bytes() const { return static_cast<std::size_t>(size_) * sizeof(T); }

  void upload(const std::vector<T>& from, Report& report) {
    WARPMETER_CHECK(cudaMemcpy(data_, from.data(), bytes(), cudaMemcpyHostToDevice));
    report.copy({"h2d", "pageable", static_cast<std::int64_t>(bytes())});
  }
  std::vector<T> download(Report& report) const {
    std::vector<T> to(static_cast<std::size_t>(size_));
    WARPMETER_CHECK(cudaMemcpy(to.data(), data_, bytes(), cudaMemcpyDeviceToHost));
    report.copy({"d2h", "pageable", static_cast<std::int64_t>(bytes())});
    return to;
  }

 private:
  T* data_ = nullptr;
  std::int64_t size_;
};

// GPU time between start() and stop(), in one stream.
class EventTimer {
 public:
  explicit EventTimer(cudaStream_t stream = nullptr) : stream_(stream) {
    WARPMETER_CHECK(cudaEventCreate(&start_));
    WARPMETER_CHECK(cudaEventCreate(&stop_));
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;
  ~EventTimer() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  void start() { WARPMETER_CHECK(cudaEventRecord(start_, stream_)); }
  // Waits for the work in between.
  double stopNs() {
    WARPMETER_CHECK(cudaEventRecord(stop_, stream_));
    WARPMETER_CHECK(cudaEventSynchronize(stop_));
    float milliseconds = 0;
    WARPMETER_CHECK(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return static_cast<double>(milliseconds) * 1e6;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

}  // namespace warpmeter::kernels
