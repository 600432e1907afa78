// SPDX-License-Identifier: Apache-2.0
// NVTX ranges by domain and text, with the GPU work that was launched inside them.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "warpmeter/analyzer/profile_view.h"
#include "warpmeter/analyzer/statistics.h"

namespace warpmeter::analyzer {

struct NvtxSummaryRow {
  NameId domain = 0, text = 0;
  DurationStats time;  // on the host
  // Kernels whose launching call began inside a range, on its thread (start/end ranges: on any thread of the
  // process). A kernel counts once per text, however deep ranges of that text nest.
  std::int64_t kernels = 0;
  std::int64_t kernelNs = 0;     // sum of their durations
  std::int64_t projectedNs = 0;  // per range: first start to last end of its kernels; summed over ranges
  std::int64_t marks = 0;        // marks of that text (no duration)
};

struct NvtxSummary {
  std::vector<NvtxSummaryRow> rows;  // most host time first
  std::int64_t kernelsOutside = 0;   // kernels in no range
  std::int64_t kernelsUnlinked = 0;  // kernels whose launching call was not recorded
};

// Needs nvtx; kernels and api for the GPU part. Errors: cancelled.
Result<NvtxSummary> summarizeNvtx(const ProfileView& view, std::stop_token stop = {});

}  // namespace warpmeter::analyzer
