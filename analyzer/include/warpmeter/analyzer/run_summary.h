// SPDX-License-Identifier: Apache-2.0
// A run in a few numbers: is the recording complete, and where did the wall time go.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "warpmeter/analyzer/analysis.h"
#include "warpmeter/analyzer/concurrency.h"
#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::analyzer {

struct LossLine {
  std::string kind, why;
  std::optional<std::int64_t> count;  // nullopt = unknown
  std::optional<std::int64_t> fromNs, toNs;
};

struct Quality {
  bool complete = false;                 // finished, nothing lost, every launch timed
  bool lossesRecorded = true;             // false: an nsys export, which does not say what was lost
  bool unfinished = false;               // the recorder did not close the file, or still runs
  std::int64_t launches = 0, timed = 0;  // launches = timed + untimed
  std::int64_t lostRecords = 0;          // sum of the known losses
  bool unknownLosses = false;
  std::vector<LossLine> losses;           // also what is told although no record is missing
  std::optional<std::int64_t> ownCostNs;  // on the application's threads, at least; nullopt = not recorded
  std::optional<double> ownCostPct;       // of the wall time
  std::vector<SelfCostInfo> ownCosts;     // item by item
  std::string countersReason;             // Reason id why there are no counters; "" = there are
};

// The buckets add up to wallNs exactly: startUp + busy + idle + shutDown.
struct TimeBuckets {
  std::int64_t beginNs = 0, endNs = 0;  // process start (first) to exit (last), else the range of the view
  std::int64_t startUpNs = 0;           // until the first kernel of any process (without kernels: operation)
  std::int64_t startUpCopyNs = 0;       // of startUp: at least one copy running
  std::int64_t busyNs = 0;              // from there to the last operation: at least one GPU busy
  std::int64_t kernelNs = 0, copyNs = 0, bothNs = 0;  // busy = kernel + copy - both
  std::int64_t idleNs = 0;
  std::vector<IdlePart> idle;   // by cause, largest first; sum = idleNs
  std::int64_t shutDownNs = 0;  // after the last operation
  bool anyGpuWork = false;      // false: all of wallNs is startUpNs
  std::int64_t wallNs() const { return endNs - beginNs; }
};

struct RunSummary {
  Quality quality;
  TimeBuckets time;
  std::int64_t kernels = 0, untimed = 0, copies = 0, memsets = 0, copyBytes = 0, apiCalls = 0, nvtxRanges = 0;
  std::size_t streamsUsed = 0, gpusUsed = 0, processes = 0, processesWithGpuWork = 0;
};

// Needs kernels and copies; api for causes and count, nvtx for its count,
// overheads for the own cost. Errors: cancelled.
Result<RunSummary> summarizeRun(const ProfileView& view, const Limits& limits = {},
                                std::stop_token stop = {});

}  // namespace warpmeter::analyzer
