// SPDX-License-Identifier: Apache-2.0
#include "exit_hooks.h"

#include <stdlib.h>

#include "callbacks.h"
#include "clock.h"
#include "own_records.h"
#include "session.h"
#include "warpmeter/counters_guest/exact.h"
#include "warpmeter/counters_guest/pc.h"
#include "worker.h"

namespace warpmeter::inject {
namespace {

constexpr std::int64_t kWaitForRecorderNs = 2000000000;
constexpr std::uint32_t kMaxInstalled = 8;  // contexts come and go; each hook costs libc a few bytes

constinit std::atomic<std::uint32_t> gInstalled{0};
constinit std::atomic<std::uint32_t> gRan{0};

void waitForRecorder(Session& session) {
  const std::int64_t end = monotonicNs() + kWaitForRecorderNs;
  auto& committed = session.header->committed;
  while (committed.load(std::memory_order_acquire) == 0) {
    const std::int64_t left = end - monotonicNs();
    if (left <= 0) return;
    futexWait(committed, 0, left);
  }
}

void onExit(int status, void*) noexcept {
  if (!recordingHere() || gRan.exchange(1, std::memory_order_acq_rel) != 0) return;
  Session& session = gSession;
  stopFlushing();
  if (session.attached.load(std::memory_order_acquire) != 0) {
    counters::exactAtExit();
    counters::pcAtExit();
    const std::int64_t start = monotonicNs();
    session.cupti.functions.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    readDropCounter();
    session.header->flushCount.fetch_add(1, std::memory_order_relaxed);
    session.header->flushNs.fetch_add(static_cast<std::uint64_t>(monotonicNs() - start), std::memory_order_relaxed);
  }
  finishOwnSlot();
  session.header->exitCode.store(status & 0xff, std::memory_order_relaxed);
  session.header->exitCodeKnown.store(1, std::memory_order_release);
  session.setStatus(wire::GuestStatus::exiting, nullptr);
  if (session.header->waitAtExit.load(std::memory_order_acquire) != 0) waitForRecorder(session);
}

}  // namespace

void resetExitHook() noexcept { gRan.store(0, std::memory_order_relaxed); }

void installExitHook() noexcept {
  if (gInstalled.fetch_add(1, std::memory_order_relaxed) >= kMaxInstalled) return;
  on_exit(onExit, nullptr);
}

}  // namespace warpmeter::inject
