// SPDX-License-Identifier: Apache-2.0
#include "kernel_table.h"

namespace warpmeter::counters {

Kernel* KernelTable::find(std::uint64_t key, bool& fresh) noexcept {
  fresh = false;
  for (std::uint32_t i = 0, at = static_cast<std::uint32_t>(key >> 32) % kCells; i < kCells;
       ++i, at = (at + 1) % kCells) {
    Kernel& cell = cells_[at];
    std::uint64_t there = cell.key.load(std::memory_order_acquire);
    if (there == key) return &cell;
    if (there != 0) continue;
    if (count_.load(std::memory_order_relaxed) >= kMaxKernels) return nullptr;
    if (cell.key.compare_exchange_strong(there, key, std::memory_order_acq_rel)) {
      fresh = true;
      cell.number = count_.fetch_add(1, std::memory_order_relaxed);
      return &cell;
    }
    if (there == key) return &cell;  // another thread was faster with the same kernel
  }
  return nullptr;
}

void KernelTable::clear() noexcept {
  for (Kernel& cell : cells_) {
    if (cell.key.load(std::memory_order_relaxed) == 0) continue;
    cell.key.store(0, std::memory_order_relaxed);
    cell.launches.store(0, std::memory_order_relaxed);
    cell.never.store(0, std::memory_order_relaxed);
    cell.complete.store(0, std::memory_order_relaxed);
    cell.number = 0;
    cell.counted = cell.failures = 0;
    for (auto& done : cell.done) done.store(0, std::memory_order_relaxed);
  }
  count_.store(0, std::memory_order_relaxed);
}

}  // namespace warpmeter::counters
