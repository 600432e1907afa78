// SPDX-License-Identifier: Apache-2.0
#include "sampler_clock.h"

#include <time.h>

#include <algorithm>
#include <chrono>

namespace warpmeter::sampler {
namespace {

std::int64_t readNs(clockid_t clock) {
  timespec t = {};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

void GpuControl::give(Order order) {
  {
    const std::lock_guard lock(mutex_);
    if (order_ != Order::end) order_ = order;
  }
  changed_.notify_all();
}

std::int64_t GpuControl::nowNs() { return readNs(CLOCK_MONOTONIC); }
std::int64_t GpuControl::realtimeNs() { return readNs(CLOCK_REALTIME); }
std::int64_t GpuControl::threadCpuNs() { return readNs(CLOCK_THREAD_CPUTIME_ID); }

std::int64_t GpuControl::ourShareOfCpuNs() {
  const std::int64_t cpu = readNs(CLOCK_PROCESS_CPUTIME_ID);
  if (seenCpuNs_ >= 0) shareNs_ += (cpu - seenCpuNs_) / std::max(1, gpus_.load(std::memory_order_relaxed));
  seenCpuNs_ = cpu;
  return shareNs_;
}

void GpuControl::waitUntil(std::int64_t untilNs, Order current) {
  using std::chrono::nanoseconds;
  using std::chrono::steady_clock;
  const steady_clock::time_point until{nanoseconds(untilNs)};  // libstdc++'s steady_clock is CLOCK_MONOTONIC
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, until, [&] { return order_ != current; });
}

Order GpuControl::order() {
  const std::lock_guard lock(mutex_);
  return order_;
}

}  // namespace warpmeter::sampler
