// SPDX-License-Identifier: Apache-2.0
// Time and orders for the thread that samples one GPU. The real one is GpuControl; tests simulate both.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace warpmeter::sampler {

enum class Order { sample, pause, end };

class SamplerClock {
 public:
  virtual ~SamplerClock() = default;
  virtual std::int64_t nowNs() = 0;        // monotonic
  virtual std::int64_t realtimeNs() = 0;   // CLOCK_REALTIME, the clock of samples
  virtual std::int64_t threadCpuNs() = 0;  // of the calling thread
  virtual std::int64_t
  ourShareOfCpuNs() = 0;  // of the process, divided by its GPUs: CUPTI has threads of its own
  // Returns at that time, or as soon as the order is no longer `current`.
  virtual void waitUntil(std::int64_t untilNs, Order current) = 0;
  virtual Order order() = 0;
  virtual std::int64_t medianKernelNs() = 0;  // 0 = not told yet
};

// One per GPU; orders come from the main thread.
class GpuControl : public SamplerClock {
 public:
  // gpus: how many GPUs this process samples; medianKernelNs: of the program. Both outlive this object.
  GpuControl(const std::atomic<int>& gpus, const std::atomic<std::int64_t>& medianKernelNs)
      : gpus_(gpus), medianKernelNs_(medianKernelNs) {}
  void give(Order order);  // after `end` nothing else is taken

  std::int64_t nowNs() override;
  std::int64_t realtimeNs() override;
  std::int64_t threadCpuNs() override;
  std::int64_t ourShareOfCpuNs() override;
  void waitUntil(std::int64_t untilNs, Order current) override;
  Order order() override;
  std::int64_t medianKernelNs() override { return medianKernelNs_.load(std::memory_order_relaxed); }

 private:
  const std::atomic<int>& gpus_;
  const std::atomic<std::int64_t>& medianKernelNs_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Order order_ = Order::sample;
  std::int64_t seenCpuNs_ = -1, shareNs_ = 0;
};

}  // namespace warpmeter::sampler
