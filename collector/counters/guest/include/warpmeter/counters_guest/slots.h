// SPDX-License-Identifier: Apache-2.0
// Slots of the shared memory, as the ways to count use them: what is too large for the records' own stream.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warpmeter::counters {

struct Slot {
  std::byte* start = nullptr;  // nullptr: there was none
  std::uint32_t index = 0;
};
// At least `bytes`, zero. Any thread.
using TakeSlot = Slot (*)(std::uint64_t bytes) noexcept;
// To the recorder; 0 bytes: nothing in it.
using GiveSlot = void (*)(Slot slot, std::uint64_t bytes) noexcept;
inline constexpr std::uint64_t kSlotBytes = std::uint64_t{4} << 20;  // the largest slot there is

}  // namespace warpmeter::counters
