// SPDX-License-Identifier: Apache-2.0
// Records of our own, in slots of source `own`. Each starts with OwnHeader; `bytes` is a multiple of 8.
// A record becomes readable when the slot's validBytes is raised past it (release), so a dead or living writer never
// shows half of one. Times: CLOCK_REALTIME ns. Texts: string references (strings.h).
#pragma once

#include <cstdint>

namespace warpmeter::wire {

inline constexpr std::uint32_t kOwnKindBase = 0x10000;

enum class OwnKind : std::uint32_t {
  nvtxPush = kOwnKindBase,
  nvtxPop,
  nvtxStart,
  nvtxEnd,
  nvtxMark,
  nvtxDomain,         // text = name of domain `domainId`
  nvtxDomainDestroy,
  nvtxCategory,       // text = name of `category` in `domainId`
  nvtxThreadName,     // text = name of thread `rangeId`
  mark,
  rangedImage,        // exact.h: a counter data image with its launches
  pcBatch,            // pc.h: samples of instruction pointers
  cubin,              // pc.h: a piece of an image of code
};

struct OwnHeader {
  std::uint32_t kind;   // OwnKind
  std::uint32_t bytes;  // whole record
  std::int64_t t;
  std::uint32_t tid;
  std::uint32_t reserved;
};
static_assert(sizeof(OwnHeader) == 24);

struct NvtxRecord {
  OwnHeader header;
  std::uint64_t text;       // string reference or kNoString; push, start, mark, domain, category, thread name
  std::uint64_t rangeId;    // start, end
  std::uint32_t domainId;   // 0 = default domain; per process
  std::uint32_t category;
  std::uint32_t color;      // ARGB; 0 = none
  std::uint32_t hasColor;
  std::uint64_t payload;    // bit pattern
  std::uint32_t payloadType;  // nvtxPayloadType_t; 0 = none
  std::uint32_t reserved;
};
static_assert(sizeof(NvtxRecord) == 72);

struct MarkRecord {         // becomes a WM_MARK row
  OwnHeader header;
  std::uint32_t markKind;   // MarkKind of profile/rows.h
  std::uint32_t contextId;  // 0 = none
  std::uint64_t moduleId, bytes;
};
static_assert(sizeof(MarkRecord) == 48);

}  // namespace warpmeter::wire
