// SPDX-License-Identifier: Apache-2.0
// Copies and memsets by kind and memory, and the finding copy.pageable.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "warpmeter/analyzer/analysis.h"
#include "warpmeter/analyzer/profile_view.h"
#include "warpmeter/analyzer/statistics.h"

namespace warpmeter::analyzer {

struct CopyGroup {
  CopyKind kind{};
  MemoryKind source{}, destination{};
  bool pageable = false;  // the host side is pageable memory
  DurationStats time;
  std::int64_t bytes = 0;
  std::optional<double> bytesPerSec() const;  // sum of bytes / sum of times; nullopt when no time
};

struct CopySummary {
  std::vector<CopyGroup> groups;                                // most time first; memsets last
  std::int64_t copies = 0, memsets = 0, bytes = 0, timeNs = 0;  // bytes and timeNs: copies only, a plain sum
  std::int64_t pageableCopies = 0, pageableBytes = 0, pageableNs = 0;
  std::int64_t pageableExposedNs = 0;      // union of pageable copies while no kernel ran on their GPU
  std::int64_t hiddenNs = 0, unionNs = 0;  // of all copies (no memsets): union, and the part behind kernels
};

std::string_view textOf(CopyKind kind);    // "Host-to-Device", ...
std::string_view textOf(MemoryKind kind);  // "pageable", ...

Result<CopySummary> summarizeCopies(const ProfileView& view,
                                    std::stop_token stop = {});  // needs copies, kernels

// copy.pageable: real copies between pageable host memory and a GPU.
Result<Findings> findPageableCopies(const ProfileView& view, const Limits& limits, std::stop_token stop);

}  // namespace warpmeter::analyzer
