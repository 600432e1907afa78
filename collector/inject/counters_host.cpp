// SPDX-License-Identifier: Apache-2.0
#include "counters_host.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "exit_hooks.h"
#include "warpmeter/counters_guest/exact.h"
#include "warpmeter/counters_guest/pc.h"
#include "warpmeter/wire/exact.h"

namespace warpmeter::inject {
namespace {

static_assert(counters::kSlotBytes == wire::kClassBytes[wire::kClassCount - 1]);

counters::Slot takeSlot(std::uint64_t bytes) noexcept {
  Session& session = gSession;
  int wanted = 0;
  while (wanted < wire::kClassCount - 1 && wire::kClassBytes[wanted] < bytes) ++wanted;
  const auto tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  const std::int64_t slot = session.pool.take(wanted, wire::SlotSource::own, tid, realtimeNs());
  session.wakeWorkerIfLow();
  if (slot < 0) return {};
  const auto index = static_cast<std::uint32_t>(slot);
  if (session.slots[slot].bytes < bytes) {  // a smaller one was all there was
    session.complete(index, 0);
    return {};
  }
  return {static_cast<std::byte*>(session.memory.base) + session.slots[slot].offset, index};
}

void giveSlot(counters::Slot slot, std::uint64_t bytes) noexcept {
  gSession.complete(slot.index, bytes);
}

std::uint64_t nameOf(const char* text, std::uint64_t bytes) noexcept {
  return gSession.names.ofText(wire::StringKind::name, text, bytes);
}

void beginExactMode(Session& session) noexcept {
  if (session.options.exactLaunches == 0) return;
  counters::ExactHost host;
  host.area = wire::exactAreaOf(session.memory.base);
  host.subscriber = session.subscriber;
  host.libraryPath = session.cupti.path;
  host.launchesPerKernel = session.options.exactLaunches;
  host.takeSlot = takeSlot;
  host.giveSlot = giveSlot;
  host.runBeforeExit = installExitHook;
  counters::exactBegin(host);
}

void beginPcSampling(Session& session) noexcept {
  if (session.options.pcPeriod == 0) return;
  counters::PcHost host;
  host.period = session.options.pcPeriod;
  host.bufferMiB = session.options.pcBufferMiB;
  host.cuptiVersion = session.cupti.version;
  host.libraryPath = session.cupti.path;
  host.takeSlot = takeSlot;
  host.giveSlot = giveSlot;
  host.nameOf = nameOf;
  counters::pcBegin(host);
}

}  // namespace

void beginCounters(Session& session) noexcept {
  beginExactMode(session);
  beginPcSampling(session);
}

}  // namespace warpmeter::inject
