// SPDX-License-Identifier: Apache-2.0
#include "own_records.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "session.h"

namespace warpmeter::inject {
namespace {

pthread_key_t gThreadEndKey;
bool gThreadEndInstalled = false;

void onThreadEnd(void*) noexcept {
  if (recordingHere()) finishOwnSlot();
}

}  // namespace

constinit thread_local OwnThread tOwn{};

bool installThreadEnd() noexcept {
  if (!gThreadEndInstalled) gThreadEndInstalled = pthread_key_create(&gThreadEndKey, onThreadEnd) == 0;
  return gThreadEndInstalled;
}

void countLostOwn() noexcept { gSession.header->ownRecordsLost.fetch_add(1, std::memory_order_relaxed); }

bool renewOwnSlot(OwnThread& own) noexcept {
  Session& session = gSession;
  if (own.slotStart != nullptr) session.complete(own.slot, own.used);
  own.slotStart = nullptr;
  own.used = own.room = 0;
  if (own.tid == 0) own.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  const std::int64_t slot = session.pool.take(0, wire::SlotSource::own, own.tid, realtimeNs());
  session.wakeWorkerIfLow();
  if (slot < 0) return false;
  own.slot = static_cast<std::uint32_t>(slot);
  own.slotStart = static_cast<std::byte*>(session.memory.base) + session.slots[slot].offset;
  own.room = session.slots[slot].bytes;
  own.validBytes = &session.slots[slot].validBytes;
  if (gThreadEndInstalled) pthread_setspecific(gThreadEndKey, &own);
  return true;
}

void finishOwnSlot() noexcept {
  OwnThread& own = tOwn;
  if (own.slotStart == nullptr || own.busy) return;
  own.busy = true;
  const std::uint64_t used = own.used;
  own.slotStart = nullptr;
  own.used = own.room = 0;
  gSession.complete(own.slot, used);
  own.busy = false;
}

void appendMark(std::uint32_t markKind, std::uint32_t contextId, std::uint64_t moduleId, std::uint64_t bytes) noexcept {
  OwnThread& own = tOwn;
  auto* mark = reinterpret_cast<wire::MarkRecord*>(
      beginOwn(own, static_cast<std::uint32_t>(wire::OwnKind::mark), sizeof(wire::MarkRecord), realtimeNs()));
  if (mark == nullptr) return;
  mark->markKind = markKind;
  mark->contextId = contextId;
  mark->moduleId = moduleId;
  mark->bytes = bytes;
  publishOwn(own, &mark->header);
}

}  // namespace warpmeter::inject
