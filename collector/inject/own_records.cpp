// SPDX-License-Identifier: Apache-2.0
#include "own_records.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "clock.h"
#include "session.h"

namespace warpmeter::inject {
namespace {

constinit thread_local OwnThread tOwn{};
pthread_key_t gThreadEndKey;
bool gThreadEndInstalled = false;

void onThreadEnd(void*) noexcept {
  if (recordingHere()) finishOwnSlot();
}

bool newSlot(Session& session, OwnThread& own) {
  if (own.tid == 0) own.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  const std::int64_t slot = session.pool.take(0, wire::SlotSource::own, own.tid, realtimeNs());
  session.wakeWorkerIfLow();
  if (slot < 0) return false;
  own.slot = static_cast<std::uint32_t>(slot);
  own.slotStart = static_cast<std::byte*>(session.memory.base) + session.slots[slot].offset;
  own.room = session.slots[slot].bytes;
  own.used = 0;
  if (gThreadEndInstalled) pthread_setspecific(gThreadEndKey, &own);
  return true;
}

}  // namespace

OwnThread& ownThread() noexcept { return tOwn; }

bool installThreadEnd() noexcept {
  if (!gThreadEndInstalled) gThreadEndInstalled = pthread_key_create(&gThreadEndKey, onThreadEnd) == 0;
  return gThreadEndInstalled;
}

void finishOwnSlot() noexcept {
  OwnThread& own = tOwn;
  if (own.slotStart == nullptr || own.busy) return;
  own.busy = true;
  const std::uint32_t slot = own.slot;
  own.slotStart = nullptr;
  const std::uint64_t used = own.used;
  own.used = own.room = 0;
  own.busy = false;
  gSession.complete(slot, used);
}

bool appendOwn(wire::OwnHeader* record) noexcept {
  OwnThread& own = tOwn;
  Session& session = gSession;
  if (own.busy) {  // a signal handler came in between
    session.header->ownRecordsLost.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  own.busy = true;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  const std::uint64_t bytes = record->bytes;
  bool stored = true;
  if (own.used + bytes > own.room) {
    if (own.slotStart != nullptr) session.complete(own.slot, own.used);
    own.slotStart = nullptr;
    own.used = own.room = 0;
    stored = newSlot(session, own);
  }
  if (stored) {
    record->tid = own.tid;
    std::byte* to = own.slotStart + own.used;
    const auto* from = reinterpret_cast<const std::byte*>(record);
    for (std::uint64_t i = 0; i < bytes; i += 8) std::memcpy(to + i, from + i, 8);
    own.used += bytes;
    session.slots[own.slot].validBytes.store(own.used, std::memory_order_release);
  } else {
    session.header->ownRecordsLost.fetch_add(1, std::memory_order_relaxed);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  own.busy = false;
  return stored;
}

void appendMark(std::uint32_t markKind, std::uint32_t contextId, std::uint64_t moduleId, std::uint64_t bytes) noexcept {
  wire::MarkRecord mark{};
  mark.header.kind = static_cast<std::uint32_t>(wire::OwnKind::mark);
  mark.header.bytes = sizeof mark;
  mark.header.t = realtimeNs();
  mark.markKind = markKind;
  mark.contextId = contextId;
  mark.moduleId = moduleId;
  mark.bytes = bytes;
  appendOwn(&mark.header);
}

}  // namespace warpmeter::inject
