// SPDX-License-Identifier: Apache-2.0
// memcpy() and relatives of our own, hidden inside the library: calls that the compiler makes up bind to these, so a
// host that exports its own versions neither sees nor breaks ours. Speed matters little here: records have constant
// sizes, which the compiler copies inline.
#include <cstddef>
#include <cstdint>

extern "C" {

void* memcpy(void* __restrict to, const void* __restrict from, std::size_t bytes) {
#if defined(__x86_64__)
  void* const start = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
  return start;
#else
  auto* d = static_cast<unsigned char*>(to);
  auto* s = static_cast<const unsigned char*>(from);
  for (; bytes != 0; --bytes) *d++ = *s++;
  return to;
#endif
}

void* memmove(void* to, const void* from, std::size_t bytes) {
  auto* d = static_cast<unsigned char*>(to);
  auto* s = static_cast<const unsigned char*>(from);
  if (d <= s || d >= s + bytes) {
    for (std::size_t i = 0; i < bytes; ++i) d[i] = s[i];
  } else {
    while (bytes-- != 0) d[bytes] = s[bytes];
  }
  return to;
}

void* memset(void* to, int value, std::size_t bytes) {
#if defined(__x86_64__)
  void* const start = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(value) : "memory");
  return start;
#else
  auto* d = static_cast<unsigned char*>(to);
  for (; bytes != 0; --bytes) *d++ = static_cast<unsigned char>(value);
  return to;
#endif
}

int memcmp(const void* a, const void* b, std::size_t bytes) {
  auto* x = static_cast<const unsigned char*>(a);
  auto* y = static_cast<const unsigned char*>(b);
  for (; bytes >= 8; bytes -= 8, x += 8, y += 8) {
    std::uint64_t u, v;
    __builtin_memcpy(&u, x, 8);
    __builtin_memcpy(&v, y, 8);
    if (u != v) break;
  }
  for (; bytes != 0; --bytes, ++x, ++y) {
    if (*x != *y) return *x < *y ? -1 : 1;
  }
  return 0;
}

std::size_t strlen(const char* text) {
  const char* end = text;
  for (; (reinterpret_cast<std::uintptr_t>(end) & 7) != 0; ++end) {
    if (*end == 0) return static_cast<std::size_t>(end - text);
  }
  // Aligned words never cross a page, so reading past the terminating zero is harmless.
  for (;; end += 8) {
    std::uint64_t word;
    __builtin_memcpy(&word, end, 8);
    const std::uint64_t zeros = (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
    if (zeros != 0) return static_cast<std::size_t>(end - text) + static_cast<std::size_t>(__builtin_ctzll(zeros) / 8);
  }
}

int strcmp(const char* a, const char* b) {
  while (*a != 0 && *a == *b) ++a, ++b;
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}

}  // extern "C"
