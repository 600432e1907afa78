// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/wire/strings.h"

#include <cstring>

#include "warpmeter/wire/layout.h"

namespace warpmeter::wire {

std::uint64_t appendString(void* base, StringKind kind, std::uint64_t key, const char* text, std::uint64_t bytes) {
  Header* header = headerOf(base);
  if (bytes > kMaxTextBytes) bytes = kMaxTextBytes;
  const std::uint64_t size = (sizeof(StringEntry) + bytes + 1 + 7) / 8 * 8;
  std::uint64_t at = header->strings.used.load(std::memory_order_relaxed);
  do {  // not fetch_add: a full region must stay full for long texts only, and never wrap
    if (at + size > header->strings.bytes) {
      header->namesLost.fetch_add(1, std::memory_order_relaxed);
      return kNameLost;
    }
  } while (!header->strings.used.compare_exchange_weak(at, at + size, std::memory_order_relaxed));
  auto* entry = reinterpret_cast<StringEntry*>(static_cast<std::byte*>(base) + header->strings.offset + at);
  entry->kind = static_cast<std::uint32_t>(kind);
  entry->key = key;
  char* copy = reinterpret_cast<char*>(entry + 1);
  std::memcpy(copy, text, bytes);
  entry->lengthPlusOne.store(static_cast<std::uint32_t>(bytes) + 1, std::memory_order_release);
  return kStringBit | at / 8;
}

}  // namespace warpmeter::wire
