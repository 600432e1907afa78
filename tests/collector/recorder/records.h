// SPDX-License-Identifier: Apache-2.0
// Hand-filled CUPTI records.
#pragma once

#include <cuda.h>
#include <cupti_activity.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace warpmeter::recorder {

inline CUpti_ActivityKernel10 kernelRecord(std::uint32_t correlation, std::uint64_t name, std::uint64_t start,
                                           std::uint64_t end) {
  CUpti_ActivityKernel10 k;
  std::memset(static_cast<void*>(&k), 0, sizeof k);
  k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  k.start = start;
  k.end = end;
  k.deviceId = 0;
  k.contextId = 1;
  k.streamId = 7;
  k.gridX = 528;
  k.gridY = 2;
  k.gridZ = 1;
  k.blockX = 256;
  k.blockY = 1;
  k.blockZ = 1;
  k.registersPerThread = 40;
  k.correlationId = correlation;
  k.gridId = correlation;
  k.name = reinterpret_cast<const char*>(name);
  return k;
}

inline CUpti_ActivityAPI apiRecord(bool driver, std::uint32_t cbid, std::uint32_t correlation, std::uint32_t pid,
                                   std::uint32_t tid, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityAPI a;
  std::memset(static_cast<void*>(&a), 0, sizeof a);
  a.kind = driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
  a.cbid = cbid;
  a.correlationId = correlation;
  a.processId = pid;
  a.threadId = tid;
  a.start = start;
  a.end = end;
  return a;
}

template <class Record>
void appendRecord(std::vector<std::byte>& bytes, const Record& record, std::size_t size = sizeof(Record)) {
  const auto* from = reinterpret_cast<const std::byte*>(&record);
  bytes.insert(bytes.end(), from, from + size);
}

}  // namespace warpmeter::recorder
