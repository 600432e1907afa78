// SPDX-License-Identifier: Apache-2.0
#include "fork_guard.h"

#include <pthread.h>

#include "session.h"

namespace warpmeter::inject {
namespace {

void inChild() noexcept {
  Session& session = gSession;
  stopRecordingHere();
  session.attached.store(0, std::memory_order_relaxed);
  if (session.memory.base != nullptr) replaceByPrivateMemory(session.memory.base, session.memory.plan.totalBytes);
}

}  // namespace

bool installForkGuard() noexcept { return pthread_atfork(nullptr, nullptr, inChild) == 0; }

}  // namespace warpmeter::inject
