// SPDX-License-Identifier: Apache-2.0
// The few functions of NCCL that allreduce needs, opened at run time and declared here: its header need not
// be installed. Values as in nccl.h of version 2.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <vector>

#include "common/optional_library.h"

namespace warpmeter::kernels {

class Nccl {
 public:
  Nccl() : library_("NCCL", {"libnccl.so.2", "libnccl.so"}) {
    if (library_) {
      library_.load(errorString_, "ncclGetErrorString");
      library_.load(initAll_, "ncclCommInitAll");
      library_.load(groupStart_, "ncclGroupStart");
      library_.load(groupEnd_, "ncclGroupEnd");
      library_.load(allReduce_, "ncclAllReduce");
      library_.load(destroy_, "ncclCommDestroy");
    }
  }
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;
  ~Nccl() {
    for (void* communicator : communicators_) {
      destroy_(communicator);
    }
  }

  const OptionalLibrary& library() const { return library_; }

  // One rank for each of these GPUs, which must differ.
  void open(const std::vector<int>& devices) {
    std::vector<void*> made(devices.size());
    check(initAll_(made.data(), static_cast<int>(devices.size()), devices.data()), "ncclCommInitAll");
    communicators_ = made;
  }

  void groupStart() const { check(groupStart_(), "ncclGroupStart"); }
  void groupEnd() const { check(groupEnd_(), "ncclGroupEnd"); }
  // Between the two, once for each rank.
  void sum(std::size_t rank, const float* from, float* to, std::size_t count, cudaStream_t stream) const {
    constexpr int kFloat32 = 7;
    constexpr int kSum = 0;
    check(allReduce_(from, to, count, kFloat32, kSum, communicators_[rank], stream), "ncclAllReduce");
  }

 private:
  void check(int status, const char* call) const {
    if (status != 0) {
      throw Failure{kExitFailed, std::string(call) + ": " + errorString_(status)};
    }
  }

  OptionalLibrary library_;
  std::vector<void*> communicators_;
  const char* (*errorString_)(int) = nullptr;
  int (*initAll_)(void**, int, const int*) = nullptr;
  int (*groupStart_)() = nullptr;
  int (*groupEnd_)() = nullptr;
  int (*allReduce_)(const void*, void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
  int (*destroy_)(void*) = nullptr;
};

}  // namespace warpmeter::kernels
