// SPDX-License-Identifier: Apache-2.0
// The application that tests record, and the log of launches that it leaves behind even when it is killed.
#pragma once

#include <atomic>
#include <cstdint>

namespace warpmeter::fake {

struct LoggedLaunch {
  std::atomic<std::uint32_t> written;  // 1 once the other fields are valid
  std::uint32_t correlationId, gridX, reserved;
  std::int64_t endNs;                  // CLOCK_REALTIME at which the GPU is done with it
};

// A file of this shape, mapped: `--log FILE`.
struct LaunchLog {
  static constexpr std::uint64_t kRoom = 4u << 20;
  std::atomic<std::uint64_t> count;    // may exceed kRoom
  LoggedLaunch launches[kRoom];
};

int runHost(int argc, char** argv);

}  // namespace warpmeter::fake
