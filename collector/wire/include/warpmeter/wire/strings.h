// SPDX-License-Identifier: Apache-2.0
// Texts in the shared memory. An entry never moves and never changes, so its place is its id:
// a reference is kStringBit | (offset in the string region / 8). CUPTI's name pointers in completed records are
// replaced by such references (user-space pointers never have bit 63 set).
#pragma once

#include <atomic>
#include <cstdint>

namespace warpmeter::wire {

inline constexpr std::uint64_t kStringBit = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kNameLost = kStringBit;       // the entry at offset 0: "(name lost)"
inline constexpr std::uint64_t kNoString = 0;                // a null pointer stays null

// length is stored last, with release: 0 = not written yet (or its writer died).
struct StringEntry {
  std::atomic<std::uint32_t> lengthPlusOne;
  std::uint32_t kind;                    // StringKind
  std::uint64_t key;                     // what it names: see StringKind
  // followed by length bytes and a terminating zero, padded to 8
};
static_assert(sizeof(StringEntry) == 16);

enum class StringKind : std::uint32_t {
  name = 0,          // kernel and other record names; key = the guest's pointer, for diagnostics only
  runtimeApi = 1,    // key = cbid; announced once by the guest's thread
  driverApi = 2,     // key = cbid
  nvtx = 3,          // NVTX texts; key unused
  deviceName = 4,
};

// Guest, any thread, lock-free: copies the text and returns its reference; kNameLost when the region is full
// (counted in the header). Texts longer than kMaxTextBytes are cut there.
inline constexpr std::uint32_t kMaxTextBytes = 1024 * 1024;
std::uint64_t appendString(void* base, StringKind kind, std::uint64_t key, const char* text, std::uint64_t bytes);

}  // namespace warpmeter::wire
