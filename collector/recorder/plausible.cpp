// SPDX-License-Identifier: Apache-2.0
// Is this a record? Asked of memory that a killed process was writing to.
#include <cuda.h>
#include <cupti_activity.h>

#include <algorithm>
#include <cstring>

#include "cupti_records.h"
#include "warpmeter/wire/strings.h"

namespace warpmeter::recorder {
namespace {

constexpr std::uint32_t kMaxDevices = 1024, kMaxContexts = 1 << 20, kMaxStreams = 1 << 24;
constexpr std::uint64_t kUserSpaceEnd = std::uint64_t{1} << 57;

template <class Record>
Record load(const std::byte* record, std::size_t size) {
  Record r;
  std::memset(static_cast<void*>(&r), 0, sizeof r);
  std::memcpy(static_cast<void*>(&r), record, std::min(size, sizeof r));
  return r;
}

bool timesFit(std::uint64_t start, std::uint64_t end, const Plausibility& b) {
  return start >= b.minNs && start <= end && end <= b.maxNs;
}

// Not yet run: both times are missing, or the end is.
bool timesFitOrMissing(std::uint64_t start, std::uint64_t end, const Plausibility& b) {
  if (end == 0) return start == 0 || (start >= b.minNs && start <= b.maxNs);
  return timesFit(start, end, b);
}

bool placeFits(std::uint32_t device, std::uint32_t context, std::uint32_t stream) {
  return device < kMaxDevices && context < kMaxContexts && (stream < kMaxStreams || stream == 0xffffffff);
}

bool kernelFits(const CUpti_ActivityKernel10& k, const Plausibility& b) {
  const auto name = reinterpret_cast<std::uintptr_t>(k.name);
  const bool nameFits = (name & wire::kStringBit) != 0 || (name != 0 && name < kUserSpaceEnd);
  const auto side = [](std::int64_t n, std::int64_t limit) { return n >= 1 && n <= limit; };
  const bool shape = side(k.gridX, 0x7fffffff) && side(k.gridY, 65535) && side(k.gridZ, 65535) && side(k.blockX, 1024) &&
                     side(k.blockY, 1024) && side(k.blockZ, 1024) &&
                     std::int64_t{k.blockX} * k.blockY * k.blockZ <= 1024;
  return nameFits && shape && k.correlationId != 0 && k.contextId != 0 && k.staticSharedMemory >= 0 &&
         k.dynamicSharedMemory >= 0 && placeFits(k.deviceId, k.contextId, k.streamId) &&
         timesFitOrMissing(k.start, k.end, b);
}

Plausible strongIf(bool fits) { return fits ? Plausible::strong : Plausible::no; }
Plausible weakIf(bool fits) { return fits ? Plausible::weak : Plausible::no; }

bool overheadKindKnown(std::uint32_t kind) {
  return kind <= 1 || ((kind & 0xffff) == 0 && (kind >> 16) <= 32);
}

}  // namespace

Plausible plausible(const std::byte* record, std::size_t size, const Plausibility& b) {
  std::uint32_t kind = 0;
  std::memcpy(&kind, record, sizeof kind);
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return strongIf(kernelFits(load<CUpti_ActivityKernel10>(record, size), b));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: {
      const auto a = load<CUpti_ActivityAPI>(record, size);
      return strongIf(a.processId == b.pid && a.threadId != 0 && a.cbid != 0 && a.cbid < 4096 &&
                      timesFit(a.start, a.end, b));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto c = load<CUpti_ActivityMemcpy6>(record, size);
      return strongIf(c.copyKind <= 13 && c.srcKind <= 7 && c.dstKind <= 7 && c.correlationId != 0 &&
                      placeFits(c.deviceId, c.contextId, c.streamId) && timesFitOrMissing(c.start, c.end, b));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto c = load<CUpti_ActivityMemcpyPtoP4>(record, size);
      return strongIf(c.copyKind <= 13 && c.srcKind <= 7 && c.dstKind <= 7 && c.correlationId != 0 &&
                      placeFits(c.deviceId, c.contextId, c.streamId) && timesFitOrMissing(c.start, c.end, b));
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto m = load<CUpti_ActivityMemset4>(record, size);
      return strongIf(m.memoryKind <= 7 && m.correlationId != 0 && placeFits(m.deviceId, m.contextId, m.streamId) &&
                      timesFitOrMissing(m.start, m.end, b));
    }
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
      const auto s = load<CUpti_ActivitySynchronization2>(record, size);
      return strongIf(s.type >= 1 && s.type <= 4 && timesFit(s.start, s.end, b));
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto o = load<CUpti_ActivityOverhead3>(record, size);
      return strongIf(overheadKindKnown(static_cast<std::uint32_t>(o.overheadKind)) && o.objectKind <= 5 &&
                      timesFit(o.start, o.end, b));
    }
    case CUPTI_ACTIVITY_KIND_MEMORY2: {
      const auto m = load<CUpti_ActivityMemory4>(record, size);
      return strongIf((m.memoryOperationType == 1 || m.memoryOperationType == 2) && m.processId == b.pid &&
                      timesFit(m.timestamp, m.timestamp, b));
    }
    case CUPTI_ACTIVITY_KIND_JIT: {
      const auto j = load<CUpti_ActivityJit2>(record, size);
      return strongIf(j.jitOperationType >= 1 && j.jitOperationType <= 3 && timesFit(j.start, j.end, b));
    }
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT: {
      const auto e = load<CUpti_ActivityCudaEvent2>(record, size);
      return weakIf(placeFits(e.deviceId, e.contextId, e.streamId) && e.correlationId != 0 && e.contextId != 0 &&
                    e.pad == 0 && (e.deviceTimestamp == 0 || timesFit(e.deviceTimestamp, e.deviceTimestamp, b)));
    }
    case CUPTI_ACTIVITY_KIND_CONTEXT: {
      const auto c = load<CUpti_ActivityContext3>(record, size);
      return weakIf(c.contextId != 0 && c.contextId < kMaxContexts && c.deviceId < kMaxDevices &&
                    c.computeApiKind <= 2 && c.isGreenContext <= 1);
    }
    case CUPTI_ACTIVITY_KIND_STREAM: {
      const auto s = load<CUpti_ActivityStream>(record, size);
      return weakIf(s.contextId != 0 && placeFits(0, s.contextId, s.streamId) && s.flag <= 3);
    }
    case CUPTI_ACTIVITY_KIND_DEVICE: {
      const auto d = load<CUpti_ActivityDevice5>(record, size);
      return weakIf(d.id < kMaxDevices && d.numThreadsPerWarp == 32 && d.computeCapabilityMajor >= 3 &&
                    d.computeCapabilityMajor < 100 && d.numMultiprocessors >= 1);
    }
    default: return Plausible::no;
  }
}

}  // namespace warpmeter::recorder
