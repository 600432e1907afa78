// SPDX-License-Identifier: Apache-2.0
// Turns text pointers into string references (wire/strings.h), each distinct text once.
//
// Two tables of fixed size in private memory, lock-free, never allocating. Pointers: a hit costs one probe; entries of
// an older generation (a module was unloaded, so an address may mean another kernel now) are looked up again by text.
// Texts: by hash, then compared with the text in the shared memory. A full table costs duplicates, nothing else.
#pragma once

#include <atomic>
#include <cstdint>

#include "warpmeter/wire/strings.h"

namespace warpmeter::inject {

class Names {
 public:
  void initialize(void* base) noexcept;

  // Any thread. nullptr gives kNoString. The text must stay unchanged as long as the generation lasts.
  std::uint64_t ofPointer(const char* text) noexcept;
  // Any thread. For texts that may change behind the same pointer (NVTX).
  std::uint64_t ofText(wire::StringKind kind, const char* text, std::uint64_t bytes) noexcept;
  // Forgets what pointers mean.
  void newGeneration() noexcept { generation_.fetch_add(1, std::memory_order_relaxed); }
  // The text behind a reference, for comparisons; nullptr if there is none.
  const wire::StringEntry* entryOf(std::uint64_t reference) const noexcept;

 private:
  static constexpr std::uint32_t kPointers = 1u << 14;
  static constexpr std::uint32_t kTexts = 1u << 16;
  static constexpr std::uint32_t kProbes = 16;

  struct PointerEntry {
    std::atomic<std::uint64_t> pointer;
    std::atomic<std::uint64_t> meaning;  // generation << 32 | reference without its bit 63
  };
  bool sameText(std::uint32_t place, const char* text, std::uint64_t bytes) const noexcept;

  void* base_ = nullptr;
  std::atomic<std::uint32_t> generation_ = 0;
  PointerEntry pointers_[kPointers] = {};
  std::atomic<std::uint64_t> texts_[kTexts] = {};  // upper half of the hash << 32 | reference without bit 63
};

}  // namespace warpmeter::inject
