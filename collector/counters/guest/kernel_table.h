// SPDX-License-Identifier: Apache-2.0
// The distinct kernels of the process: a table of fixed size with open addressing. Looking up takes no lock;
// an entry is found by the 64-bit hash of its key, so two kernels share one with a probability of 1 in 10^12
// at 4096 kernels.
#pragma once

#include <atomic>
#include <cstdint>

#include "warpmeter/wire/exact.h"

namespace warpmeter::counters {

inline constexpr std::uint32_t kMaxKernels = 4096;

struct Kernel {
  std::atomic<std::uint64_t> key;       // 0 = free
  std::atomic<std::uint32_t> launches;  // seen while callbacks were on
  std::atomic<std::uint32_t> never;     // 1: is never ranged (NCCL, cooperative, gave up)
  // Written by whoever holds the mode's turn.
  std::uint32_t number;   // from 0, in the order of appearance
  std::uint8_t counted;   // its needs are in the totals
  std::uint8_t failures;  // ranges that did not count
  std::atomic<std::uint8_t> done[wire::kMaxConfigurations];
  std::atomic<std::uint8_t> complete;  // nothing is left to do
};

class KernelTable {
 public:
  // The entry of `key` (not 0); `fresh` says whether this call made it. nullptr: the table is full.
  Kernel* find(std::uint64_t key, bool& fresh) noexcept;
  std::uint32_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  void clear() noexcept;

 private:
  static constexpr std::uint32_t kCells = 2 * kMaxKernels;
  std::atomic<std::uint32_t> count_ = 0;
  Kernel cells_[kCells] = {};
};

}  // namespace warpmeter::counters
