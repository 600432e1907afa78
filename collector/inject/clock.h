// SPDX-License-Identifier: Apache-2.0
// Clocks of the guest. CUPTI's activity timestamps are CLOCK_REALTIME, so ours are.
#pragma once

#include <time.h>

#include <cstdint>

namespace warpmeter::inject {

inline std::int64_t nowNs(clockid_t clock) noexcept {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}
inline std::int64_t realtimeNs() noexcept { return nowNs(CLOCK_REALTIME); }
inline std::int64_t monotonicNs() noexcept { return nowNs(CLOCK_MONOTONIC); }

}  // namespace warpmeter::inject
