// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/wire/layout.h"

#include <new>

#include "warpmeter/wire/exact.h"
#include "warpmeter/wire/strings.h"

namespace warpmeter::wire {
namespace {

constexpr std::uint64_t roundUp(std::uint64_t n, std::uint64_t unit) { return (n + unit - 1) / unit * unit; }

// Share of the storage per class, in percent: small slots serve threads with little to say, large ones a launch storm.
constexpr std::uint64_t kClassPercent[kClassCount] = {5, 25, 70};
constexpr std::uint32_t kClassMaxSlots[kClassCount] = {2048, 1024, 1024};

}  // namespace

Plan planFor(std::uint64_t limitBytes) {
  Plan plan;
  const std::uint64_t limit = (limitBytes < kPoolBytes ? limitBytes : kPoolBytes) / kPage * kPage;
  if (limit < kMinimumBytes) return plan;
  plan.slotTableOffset = roundUp(sizeof(Header), kPage);
  plan.ringOffset = plan.slotTableOffset + roundUp(kMaxSlots * sizeof(Slot), kPage);
  plan.stringsOffset = plan.ringOffset + roundUp(kRingCapacity * sizeof(RingCell), kPage);
  plan.stringsBytes = limit / 8 < kStringBytes ? roundUp(limit / 8, kPage) : kStringBytes;
  plan.exactOffset = plan.stringsOffset + plan.stringsBytes;
  // A process that is that short of memory has none for counters.
  plan.exactBytes = limit >= 64 * kMiB ? kExactBytes : 0;
  plan.storageOffset = plan.exactOffset + plan.exactBytes;
  const std::uint64_t storage = limit - plan.storageOffset;
  std::uint64_t used = 0;
  for (int c = kClassCount - 1; c >= 0; --c) {
    const std::uint64_t share = c == 0 ? storage - used : storage * kClassPercent[c] / 100;
    std::uint64_t count = share / kClassBytes[c];
    if (count > kClassMaxSlots[c]) count = kClassMaxSlots[c];
    plan.slots[c] = static_cast<std::uint32_t>(count);
    used += count * kClassBytes[c];
  }
  plan.totalBytes = plan.storageOffset + used;
  if (plan.slotCount() == 0) plan.totalBytes = 0;
  return plan;
}

void initialize(void* base, const Plan& plan) {
  auto* header = new (base) Header;
  header->magic = kMagic;
  header->wireVersion = kWireVersion;
  header->headerBytes = sizeof(Header);
  header->totalBytes = plan.totalBytes;
  header->slotCount = plan.slotCount();
  header->ringCapacity = kRingCapacity;
  header->slotTableOffset = plan.slotTableOffset;
  header->ringOffset = plan.ringOffset;
  header->strings.offset = plan.stringsOffset;
  header->strings.bytes = plan.stringsBytes;
  header->exactOffset = plan.exactOffset;
  header->exactBytes = plan.exactBytes;

  Slot* slots = slotsOf(base);
  std::uint64_t offset = plan.storageOffset;
  std::uint32_t index = 0;
  for (int c = kClassCount - 1; c >= 0; --c) {  // large ones first: their offsets stay page aligned either way
    for (std::uint32_t i = 0; i < plan.slots[c]; ++i, ++index) {
      slots[index].classIndex = static_cast<std::uint32_t>(c);
      slots[index].offset = offset;
      slots[index].bytes = kClassBytes[c];
      offset += kClassBytes[c];
    }
  }
  RingCell* ring = ringOf(base);
  for (std::uint32_t i = 0; i < kRingCapacity; ++i) ring[i].sequence.store(i, std::memory_order_relaxed);
  static constexpr char kLost[] = "(name lost)";
  appendString(base, StringKind::name, 0, kLost, sizeof kLost - 1);
}

void completeSlot(void* base, std::uint32_t slotIndex, std::uint64_t validBytes) {
  Header* header = headerOf(base);
  Slot& slot = slotsOf(base)[slotIndex];
  slot.validBytes.store(validBytes, std::memory_order_relaxed);
  slot.sequence.store(header->completedSlots.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  slot.state.store(static_cast<std::uint32_t>(SlotState::full), std::memory_order_release);
  const std::uint32_t position = header->ringHead.fetch_add(1, std::memory_order_relaxed);
  RingCell& cell = ringOf(base)[position & (kRingCapacity - 1)];
  // A slot is in the ring at most once, so the cell is free: fewer slots than cells.
  cell.slot = slotIndex;
  cell.sequence.store(position + 1, std::memory_order_release);
  header->doorbell.fetch_add(1, std::memory_order_release);
}

std::int64_t takeCompleted(void* base, const Plan& plan) {
  Header* header = headerOf(base);
  RingCell* ring = reinterpret_cast<RingCell*>(static_cast<std::byte*>(base) + plan.ringOffset);
  const std::uint32_t position = header->ringTail.load(std::memory_order_relaxed);
  RingCell& cell = ring[position & (kRingCapacity - 1)];
  if (cell.sequence.load(std::memory_order_acquire) != position + 1) return -1;
  const std::uint32_t slot = cell.slot;
  cell.sequence.store(position + kRingCapacity, std::memory_order_release);
  header->ringTail.store(position + 1, std::memory_order_relaxed);
  return slot < plan.slotCount() ? static_cast<std::int64_t>(slot) : takeCompleted(base, plan);
}

}  // namespace warpmeter::wire
