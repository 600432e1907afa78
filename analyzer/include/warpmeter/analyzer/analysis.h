// SPDX-License-Identifier: Apache-2.0
// The list of analyses that give findings, and every threshold they use.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string_view>
#include <vector>

#include "warpmeter/analyzer/bound.h"
#include "warpmeter/analyzer/finding.h"
#include "warpmeter/analyzer/profile_view.h"
#include "warpmeter/profile/result.h"

namespace warpmeter::analyzer {

struct Limits {
  std::int64_t gapListedNs = 10'000;        // idle gaps are listed from here, all are counted
  std::size_t firstLaunchMinLater = 5;      // later launches needed to compare a first launch with
  std::int64_t pageableMinBytes = 1 << 20;  // copy.pageable: total below is not worth a line
  double pageableMinSharePct = 0.5;         // copy.pageable: exposed copy time, of the run
  double pinnedLowBytesPerSec = 12e9;       // copies from pinned memory: PCIe 3.0 x16
  double pinnedHighBytesPerSec = 55e9;      // PCIe 5.0 x16
  std::int64_t pinnedReferenceBytes = 16
                                      << 20;  // pinned bytes in the file needed to use its own rate instead
  double boundMinSharePct = 2;              // findings about a kernel's bound: its share of the kernel time
  double lowOccupancyPct = 50;              // bound.latency: more occupancy is worth asking for up to here
  double unevenOccupancyPct = 80;           // bound.latency: achieved below this part of what is possible
  double tensorIdlePct = 1;                 // tensor.idle: the pipe is used less than this
  double tensorWorthPct = 20;               // tensor.idle: the FP32 pipe is used at least this much
  // What the caller has already: ceilings measured on GPUs, and summarizeCounters(view). The latter must outlive the
  // call; without it the analyses that need counters compute it.
  std::vector<CalibratedGpu> calibrated;
  const CounterSummary* counters = nullptr;
};

// Pure: the same view and limits give the same findings. Errors: cancelled.
using AnalysisFunction = Result<Findings> (*)(const ProfileView& view, const Limits& limits,
                                              std::stop_token stop);

struct Analysis {
  std::string_view id;
  Tables tables;  // what the view must hold; less gives no findings, not wrong ones
  AnalysisFunction run;
};

std::span<const Analysis> analyses();

// All analyses, ranked.
Result<Findings> findAll(const ProfileView& view, const Limits& limits = {}, std::stop_token stop = {});

}  // namespace warpmeter::analyzer
