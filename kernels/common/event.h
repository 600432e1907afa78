// SPDX-License-Identifier: Apache-2.0
// An event that streams wait for on the GPU, without a time.
#pragma once

#include "common/gpu.h"

namespace warpmeter::kernels {

// Belongs to the device that is current when it is made; record() takes streams of that device only.
class Event {
 public:
  Event() { WARPMETER_CHECK(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { cudaEventDestroy(handle_); }
  void record(const Stream& stream) const { WARPMETER_CHECK(cudaEventRecord(handle_, stream)); }
  void holdBack(const Stream& stream) const { WARPMETER_CHECK(cudaStreamWaitEvent(stream, handle_, 0)); }

 private:
  cudaEvent_t handle_ = nullptr;
};

}  // namespace warpmeter::kernels
