// SPDX-License-Identifier: Apache-2.0
#include "session.h"

#include <sched.h>
#include <sys/mman.h>

#include <cstdio>

#include "attach.h"
#include "exit_hooks.h"
#include "fork_guard.h"
#include "handshake.h"
#include "own_records.h"
#include "worker.h"

namespace warpmeter::inject {
namespace {

constinit const std::atomic<std::uint32_t> kNever{0};

enum class Phase : std::uint32_t { none, starting, ready, failed };
constinit std::atomic<Phase> gPhase{Phase::none};
constinit std::atomic<pid_t> gStarter{0};

bool makeAliveWord() {
  void* page = mmap(nullptr, wire::kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  madvise(page, wire::kPage, MADV_WIPEONFORK);  // old kernels: the fork handler alone has to do
  auto* word = static_cast<std::atomic<std::uint32_t>*>(page);
  word->store(1, std::memory_order_relaxed);
  gAlive.store(word, std::memory_order_release);
  return true;
}

void fillHeader(Session& session, const ProcessStat& stat) {
  wire::Header& header = *session.header;
  header.pid = getpid();
  header.startTicks = stat.startTicks;
  header.flushMs = session.options.flushMs;
  header.apiMode = static_cast<std::uint32_t>(session.options.api);
  header.allowedBytes.store(Pool::kFirstAllowanceBytes, std::memory_order_relaxed);
}

bool start(EntryPoint entry) {
  Session& session = gSession;
  if (!readOptions(session.options)) return false;
  const int connection = connectRecorder(session.options.socketPath);
  if (connection < 0) return false;
  const ProcessStat stat = readProcessStat();
  if (!createSharedMemory(session.memory, allowedMappingBytes(stat.addressBytes))) {
    close(connection);
    return false;
  }
  session.header = wire::headerOf(session.memory.base);
  session.slots = wire::slotsOf(session.memory.base);
  fillHeader(session, stat);
  session.pool.initialize(session.memory.base, session.memory.plan);
  session.names.initialize(session.memory.base);
  if (entry == EntryPoint::cuda) identifyCupti();
  if (entry == EntryPoint::nvtx) session.header->status.store(static_cast<std::uint32_t>(wire::GuestStatus::noDriver));
  // Guards come before the first thing that they guard.
  if (!makeAliveWord() || !installForkGuard() || !sendHello(connection, session.memory, session.options)) {
    stopRecordingHere();
    destroySharedMemory(session.memory);
    return false;
  }
  installThreadEnd();
  installExitHook();
  startWorker();
  return true;
}

}  // namespace

constinit Pool gPool;
constinit Names gNames;
constinit Session gSession;
constinit std::atomic<const std::atomic<std::uint32_t>*> gAlive{&kNever};

void stopRecordingHere() noexcept { gAlive.store(&kNever, std::memory_order_release); }

void allowNewSession() noexcept {
  Session& session = gSession;
  session.memory = SharedMemory{};
  session.cudaEntered.store(0, std::memory_order_relaxed);
  session.stopping.store(0, std::memory_order_relaxed);
  session.flushing.store(0, std::memory_order_relaxed);
  session.lentBuffers.store(0, std::memory_order_relaxed);
  gPhase.store(Phase::none, std::memory_order_release);
}

bool ensureSession(EntryPoint entry) noexcept {
  Phase phase = Phase::none;
  const auto self = static_cast<pid_t>(syscall(SYS_gettid));
  if (gPhase.compare_exchange_strong(phase, Phase::starting, std::memory_order_acq_rel)) {
    gStarter.store(self, std::memory_order_relaxed);
    const bool ready = start(entry);
    gPhase.store(ready ? Phase::ready : Phase::failed, std::memory_order_release);
    return ready;
  }
  while (phase == Phase::starting) {
    // Loading CUPTI may run code that uses NVTX on this very thread.
    if (gStarter.load(std::memory_order_relaxed) == self) return false;
    sched_yield();
    phase = gPhase.load(std::memory_order_acquire);
  }
  return phase == Phase::ready && recordingHere();
}

void Session::complete(std::uint32_t slot, std::uint64_t validBytes) noexcept {
  wire::completeSlot(memory.base, slot, validBytes);
  futexWake(header->doorbell);
}

void Session::wakeWorker() noexcept {
  header->recorderDoorbell.fetch_add(1, std::memory_order_release);
  futexWake(header->recorderDoorbell);
}

void Session::setStatus(wire::GuestStatus status, const char* text) noexcept {
  if (text != nullptr) std::snprintf(header->statusText, sizeof header->statusText, "%s", text);
  if (status == wire::GuestStatus::blocked || status == wire::GuestStatus::refused ||
      status == wire::GuestStatus::disabled) {
    header->problem.store(static_cast<std::uint32_t>(status), std::memory_order_release);
  }
  header->status.store(static_cast<std::uint32_t>(status), std::memory_order_release);
  header->doorbell.fetch_add(1, std::memory_order_release);
  futexWake(header->doorbell);
}

void Session::fault(const char* what) noexcept {
  header->faults.fetch_add(1, std::memory_order_relaxed);
  if (attached.exchange(0, std::memory_order_acq_rel) == 1) setStatus(wire::GuestStatus::disabled, what);
}

}  // namespace warpmeter::inject
