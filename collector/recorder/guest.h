// SPDX-License-Identifier: Apache-2.0
// One guest as the thread sees it that takes its buffers in: which slots are finished, which are read live, and what
// is left of them when the process is gone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "guest_memory.h"
#include "item_queue.h"

namespace warpmeter::recorder {

class Guest {
 public:
  // Takes a chunk; must not keep its bytes.
  using Sink = std::function<void(const Chunk&)>;

  Guest(std::uint32_t process, std::int64_t pid, int pidfd, std::shared_ptr<GuestMemory> memory);
  ~Guest();
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  // Completed slots since the last call, at most `limit`; they are handed back zeroed. Returns how many.
  int drain(const Sink& sink, std::int64_t nowNs, int limit);

  // New content of `own` slots that are still being filled, each thread's records in order.
  void readLive(const Sink& sink, std::int64_t nowNs);

  // The process is gone: everything that is left, also of slots that it never completed.
  void salvage(const Sink& sink, std::int64_t nowNs);

  std::uint32_t process() const { return process_; }
  std::int64_t pid() const { return pid_; }
  int pidfd() const { return pidfd_; }
  GuestMemory& memory() { return *memory_; }
  std::shared_ptr<GuestMemory> shared() const { return memory_; }

  bool exiting() const { return memory_->status() == wire::GuestStatus::exiting; }
  bool exitSeen = false;           // its exit was answered with a commit

 private:
  void emit(std::uint32_t slot, std::uint64_t until, const Sink& sink, std::int64_t nowNs, bool salvage);

  std::uint32_t process_;
  std::int64_t pid_;
  int pidfd_;
  std::shared_ptr<GuestMemory> memory_;
  std::vector<std::uint64_t> consumed_;   // per slot: bytes of an own slot that were read live
};

}  // namespace warpmeter::recorder
