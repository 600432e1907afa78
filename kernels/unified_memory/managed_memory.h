// SPDX-License-Identifier: Apache-2.0
// Memory that CPU and GPU share by one address; its calls look different before and after CUDA 13.
#pragma once

#include "common/gpu.h"

namespace warpmeter::kernels {

// size elements of cudaMallocManaged.
template <class T>
class ManagedArray {
 public:
  explicit ManagedArray(std::int64_t size) : bytes_(static_cast<std::size_t>(size) * sizeof(T)) {
    WARPMETER_CHECK(cudaMallocManaged(reinterpret_cast<void**>(&data_), bytes_, cudaMemAttachGlobal));
  }
  ManagedArray(const ManagedArray&) = delete;
  ManagedArray& operator=(const ManagedArray&) = delete;
  ~ManagedArray() { cudaFree(data_); }
  T* get() const { return data_; }

  // Asynchronous: all of it moves to that GPU, or into host memory.
  void prefetchToGpu(int device, cudaStream_t stream) const {
#if CUDART_VERSION >= 13000
    WARPMETER_CHECK(cudaMemPrefetchAsync(data_, bytes_, {cudaMemLocationTypeDevice, device}, 0, stream));
#else
    WARPMETER_CHECK(cudaMemPrefetchAsync(data_, bytes_, device, stream));
#endif
  }
  void prefetchToHost(cudaStream_t stream) const {
#if CUDART_VERSION >= 13000
    WARPMETER_CHECK(cudaMemPrefetchAsync(data_, bytes_, {cudaMemLocationTypeHost, 0}, 0, stream));
#else
    WARPMETER_CHECK(cudaMemPrefetchAsync(data_, bytes_, cudaCpuDeviceId, stream));
#endif
  }

  // For that GPU.
  void advise(cudaMemoryAdvise advice, int device) const {
#if CUDART_VERSION >= 13000
    WARPMETER_CHECK(cudaMemAdvise(data_, bytes_, advice, {cudaMemLocationTypeDevice, device}));
#else
    WARPMETER_CHECK(cudaMemAdvise(data_, bytes_, advice, device));
#endif
  }

 private:
  T* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace warpmeter::kernels
