// SPDX-License-Identifier: Apache-2.0
// Futexes in memory that two processes share, hence without FUTEX_PRIVATE_FLAG.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace warpmeter::inject {

inline void futexWake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Returns when woken, when the word differs from `seen`, after timeoutNs (< 0: never), or for no reason.
inline void futexWait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::int64_t timeoutNs) noexcept {
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(timeoutNs / 1000000000);
  timeout.tv_nsec = static_cast<long>(timeoutNs % 1000000000);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen, timeoutNs < 0 ? nullptr : &timeout,
          nullptr, 0);
}

}  // namespace warpmeter::inject
