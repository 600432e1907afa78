// SPDX-License-Identifier: Apache-2.0
#include "fork_guard.h"

#include <pthread.h>

#include "exit_hooks.h"
#include "own_records.h"
#include "session.h"
#include "warpmeter/counters_guest/exact.h"
#include "warpmeter/counters_guest/pc.h"

namespace warpmeter::inject {
namespace {

void inChild() noexcept {
  Session& session = gSession;
  if (session.memory.base == nullptr) return;
  stopRecordingHere();
  const bool cudaWasThere = session.cudaEntered.load(std::memory_order_relaxed) != 0;
  session.attached.store(0, std::memory_order_relaxed);
  replaceByPrivateMemory(session.memory.base, session.memory.plan.totalBytes);
  tOwn.slotStart = nullptr;
  tOwn.used = tOwn.room = 0;
  tOwn.tid = 0;
  tOwn.busy = false;
  counters::exactForget();
  counters::pcForget();
  resetExitHook();
  // CUDA cannot be used after a fork, so CUPTI's state in this child is of no interest. But a parent that had used
  // NVTX alone has left the child free to begin with CUDA, as fork servers of worker processes do.
  if (!cudaWasThere) allowNewSession();
}

bool gInstalled = false;

}  // namespace

bool installForkGuard() noexcept {
  if (!gInstalled) gInstalled = pthread_atfork(nullptr, nullptr, inChild) == 0;
  return gInstalled;
}

}  // namespace warpmeter::inject
