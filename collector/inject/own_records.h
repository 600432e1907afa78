// SPDX-License-Identifier: Apache-2.0
// Records of our own (wire/records.h): each thread fills a slot of its own, so writing takes no lock.
// Usable from any thread, also from signal handlers: a write that interrupts another one of the same thread is
// dropped and counted.
#pragma once

#include <cstddef>
#include <cstdint>

#include "warpmeter/wire/records.h"

namespace warpmeter::inject {

// Of one thread. Trivial on purpose: thread-local data with a destructor would need the C++ run-time library.
struct OwnThread {
  static constexpr int kDomains = 48;         // domains whose nesting depth is tracked without a look-up
  std::byte* slotStart;
  std::uint64_t used, room;
  std::uint32_t slot;
  std::uint32_t tid;
  bool busy;
  std::int32_t depth[kDomains];
};
OwnThread& ownThread() noexcept;

// Fills tid of the header and appends the record; bytes is header.bytes. False = lost (counted).
bool appendOwn(wire::OwnHeader* record) noexcept;

// Adds a MarkRecord at the present time.
void appendMark(std::uint32_t markKind, std::uint32_t contextId, std::uint64_t moduleId, std::uint64_t bytes) noexcept;

// Hands the calling thread's slot to the recorder.
void finishOwnSlot() noexcept;

// Once per process: slots of ending threads are handed over.
bool installThreadEnd() noexcept;

}  // namespace warpmeter::inject
