// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <time.h>

#include <cstdint>

namespace warpmeter::counters {

inline std::int64_t nowOf(clockid_t clock) noexcept {
  timespec t{};
  clock_gettime(clock, &t);
  return std::int64_t{t.tv_sec} * 1000000000 + t.tv_nsec;
}
inline std::int64_t realtimeNow() noexcept { return nowOf(CLOCK_REALTIME); }  // as CUPTI's activity times
inline std::int64_t monotonicNow() noexcept { return nowOf(CLOCK_MONOTONIC); }
inline void pauseMicroseconds(long us) noexcept {
  const timespec pause{0, us * 1000};
  nanosleep(&pause, nullptr);
}

}  // namespace warpmeter::counters
