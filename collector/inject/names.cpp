// SPDX-License-Identifier: Apache-2.0
#include "names.h"

#include <cstring>

#include "warpmeter/wire/layout.h"

namespace warpmeter::inject {
namespace {

constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio

std::uint64_t wordAt(const char* text) {
  std::uint64_t word;
  std::memcpy(&word, text, 8);
  return word;
}

// Texts are short: eight bytes a step, the last step overlapping the one before instead of a loop over bytes.
std::uint64_t hashOf(const char* text, std::uint64_t bytes) {
  std::uint64_t hash = bytes * kMix;
  const auto add = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * kMix;
    hash ^= hash >> 29;
  };
  if (bytes >= 8) {
    std::uint64_t at = 0;
    for (; at + 8 < bytes; at += 8) add(wordAt(text + at));
    add(wordAt(text + bytes - 8));
  } else {
    std::uint64_t word = 0;
    for (std::uint64_t i = 0; i < bytes; ++i) word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * i);
    add(word);
  }
  return (hash ^ hash >> 32) * kMix;
}

bool equalBytes(const char* a, const char* b, std::uint64_t bytes) {
  if (bytes < 8) return std::memcmp(a, b, bytes) == 0;
  for (std::uint64_t at = 0; at + 8 < bytes; at += 8) {
    if (wordAt(a + at) != wordAt(b + at)) return false;
  }
  return wordAt(a + bytes - 8) == wordAt(b + bytes - 8);
}

// References fit 32 bits without bit 63: the region is smaller than 2^32 * 8 bytes.
constexpr std::uint64_t placeOf(std::uint64_t reference) { return reference & ~wire::kStringBit; }
constexpr std::uint64_t referenceTo(std::uint64_t place) { return wire::kStringBit | (place & 0xffffffffu); }

}  // namespace

void Names::initialize(void* base) noexcept {
  if (base_ != nullptr) {  // after a fork: what is in the tables refers to the parent's memory
    for (PointerEntry& entry : pointers_) {
      entry.pointer.store(0, std::memory_order_relaxed);
      entry.meaning.store(0, std::memory_order_relaxed);
    }
    for (auto& text : texts_) text.store(0, std::memory_order_relaxed);
  }
  base_ = base;
  generation_.store(1, std::memory_order_relaxed);  // 0 is what fresh entries have
}

const wire::StringEntry* Names::entryOf(std::uint64_t reference) const noexcept {
  if ((reference & wire::kStringBit) == 0) return nullptr;
  const auto* header = wire::headerOf(base_);
  const std::uint64_t at = placeOf(reference) * 8;
  if (at + sizeof(wire::StringEntry) > header->strings.bytes) return nullptr;
  return reinterpret_cast<const wire::StringEntry*>(static_cast<const std::byte*>(base_) + header->strings.offset + at);
}

bool Names::sameText(std::uint32_t place, const char* text, std::uint64_t bytes) const noexcept {
  const wire::StringEntry* entry = entryOf(referenceTo(place));
  return entry != nullptr && entry->lengthPlusOne.load(std::memory_order_acquire) == bytes + 1 &&
         equalBytes(reinterpret_cast<const char*>(entry + 1), text, bytes);
}

std::uint64_t Names::ofText(wire::StringKind kind, const char* text, std::uint64_t bytes) noexcept {
  const std::uint64_t hash = hashOf(text, bytes);
  const std::uint64_t mark = hash & 0xffffffff00000000;
  std::atomic<std::uint64_t>* vacant = nullptr;
  for (std::uint32_t probe = 0; probe < kProbes; ++probe) {
    auto& entry = texts_[(hash + probe) % kTexts];
    const std::uint64_t value = entry.load(std::memory_order_acquire);
    if (value == 0) {
      vacant = &entry;
      break;
    }
    const auto place = static_cast<std::uint32_t>(value);
    if ((value & 0xffffffff00000000) == mark && sameText(place, text, bytes)) return referenceTo(place);
  }
  const std::uint64_t reference =
      wire::appendString(base_, kind, reinterpret_cast<std::uint64_t>(text), text, bytes);
  if (vacant != nullptr && reference != wire::kNameLost) {
    std::uint64_t nothing = 0;  // a lost race leaves the text in the region twice
    vacant->compare_exchange_strong(nothing, mark | placeOf(reference), std::memory_order_release,
                                    std::memory_order_relaxed);
  }
  return reference;
}

std::uint64_t Names::ofPointer(const char* text) noexcept {
  if (text == nullptr) return wire::kNoString;
  const auto pointer = reinterpret_cast<std::uint64_t>(text);
  const std::uint64_t generation = std::uint64_t{generation_.load(std::memory_order_relaxed)} << 32;
  const std::uint64_t start = (pointer * kMix) >> 40;
  PointerEntry* entry = nullptr;
  for (std::uint32_t probe = 0; probe < kProbes && entry == nullptr; ++probe) {
    PointerEntry& candidate = pointers_[(start + probe) % kPointers];
    std::uint64_t owner = candidate.pointer.load(std::memory_order_relaxed);
    if (owner == 0) candidate.pointer.compare_exchange_strong(owner, pointer, std::memory_order_relaxed);
    if (owner == 0 || owner == pointer) entry = &candidate;
  }
  if (entry != nullptr) {
    const std::uint64_t meaning = entry->meaning.load(std::memory_order_relaxed);
    if ((meaning & 0xffffffff00000000) == generation) return referenceTo(meaning);
  }
  const std::uint64_t reference = ofText(wire::StringKind::name, text, std::strlen(text));
  if (entry != nullptr && reference != wire::kNameLost) {
    entry->meaning.store(generation | placeOf(reference), std::memory_order_relaxed);
  }
  return reference;
}

}  // namespace warpmeter::inject
