// SPDX-License-Identifier: Apache-2.0
// Texts of NVTX calls as string references, and the domains.
#pragma once

#include <cstdint>

#include "nvtx_types.h"

namespace warpmeter::inject {

// nullptr gives kNoString. Wide text is stored as UTF-8, cut after kMaxWideBytes.
inline constexpr int kMaxWideBytes = 4096;
std::uint64_t nvtxText(const char* text) noexcept;
std::uint64_t nvtxText(const wchar_t* text) noexcept;
// The message of an event: text, wide text or a registered string.
std::uint64_t nvtxMessage(const nvtxEventAttributes_t& event) noexcept;

// UTF-8 of `text` into `out`; returns the bytes written, never a part of a character.
int encodeUtf8(const wchar_t* text, char* out, int room) noexcept;

// Handles are small records that live as long as the process. The default domain has the handle nullptr and id 0.
nvtxDomainHandle_t nvtxDomainFor(std::uint64_t nameReference) noexcept;
std::uint32_t nvtxDomainId(nvtxDomainHandle_t domain) noexcept;

// A registered string's handle is its reference.
inline nvtxStringHandle_t nvtxHandleOf(std::uint64_t reference) noexcept {
  return reinterpret_cast<nvtxStringHandle_t>(reference);
}

}  // namespace warpmeter::inject
