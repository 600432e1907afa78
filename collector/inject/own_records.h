// SPDX-License-Identifier: Apache-2.0
// Records of our own (wire/records.h): each thread fills a slot of its own, so writing takes no lock.
// Usable from any thread, also from signal handlers: a write that interrupts another one of the same thread is
// dropped and counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "warpmeter/wire/layout.h"
#include "warpmeter/wire/records.h"

namespace warpmeter::inject {

// Of one thread. Trivial on purpose: thread-local data with a destructor would need the C++ run-time library.
struct OwnThread {
  static constexpr int kDomains = 48;           // domains whose nesting depth is tracked
  std::byte* slotStart;
  std::uint64_t used, room;
  std::atomic<std::uint64_t>* validBytes;       // of the slot
  std::uint32_t slot;
  std::uint32_t tid;
  bool busy;
  std::int32_t depth[kDomains];
};
extern constinit thread_local OwnThread tOwn;

// A place for a record of `bytes` in the thread's slot, all zero (slots come back zeroed) but for kind, bytes, time and
// thread, or nullptr: lost, counted. publishOwn() must follow on the same thread.
inline wire::OwnHeader* beginOwn(OwnThread& own, std::uint32_t kind, std::uint32_t bytes, std::int64_t t) noexcept;
inline void publishOwn(OwnThread& own, const wire::OwnHeader* record) noexcept;

// Adds a MarkRecord at the present time.
void appendMark(std::uint32_t markKind, std::uint32_t contextId, std::uint64_t moduleId, std::uint64_t bytes) noexcept;

// Hands the calling thread's slot to the recorder.
void finishOwnSlot() noexcept;

// Once per process: slots of ending threads are handed over.
bool installThreadEnd() noexcept;

// Internal: a new slot for the thread.
bool renewOwnSlot(OwnThread& own) noexcept;
void countLostOwn() noexcept;

inline wire::OwnHeader* beginOwn(OwnThread& own, std::uint32_t kind, std::uint32_t bytes, std::int64_t t) noexcept {
  if (own.busy) {  // a signal handler came in between
    countLostOwn();
    return nullptr;
  }
  own.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (own.used + bytes > own.room && !renewOwnSlot(own)) {
    own.busy = false;
    countLostOwn();
    return nullptr;
  }
  auto* record = reinterpret_cast<wire::OwnHeader*>(own.slotStart + own.used);
  record->kind = kind;
  record->bytes = bytes;
  record->t = t;
  record->tid = own.tid;
  return record;
}

inline void publishOwn(OwnThread& own, const wire::OwnHeader* record) noexcept {
  own.used += record->bytes;
  own.validBytes->store(own.used, std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  own.busy = false;
}

}  // namespace warpmeter::inject
