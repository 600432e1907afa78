// SPDX-License-Identifier: Apache-2.0
// The recording of this process: one object in static memory, started by whichever entry point comes first and left
// alone when the process ends. No constructor runs at load time.
#pragma once

#include <atomic>
#include <cstdint>

#include "cupti_library.h"
#include "futex.h"
#include "memory.h"
#include "names.h"
#include "options.h"
#include "pool.h"
#include "walk.h"

namespace warpmeter::inject {

// Large and zero at first, hence apart: they cost address space until they are used, and no byte in the file.
extern Pool gPool;
extern Names gNames;

struct Session {
  Options options;
  SharedMemory memory;
  wire::Header* header = nullptr;
  wire::Slot* slots = nullptr;
  Pool& pool = gPool;
  Names& names = gNames;
  CuptiLibrary cupti;
  RecordTable records;
  CUpti_SubscriberHandle subscriber = nullptr;
  std::atomic<std::uint32_t> cudaEntered = 0;     // 1 once InitializeInjection was called
  std::atomic<std::uint32_t> attached = 0;        // 1 while CUPTI delivers to us
  std::atomic<std::uint32_t> stopping = 0;        // 1 once the exit handler ran: our thread calls CUPTI no more
  std::atomic<std::uint32_t> flushing = 0;        // 1 while our thread is inside CUPTI
  std::atomic<std::uint32_t> lentBuffers = 0;     // buffers that CUPTI holds

  // Hands a slot over and wakes the recorder.
  void complete(std::uint32_t slot, std::uint64_t validBytes) noexcept;
  void wakeWorkerIfLow() noexcept {
    if (pool.shouldWakeWorker()) wakeWorker();
  }
  void wakeWorker() noexcept;
  void setStatus(wire::GuestStatus status, const char* text) noexcept;
  // Something impossible happened in our own code: recording ends, the application goes on.
  void fault(const char* what) noexcept;
};
extern Session gSession;

// A word that is 1 only in the process that started the session: it lies in memory that every kind of fork() wipes.
extern std::atomic<const std::atomic<std::uint32_t>*> gAlive;
inline bool recordingHere() noexcept {
  return gAlive.load(std::memory_order_acquire)->load(std::memory_order_relaxed) == 1;
}
void stopRecordingHere() noexcept;
// In a forked child whose parent had no CUPTI attached: its own cuInit() may start a session of its own.
void allowNewSession() noexcept;

enum class EntryPoint : std::uint8_t { cuda, nvtx };

// Starts the session if nobody did; true when there is one. Never waits for the recorder.
bool ensureSession(EntryPoint entry) noexcept;

}  // namespace warpmeter::inject
