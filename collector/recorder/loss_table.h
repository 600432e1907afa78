// SPDX-License-Identifier: Apache-2.0
// What is missing from the file, added up until it is written as WM_LOSS rows.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "warpmeter/profile/info.h"

namespace warpmeter::recorder {

// WM_LOSS.kind. docs/format.md explains each.
namespace loss {
inline constexpr std::string_view kInFlight = "in_flight";            // being written when the process was killed
inline constexpr std::string_view kNoTimes = "no_times";              // copies and the like without times
inline constexpr std::string_view kPoolEmpty = "pool_empty";          // the guest had no buffer left
inline constexpr std::string_view kDroppedByCupti = "dropped_by_cupti";
inline constexpr std::string_view kNames = "names";                   // "(name lost)"
inline constexpr std::string_view kOwnRecords = "nvtx_records";       // no buffer for an NVTX or mark record
inline constexpr std::string_view kFaults = "guest_faults";
inline constexpr std::string_view kInvalid = "invalid_records";       // unreadable inside a completed buffer
inline constexpr std::string_view kUnknownKind = "unknown_kind";      // a record kind this version does not store
inline constexpr std::string_view kOverload = "overload";             // beyond --max-size, or the spill file failed
inline constexpr std::string_view kBlocked = "blocked";               // another tool holds CUPTI
inline constexpr std::string_view kRefused = "refused";               // CUPTI missing or of a version that is refused
inline constexpr std::string_view kDisabled = "disabled";             // recording switched itself off
inline constexpr std::string_view kNvtxOpen = "nvtx_open";            // ranges without an end: ended with the process
inline constexpr std::string_view kNvtxOrphan = "nvtx_orphan";        // ends without a beginning
inline constexpr std::string_view kDegraded = "degraded";             // something this CUPTI could not switch on
inline constexpr std::string_view kNotAttached = "not_attached";      // a guest whose memory could not be used
inline constexpr std::string_view kSamples = "samples";               // counters were not sampled where they should have been
inline constexpr std::string_view kPcSamples = "pc_samples";          // PC sampling: dropped, or lost on the way
inline constexpr std::string_view kPcLines = "pc_lines";              // code with line information that was not kept
inline constexpr std::string_view kLeftRunning = "left_running";      // processes that outlive the recording
}  // namespace loss

struct LossEntry {
  std::string kind, why;
  std::int64_t count = 0;             // kNull = unknown
  std::int64_t fromNs = kNull, toNs = kNull;
  GlobalPid globalPid;
};

class LossTable {
 public:
  // count kNull: unknown; added to a known count the sum is unknown as well.
  void add(std::string_view kind, std::string_view why, std::int64_t count, std::int64_t fromNs, std::int64_t toNs,
           GlobalPid globalPid);
  std::vector<LossEntry> take();  // entries since the last take()

  std::int64_t recordsLost() const { return lost_; }  // of all entries that mean incomplete; kNull = unknown
  std::int64_t rows() const { return rows_; }         // handed out so far
  bool incomplete() const { return incomplete_; }
  // The first of the most serious entries as a line, or "".
  std::string headline() const { return headline_; }

 private:
  std::map<std::tuple<std::string, std::string, std::int64_t>, LossEntry> entries_;
  std::int64_t lost_ = 0, rows_ = 0;
  bool incomplete_ = false;
  std::string headline_;
  int headlineRank_ = 0;
};

}  // namespace warpmeter::recorder
