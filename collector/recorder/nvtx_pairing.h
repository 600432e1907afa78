// SPDX-License-Identifier: Apache-2.0
// Makes rows of NVTX calls: a push and its pop are one row, a start and its end are one row.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "warpmeter/profile/rows.h"

namespace warpmeter::recorder {

// NVTX_EVENTS.eventType
namespace nvtx_event {
inline constexpr std::int64_t kCategory = 33, kMark = 34, kThreadName = 39, kPushPop = 59, kStartEnd = 60,
                              kDomainCreate = 75, kDomainDestroy = 76;
}

// One process. Pushes and pops pair per (thread, domain), as NVTX defines them; start/end by the range's id.
class NvtxPairing {
 public:
  void push(NvtxRow row);                                   // everything but end is set
  void pop(std::int64_t globalTid, std::int64_t domainId, std::int64_t t, std::vector<NvtxRow>& out);
  // Threads' records arrive in no common order, so the end of a range that began on another thread may come first.
  void start(NvtxRow row, std::vector<NvtxRow>& out);       // rangeId is set
  void end(std::int64_t rangeId, std::int64_t globalTid, std::int64_t t, std::vector<NvtxRow>& out);

  // The process is gone: open ranges end at t, ends that still lack a beginning are orphans. Returns how many were open.
  std::int64_t closeAll(std::int64_t t, std::vector<NvtxRow>& out);
  std::int64_t takeOrphans() { return std::exchange(orphans_, 0); }  // pops and ends without a beginning
  std::size_t open() const;

 private:
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<NvtxRow>> stacks_;  // (thread, domain)
  std::unordered_map<std::int64_t, NvtxRow> started_;
  struct End {
    std::int64_t globalTid, t;
  };
  std::unordered_map<std::int64_t, End> early_;             // ends that came before their beginning
  std::int64_t orphans_ = 0;

  static constexpr std::size_t kMaxEarly = 65536;
};

}  // namespace warpmeter::recorder
