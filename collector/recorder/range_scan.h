// SPDX-License-Identifier: Apache-2.0
// Looks through arriving buffers for the records that open and close a --capture-range.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "capture_windows.h"
#include "guest_memory.h"
#include "item_queue.h"

namespace warpmeter::recorder {

class RangeScan {
 public:
  RangeScan(CaptureWindows& windows, std::int64_t startRealtimeNs) : windows_(windows), startNs_(startRealtimeNs) {}
  void look(const Chunk& chunk, const GuestMemory& memory, std::int64_t pid);
  void processEnded(std::int64_t pid, std::int64_t sessionNs) { windows_.processEnded(pid, sessionNs); }

 private:
  void lookAtCupti(const Chunk& chunk, const GuestMemory& memory, std::int64_t pid);
  void lookAtOwn(const Chunk& chunk, const GuestMemory& memory, std::int64_t pid);
  bool matches(const GuestMemory& memory, std::uint64_t reference) const;

  CaptureWindows& windows_;
  std::int64_t startNs_;
};

}  // namespace warpmeter::recorder
