// SPDX-License-Identifier: Apache-2.0
#include "pool.h"

#include <sys/mman.h>

#include <cerrno>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif

namespace warpmeter::inject {

void SlotQueue::initialize() noexcept {
  for (std::uint32_t i = 0; i < wire::kMaxSlots; ++i) cells_[i].sequence.store(i, std::memory_order_relaxed);
  head_.store(0, std::memory_order_relaxed);
  tail_.store(0, std::memory_order_relaxed);
}

void SlotQueue::push(std::uint32_t slot) noexcept {
  const std::uint32_t position = head_.fetch_add(1, std::memory_order_relaxed);
  Cell& cell = cells_[position % wire::kMaxSlots];
  cell.slot = slot;
  cell.sequence.store(position + 1, std::memory_order_release);
}

std::int64_t SlotQueue::pop() noexcept {
  std::uint32_t position = tail_.load(std::memory_order_relaxed);
  for (;;) {
    Cell& cell = cells_[position % wire::kMaxSlots];
    const std::uint32_t sequence = cell.sequence.load(std::memory_order_acquire);
    const auto ahead = static_cast<std::int32_t>(sequence - (position + 1));
    if (ahead < 0) return -1;
    if (ahead > 0) {
      position = tail_.load(std::memory_order_relaxed);
    } else if (tail_.compare_exchange_weak(position, position + 1, std::memory_order_relaxed)) {
      const std::uint32_t slot = cell.slot;
      cell.sequence.store(position + wire::kMaxSlots, std::memory_order_release);
      return slot;
    }
  }
}

std::uint32_t SlotQueue::size() const noexcept {
  const auto size = static_cast<std::int32_t>(head_.load(std::memory_order_relaxed) -
                                              tail_.load(std::memory_order_relaxed));
  return size < 0 ? 0 : static_cast<std::uint32_t>(size);
}

void Pool::initialize(void* base, const wire::Plan& plan) noexcept {
  // Also after a fork: everything from before belongs to the parent.
  for (auto& where : where_) where.store(Where::fresh, std::memory_order_relaxed);
  for (int c = 0; c < wire::kClassCount; ++c) {
    count_[c] = takenBefore_[c] = usedLastSecond_[c] = 0;
    fresh_[c].store(0, std::memory_order_relaxed);
    taken_[c].store(0, std::memory_order_relaxed);
  }
  stock_.store(Stock::enough, std::memory_order_relaxed);
  base_ = static_cast<std::byte*>(base);
  header_ = wire::headerOf(base);
  slots_ = wire::slotsOf(base);
  for (std::uint32_t i = plan.slotCount(); i-- > 0;) {  // backwards: the last write is the class's first slot
    const std::uint32_t c = slots_[i].classIndex;
    first_[c] = i;
    firstOffset_[c] = slots_[i].offset;
    ++count_[c];
  }
  for (int c = 0; c < wire::kClassCount; ++c) {
    ready_[c].initialize();
    wanted_[c].store(kFirstSlots[c], std::memory_order_relaxed);
  }
}

void Pool::noteLow() noexcept {
  auto enough = Stock::enough;
  stock_.compare_exchange_strong(enough, Stock::low, std::memory_order_relaxed);
}

bool Pool::shouldWakeWorker() noexcept {
  auto low = Stock::low;
  return stock_.load(std::memory_order_relaxed) == Stock::low &&
         stock_.compare_exchange_strong(low, Stock::ordered, std::memory_order_relaxed);
}

std::int64_t Pool::takeFresh(int classIndex) noexcept {
  const std::uint64_t bytes = wire::kClassBytes[classIndex];
  const std::uint64_t before = header_->populatedBytes.fetch_add(bytes, std::memory_order_relaxed);
  if (before + bytes <= header_->allowedBytes.load(std::memory_order_relaxed)) {
    std::uint32_t next = fresh_[classIndex].load(std::memory_order_relaxed);
    while (next < count_[classIndex]) {
      if (fresh_[classIndex].compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) {
        return first_[classIndex] + next;
      }
    }
  }
  header_->populatedBytes.fetch_sub(bytes, std::memory_order_relaxed);
  return -1;
}

std::int64_t Pool::take(int classIndex, wire::SlotSource source, std::uint32_t tid,
                        std::int64_t nowRealtimeNs) noexcept {
  std::int64_t slot = -1;
  // The wanted class, then smaller ones, then larger ones; ready ones first. A fresh slot costs page faults while it
  // is filled (0.5 us per 4 KiB), which is dear, but loses nothing.
  for (int round = 0; round < 2 && slot < 0; ++round) {
    for (int step = 0; step < wire::kClassCount && slot < 0; ++step) {
      const int c = step <= classIndex ? classIndex - step : step;
      slot = round == 0 ? ready_[c].pop() : takeFresh(c);
    }
  }
  // What was asked for counts, not what there was: so the stock follows demand.
  taken_[classIndex].fetch_add(1, std::memory_order_relaxed);
  if (slot < 0 || ready_[classIndex].size() * 2 < wanted_[classIndex].load(std::memory_order_relaxed)) noteLow();
  if (slot < 0) return -1;
  wire::Slot& taken = slots_[slot];
  taken.validBytes.store(0, std::memory_order_relaxed);
  taken.source.store(static_cast<std::uint32_t>(source), std::memory_order_relaxed);
  taken.ownerTid.store(tid, std::memory_order_relaxed);
  taken.lentNs.store(nowRealtimeNs, std::memory_order_relaxed);
  taken.populated.store(1, std::memory_order_relaxed);
  taken.state.store(static_cast<std::uint32_t>(wire::SlotState::lent), std::memory_order_release);
  // Last: reclaim() takes a slot that is out and free for one that came back.
  where_[slot].store(Where::out, std::memory_order_release);
  return slot;
}

void Pool::reclaim() noexcept {
  for (int c = 0; c < wire::kClassCount; ++c) {
    const std::uint32_t used = fresh_[c].load(std::memory_order_relaxed);
    for (std::uint32_t i = first_[c]; i < first_[c] + used; ++i) {
      if (where_[i].load(std::memory_order_acquire) != Where::out) continue;
      if (slots_[i].state.load(std::memory_order_acquire) != static_cast<std::uint32_t>(wire::SlotState::free)) continue;
      where_[i].store(Where::queued, std::memory_order_relaxed);
      ready_[c].push(i);
    }
  }
}

void Pool::measureUse(std::int64_t nowMonotonicNs) noexcept {
  const bool newSecond = nowMonotonicNs - secondStartNs_ >= 1000000000;
  for (int c = 0; c < wire::kClassCount; ++c) {
    const std::uint32_t taken = taken_[c].load(std::memory_order_relaxed);
    const std::uint32_t sinceStart = taken - takenBefore_[c];
    const std::uint32_t use = sinceStart > usedLastSecond_[c] ? sinceStart : usedLastSecond_[c];
    const std::uint32_t wanted = 2 * use > kFirstSlots[c] ? 2 * use : kFirstSlots[c];
    wanted_[c].store(wanted < count_[c] ? wanted : count_[c], std::memory_order_relaxed);
    if (newSecond) {
      usedLastSecond_[c] = sinceStart;
      takenBefore_[c] = taken;
    }
  }
  if (newSecond) secondStartNs_ = nowMonotonicNs;
}

bool Pool::populate(std::uint32_t slot) noexcept {
  std::byte* start = base_ + slots_[slot].offset;
  const std::uint64_t bytes = slots_[slot].bytes;
  if (!touchPages_) {
    if (madvise(start, bytes, MADV_POPULATE_WRITE) == 0) return true;
    if (errno != EINVAL) return false;  // no memory: what is there has to do
    touchPages_ = true;
  }
  for (std::uint64_t at = 0; at < bytes; at += wire::kPage) {
    reinterpret_cast<volatile unsigned char*>(start)[at] = 0;
  }
  return true;
}

void Pool::refill(std::int64_t nowMonotonicNs) noexcept {
  measureUse(nowMonotonicNs);
  stock_.store(Stock::enough, std::memory_order_relaxed);
  bool exhausted = false;
  for (int c = 0; c < wire::kClassCount; ++c) {
    while (ready_[c].size() < wanted_[c].load(std::memory_order_relaxed)) {
      const std::int64_t slot = takeFresh(c);
      if (slot < 0) {
        exhausted = true;
        break;
      }
      // A slot whose pages could not be had still works, as a fresh one does.
      const bool there = populate(static_cast<std::uint32_t>(slot));
      slots_[slot].populated.store(there ? 1 : 0, std::memory_order_relaxed);
      where_[slot].store(Where::queued, std::memory_order_relaxed);
      ready_[c].push(static_cast<std::uint32_t>(slot));
      if (!there) break;
    }
  }
  // Nothing more to be had: waking us for each further request would help nobody. The next round comes with the next
  // flush, or when the recorder returns slots.
  if (exhausted) stock_.store(Stock::ordered, std::memory_order_relaxed);
}

std::int64_t Pool::slotAt(const void* address) const noexcept {
  const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - base_);
  for (int c = 0; c < wire::kClassCount; ++c) {
    if (offset < firstOffset_[c] || count_[c] == 0) continue;
    const std::uint64_t index = (offset - firstOffset_[c]) / wire::kClassBytes[c];
    if (index < count_[c] && firstOffset_[c] + index * wire::kClassBytes[c] == offset) return first_[c] + index;
  }
  return -1;
}

}  // namespace warpmeter::inject
