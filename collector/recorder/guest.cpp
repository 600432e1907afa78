// SPDX-License-Identifier: Apache-2.0
#include "guest.h"

#include <unistd.h>

#include <algorithm>
#include <unordered_map>

namespace warpmeter::recorder {
namespace {

wire::SlotState stateOf(const wire::Slot& slot) {
  return static_cast<wire::SlotState>(slot.state.load(std::memory_order_acquire));
}
bool isOwn(const wire::Slot& slot) {
  return slot.source.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(wire::SlotSource::own);
}

}  // namespace

Guest::Guest(std::uint32_t process, std::int64_t pid, int pidfd, std::shared_ptr<GuestMemory> memory)
    : process_(process), pid_(pid), pidfd_(pidfd), memory_(std::move(memory)), consumed_(memory_->slotCount()) {}

Guest::~Guest() {
  if (pidfd_ >= 0) close(pidfd_);
}

void Guest::emit(std::uint32_t slot, std::uint64_t until, const Sink& sink, std::int64_t nowNs, bool salvage) {
  const std::uint64_t from = consumed_[slot];
  if (until <= from) return;
  Chunk chunk;
  chunk.process = process_;
  chunk.own = isOwn(memory_->slot(slot));
  chunk.salvage = salvage && !chunk.own;
  chunk.orderly = chunk.salvage && exiting();
  chunk.arrivedNs = nowNs;
  chunk.bytes = {memory_->bytesOf(slot) + from, until - from};
  sink(chunk);
}

int Guest::drain(const Sink& sink, std::int64_t nowNs, int limit) {
  int taken = 0;
  for (; taken < limit; ++taken) {
    const std::int64_t index = memory_->takeCompleted();
    if (index < 0) break;
    const auto slot = static_cast<std::uint32_t>(index);
    if (stateOf(memory_->slot(slot)) != wire::SlotState::full) continue;
    const std::uint64_t valid = memory_->validBytes(slot);
    emit(slot, valid, sink, nowNs, false);
    consumed_[slot] = 0;
    memory_->giveBack(slot, valid);
  }
  if (taken > 0) memory_->ring();
  return taken;
}

// A thread that fills slot A, completes it and goes on in B must be read in that order, although A may not be in the
// ring yet. First the newest slot of each thread is found, with its length; what came before it is complete then.
void Guest::readLive(const Sink& sink, std::int64_t nowNs) {
  struct Newest {
    std::uint32_t slot;
    std::int64_t lentNs;
    std::uint64_t valid;
  };
  std::unordered_map<std::uint32_t, Newest> newest;
  const auto inUse = [this](std::uint32_t i) {
    return isOwn(memory_->slot(i)) && stateOf(memory_->slot(i)) != wire::SlotState::free;
  };
  for (std::uint32_t i = 0; i < memory_->slotCount(); ++i) {
    if (!inUse(i)) continue;
    const wire::Slot& slot = memory_->slot(i);
    const Newest found{i, slot.lentNs.load(std::memory_order_relaxed), memory_->validBytes(i)};
    const auto [at, isNew] = newest.try_emplace(slot.ownerTid.load(std::memory_order_relaxed), found);
    if (!isNew && at->second.lentNs < found.lentNs) at->second = found;
  }
  if (newest.empty()) return;
  std::vector<Newest> order;
  for (std::uint32_t i = 0; i < memory_->slotCount(); ++i) {
    if (!inUse(i)) continue;
    const wire::Slot& slot = memory_->slot(i);
    const std::int64_t lent = slot.lentNs.load(std::memory_order_relaxed);
    const auto at = newest.find(slot.ownerTid.load(std::memory_order_relaxed));
    if (at == newest.end() || lent > at->second.lentNs) continue;
    if (at->second.slot == i) {
      order.push_back(at->second);
    } else {
      order.push_back({i, lent, memory_->validBytes(i)});
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const Newest& a, const Newest& b) { return a.lentNs < b.lentNs; });
  for (const Newest& entry : order) {
    emit(entry.slot, entry.valid, sink, nowNs, false);
    consumed_[entry.slot] = std::max(consumed_[entry.slot], entry.valid);
  }
}

void Guest::salvage(const Sink& sink, std::int64_t nowNs) {
  // The writer of a ring cell may have died before it published it, which hides all cells behind: go by the table.
  struct Left {
    bool lent;
    std::uint64_t order;
    std::uint32_t slot;
  };
  std::vector<Left> left;
  for (std::uint32_t i = 0; i < memory_->slotCount(); ++i) {
    const wire::Slot& slot = memory_->slot(i);
    const wire::SlotState state = stateOf(slot);
    if (state == wire::SlotState::full) left.push_back({false, slot.sequence.load(std::memory_order_relaxed), i});
    if (state == wire::SlotState::lent) {
      left.push_back({true, static_cast<std::uint64_t>(slot.lentNs.load(std::memory_order_relaxed)), i});
    }
  }
  std::sort(left.begin(), left.end(), [](const Left& a, const Left& b) {
    return a.lent != b.lent ? b.lent : a.order < b.order;
  });
  for (const Left& entry : left) {
    const bool whole = !entry.lent || isOwn(memory_->slot(entry.slot));
    const std::uint64_t until = whole ? memory_->validBytes(entry.slot) : memory_->place(entry.slot).bytes;
    emit(entry.slot, until, sink, nowNs, !whole);
    consumed_[entry.slot] = 0;
    memory_->slot(entry.slot).state.store(static_cast<std::uint32_t>(wire::SlotState::free), std::memory_order_relaxed);
  }
}

}  // namespace warpmeter::recorder
