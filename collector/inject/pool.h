// SPDX-License-Identifier: Apache-2.0
// Free slots, ready to be handed out: populated, zero, in one queue per size class.
//
// take() runs on the application's threads: no lock, no allocation, no wait, and a system call only when the stock
// runs low (one wake-up of our thread per round of it). reclaim() and refill() run on our thread alone.
#pragma once

#include <atomic>
#include <cstdint>

#include "warpmeter/wire/layout.h"

namespace warpmeter::inject {

// Bounded queue for many producers and consumers (D. Vyukov's scheme); never overflows: one cell per possible slot.
class SlotQueue {
 public:
  void initialize() noexcept;
  void push(std::uint32_t slot) noexcept;
  std::int64_t pop() noexcept;  // -1 = empty
  std::uint32_t size() const noexcept;

 private:
  struct Cell {
    std::atomic<std::uint32_t> sequence;
    std::uint32_t slot = 0;
  };
  Cell cells_[wire::kMaxSlots] = {};
  alignas(64) std::atomic<std::uint32_t> head_ = 0;
  alignas(64) std::atomic<std::uint32_t> tail_ = 0;
};

class Pool {
 public:
  // Bytes that a guest may use until the recorder has told it the run's limit.
  static constexpr std::uint64_t kFirstAllowanceBytes = 64 * wire::kMiB;
  static constexpr std::uint32_t kFirstSlots[wire::kClassCount] = {16, 2, 1};  // 8 MiB together

  void initialize(void* base, const wire::Plan& plan) noexcept;

  // A slot of class `classIndex`, else of another one, state lent; -1 = the pool is empty.
  std::int64_t take(int classIndex, wire::SlotSource source, std::uint32_t tid, std::int64_t nowRealtimeNs) noexcept;
  // True once after the stock of some class fell below half of what it should be, until the next refill().
  bool shouldWakeWorker() noexcept;

  void reclaim() noexcept;                            // what the recorder has given back
  void refill(std::int64_t nowMonotonicNs) noexcept;  // new pages, ahead of need

  // Index of the slot that `address` is the start of, or -1.
  std::int64_t slotAt(const void* address) const noexcept;
  std::uint32_t ready(int classIndex) const noexcept { return ready_[classIndex].size(); }

 private:
  std::int64_t takeFresh(int classIndex) noexcept;
  bool populate(std::uint32_t slot) noexcept;
  void measureUse(std::int64_t nowMonotonicNs) noexcept;

  void noteLow() noexcept;

  enum class Where : std::uint8_t { fresh, queued, out };
  enum class Stock : std::uint8_t { enough, low, ordered };

  std::byte* base_ = nullptr;
  wire::Header* header_ = nullptr;
  wire::Slot* slots_ = nullptr;
  std::uint32_t first_[wire::kClassCount] = {};       // index of a class's first slot
  std::uint32_t count_[wire::kClassCount] = {};
  std::uint64_t firstOffset_[wire::kClassCount] = {};
  std::atomic<std::uint32_t> fresh_[wire::kClassCount] = {};  // slots of the class that were ever used
  std::atomic<std::uint32_t> taken_[wire::kClassCount] = {};
  std::atomic<std::uint32_t> wanted_[wire::kClassCount] = {};
  std::atomic<Stock> stock_ = Stock::enough;
  std::uint32_t takenBefore_[wire::kClassCount] = {}, usedLastSecond_[wire::kClassCount] = {};
  std::int64_t secondStartNs_ = 0;
  bool touchPages_ = false;  // old kernel: no MADV_POPULATE_WRITE
  std::atomic<Where> where_[wire::kMaxSlots] = {};
  SlotQueue ready_[wire::kClassCount];
};

}  // namespace warpmeter::inject
