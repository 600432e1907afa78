// SPDX-License-Identifier: Apache-2.0
// The shared memory: made, sealed and mapped here. Layout: wire/layout.h.
#pragma once

#include <cstdint>

#include "warpmeter/wire/layout.h"

namespace warpmeter::inject {

struct SharedMemory {
  void* base = nullptr;
  wire::Plan plan;
  int descriptor = -1;  // closed by the handshake; nothing needs it afterwards
};

// What the process's limits allow: RLIMIT_FSIZE (ftruncate() beyond it would end the host with SIGXFSZ) and a quarter
// of what RLIMIT_AS leaves. `usedAddressBytes` is the process's present size.
std::uint64_t allowedMappingBytes(std::uint64_t usedAddressBytes) noexcept;

// False when the limits leave too little or the system has no memory for us; nothing is left behind then.
bool createSharedMemory(SharedMemory& memory, std::uint64_t limitBytes) noexcept;
void destroySharedMemory(SharedMemory& memory) noexcept;

// In a forked child: private empty pages in place of the shared ones. True if the parent's memory is out of reach.
bool replaceByPrivateMemory(void* base, std::uint64_t bytes) noexcept;

struct ProcessStat {
  std::int64_t startTicks = 0;
  std::uint64_t addressBytes = 0;
};
// From /proc/self/stat, fields 22 and 23; zeros if it cannot be read.
ProcessStat readProcessStat() noexcept;

}  // namespace warpmeter::inject
