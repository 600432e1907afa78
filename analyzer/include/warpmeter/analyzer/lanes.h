// SPDX-License-Identifier: Apache-2.0
// The lanes of a ProfileView: structures of arrays, sorted by start (then rowid). Times in ns, may be
// negative.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "warpmeter/analyzer/column.h"

namespace warpmeter::analyzer {

using NameId = std::uint32_t;                       // ProfileView::name(); 0 = no name
inline constexpr std::uint32_t kNone = 0xffffffff;  // no index

// What all lanes share: start, a duration of 32 bits, and the few durations that do not fit.
struct Spans {
  static constexpr std::uint32_t kOverflow = 0xffffffff;
  Column<std::int64_t> start;
  Column<std::uint32_t> duration;
  std::vector<std::pair<std::uint32_t, std::int64_t>> overflow;  // (index, duration), sorted by index

  std::size_t size() const { return start.size(); }
  bool empty() const { return start.empty(); }
  std::int64_t startNs(std::size_t i) const { return start[i]; }
  std::int64_t durationNs(std::size_t i) const {
    return duration[i] != kOverflow ? duration[i] : overflowNs(i);
  }
  std::int64_t endNs(std::size_t i) const { return start[i] + durationNs(i); }

 private:
  std::int64_t overflowNs(std::size_t i) const;
};

// Timed kernels of one stream: 36 bytes a kernel.
struct Kernels : Spans {
  Column<std::uint32_t> config;      // index into ProfileView::configs()
  Column<std::uint32_t> rowid;       // launch id
  Column<std::int64_t> correlation;  // 0 = none; unique within (process) only
  Column<std::int64_t> graphNode;    // 0 = not from a graph
};

// Copies and memsets of one stream: 43 bytes.
enum class CopyKind : std::uint8_t {  // numbers of ENUM_CUDA_MEMCPY_OPER, and memset beyond them
  unknown = 0,
  hostToDevice = 1,
  deviceToHost = 2,
  hostToArray = 3,
  arrayToHost = 4,
  arrayToArray = 5,
  arrayToDevice = 6,
  deviceToArray = 7,
  deviceToDevice = 8,
  hostToHost = 9,
  peerToPeer = 10,
  unifiedHostToDevice = 11,
  unifiedDeviceToHost = 12,
  unifiedDeviceToDevice = 13,
  memset = 100,
};
enum class MemoryKind : std::uint8_t {  // numbers of ENUM_CUDA_MEM_KIND
  pageable = 0,
  pinned = 1,
  device = 2,
  array = 3,
  managed = 4,
  deviceStatic = 5,
  managedStatic = 6,
  unknown = 7,
};
struct Copies : Spans {
  Column<std::int64_t> bytes;
  Column<std::uint8_t> kind;                 // CopyKind
  Column<std::uint8_t> source, destination;  // MemoryKind; of a memset: both the memory that is set
  Column<std::uint32_t> rowid;               // of the memcpy or memset table
  Column<std::int64_t> correlation;
  CopyKind kindOf(std::size_t i) const { return static_cast<CopyKind>(kind[i]); }
  MemoryKind sourceOf(std::size_t i) const { return static_cast<MemoryKind>(source[i]); }
  MemoryKind destinationOf(std::size_t i) const { return static_cast<MemoryKind>(destination[i]); }
};

// API calls of one thread: 21 bytes a call.
struct ApiCalls : Spans {
  static constexpr std::uint8_t kDriver = 0x80, kFailed = 0x40, kDepthMask = 0x3f;
  Column<NameId> name;  // with version suffix, as in the file
  Column<std::uint32_t> correlationLow;
  Column<std::uint8_t> flags;        // kDriver | kFailed | depth: 0 = outermost call at that moment
  std::int64_t correlationHigh = 0;  // one value per lane
  std::int64_t correlationOf(std::size_t i) const { return correlationHigh | correlationLow[i]; }
  int depth(std::size_t i) const { return flags[i] & kDepthMask; }
  bool isDriver(std::size_t i) const { return (flags[i] & kDriver) != 0; }
  bool failed(std::size_t i) const { return (flags[i] & kFailed) != 0; }
};

// NVTX ranges and marks begun on one thread: 28 bytes a range. A range that never ended ends with the view.
enum class NvtxKind : std::uint8_t { pushPop = 59, startEnd = 60, mark = 34 };
struct NvtxRanges : Spans {
  Column<NameId> text;
  Column<std::uint32_t> color;   // ARGB, 0 = none
  Column<std::uint16_t> domain;  // index into ProfileView::domains()
  Column<std::uint8_t> kind;     // NvtxKind
  Column<std::uint8_t> depth;    // 0 = outermost range at that moment on this thread
  Column<std::uint32_t> rowid;
  NvtxKind kindOf(std::size_t i) const { return static_cast<NvtxKind>(kind[i]); }
};

// One CUDA stream of one context of one process on one GPU.
struct StreamLane {
  std::uint32_t process = kNone, gpu = kNone;  // indices into ProfileView::processes(), gpus()
  std::int64_t contextId = 0, greenContextId = 0, streamId = 0;
  Kernels kernels;
  Copies copies;
};

// One host thread.
struct ThreadLane {
  std::uint32_t process = kNone;
  std::int64_t globalTid = 0;
  NameId name = 0;
  ApiCalls api;
  NvtxRanges nvtx;
};

}  // namespace warpmeter::analyzer
