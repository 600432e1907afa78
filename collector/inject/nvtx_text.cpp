// SPDX-License-Identifier: Apache-2.0
#include "nvtx_text.h"

#include <cstring>

#include "session.h"

namespace warpmeter::inject {
namespace {

struct Domain {
  std::atomic<std::uint64_t> name;  // string reference; 0 = free
};
// More domains than this share the last id: their ranges stay, their names mix.
constexpr std::uint32_t kMaxDomains = 4096;
constinit Domain gDomains[kMaxDomains] = {};

}  // namespace

int encodeUtf8(const wchar_t* text, char* out, int room) noexcept {
  int used = 0;
  for (; *text != 0; ++text) {
    auto c = static_cast<std::uint32_t>(*text);
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
    const int bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    if (used + bytes > room) break;
    constexpr unsigned char kFirst[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = bytes - 1; i > 0; --i, c >>= 6) out[used + i] = static_cast<char>(0x80 | (c & 0x3f));
    out[used] = static_cast<char>(bytes == 1 ? c : kFirst[bytes] | c);
    used += bytes;
  }
  return used;
}

std::uint64_t nvtxText(const char* text) noexcept {
  if (text == nullptr) return wire::kNoString;
  return gSession.names.ofText(wire::StringKind::nvtx, text, std::strlen(text));
}

std::uint64_t nvtxText(const wchar_t* text) noexcept {
  if (text == nullptr) return wire::kNoString;
  char utf8[kMaxWideBytes];
  const int bytes = encodeUtf8(text, utf8, kMaxWideBytes);
  return gSession.names.ofText(wire::StringKind::nvtx, utf8, static_cast<std::uint64_t>(bytes));
}

std::uint64_t nvtxMessage(const nvtxEventAttributes_t& event) noexcept {
  switch (event.messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return nvtxText(event.message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return nvtxText(event.message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const auto reference = reinterpret_cast<std::uint64_t>(event.message.registered);
      return gSession.names.entryOf(reference) != nullptr ? reference : wire::kNoString;
    }
    default:
      return wire::kNoString;
  }
}

nvtxDomainHandle_t nvtxDomainFor(std::uint64_t nameReference) noexcept {
  if (nameReference == wire::kNoString) return nullptr;
  for (std::uint32_t i = 0; i < kMaxDomains; ++i) {
    std::uint64_t owner = gDomains[i].name.load(std::memory_order_acquire);
    if (owner == 0) gDomains[i].name.compare_exchange_strong(owner, nameReference, std::memory_order_acq_rel);
    if (owner == 0 || owner == nameReference) return reinterpret_cast<nvtxDomainHandle_t>(&gDomains[i]);
  }
  return reinterpret_cast<nvtxDomainHandle_t>(&gDomains[kMaxDomains - 1]);
}

std::uint32_t nvtxDomainId(nvtxDomainHandle_t domain) noexcept {
  if (domain == nullptr) return 0;
  const auto offset = reinterpret_cast<std::uintptr_t>(domain) - reinterpret_cast<std::uintptr_t>(&gDomains[0]);
  return offset < sizeof gDomains ? static_cast<std::uint32_t>(offset / sizeof(Domain)) + 1 : 0;
}

}  // namespace warpmeter::inject
