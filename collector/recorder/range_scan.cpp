// SPDX-License-Identifier: Apache-2.0
#include "range_scan.h"

#include <algorithm>
#include <cstring>

#include "cupti_records.h"
#include "record_walk.h"

namespace warpmeter::recorder {

void RangeScan::look(const Chunk& chunk, const GuestMemory& memory, std::int64_t pid) {
  if (!windows_.byRange()) return;
  if (chunk.own) {
    if (!windows_.options().nvtxRange.empty()) lookAtOwn(chunk, memory, pid);
  } else if (windows_.options().profilerApi) {
    lookAtCupti(chunk, memory, pid);
  }
}

bool RangeScan::matches(const GuestMemory& memory, std::uint64_t reference) const {
  const auto text = memory.text(reference);
  return text && *text == windows_.options().nvtxRange;
}

// Completed buffers only: it stops where the walk of the writer would begin to search. The bytes are still shared, so
// each record is copied before it is looked at (profilerCallIn does).
void RangeScan::lookAtCupti(const Chunk& chunk, const GuestMemory& memory, std::int64_t pid) {
  const std::uint16_t* sizes = memory.recordSizes();
  for (std::size_t at = 0; at + 8 <= chunk.bytes.size();) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, chunk.bytes.data() + at, sizeof kind);
    const std::size_t size = kind < wire::kKindCount ? sizes[kind] : 0;
    if (size == 0 || size > chunk.bytes.size() - at) return;
    std::uint64_t start = 0, end = 0;
    switch (profilerCallIn(chunk.bytes.data() + at, size, start, end)) {
      case ProfilerCall::start: windows_.profilerStart(pid, static_cast<std::int64_t>(start) - startNs_); break;
      case ProfilerCall::stop: windows_.profilerStop(pid, static_cast<std::int64_t>(end) - startNs_); break;
      case ProfilerCall::none: break;
    }
    at += size;
  }
}

void RangeScan::lookAtOwn(const Chunk& chunk, const GuestMemory& memory, std::int64_t pid) {
  walkOwnRecords(chunk.bytes, [&](const wire::OwnHeader& header, const std::byte* at, std::size_t size) {
    if (header.kind == static_cast<std::uint32_t>(wire::OwnKind::mark)) return;
    wire::NvtxRecord r{};
    std::memcpy(&r, at, std::min(size, sizeof r));
    const std::int64_t t = header.t - startNs_;
    const CaptureWindows::ThreadDomain where{pid, header.tid, r.domainId};
    const auto id = static_cast<std::int64_t>(r.rangeId);
    switch (static_cast<wire::OwnKind>(header.kind)) {
      case wire::OwnKind::nvtxPush: windows_.nvtxPush(where, matches(memory, r.text), t); break;
      case wire::OwnKind::nvtxPop: windows_.nvtxPop(where, t); break;
      case wire::OwnKind::nvtxStart: windows_.nvtxStart(pid, id, matches(memory, r.text), t); break;
      case wire::OwnKind::nvtxEnd: windows_.nvtxEnd(pid, id, t); break;
      default: break;
    }
  });
}

}  // namespace warpmeter::recorder
