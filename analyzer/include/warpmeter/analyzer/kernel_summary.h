// SPDX-License-Identifier: Apache-2.0
// Kernels by function, distinct kernels folded under it. Shares are of the kernel time: the sum over all
// timed launches (kernels that overlap count each). Formulas: docs/metrics.md.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "warpmeter/analyzer/occupancy.h"
#include "warpmeter/analyzer/profile_view.h"
#include "warpmeter/analyzer/statistics.h"

namespace warpmeter::analyzer {

struct DistinctSummary {
  std::uint32_t distinct = 0;  // ProfileView::distinctKernels()
  DurationStats time;          // timed launches only
  std::int64_t untimed = 0;
  double sharePct = 0;
  std::optional<Occupancy> occupancy;  // theoretical; nullopt: device not known or not supported
  std::string occupancyReason;         // one line why not
};

struct FunctionSummary {
  std::uint32_t function = 0;  // ProfileView::functions()
  std::string shortName, demangledName;
  DurationStats time;
  std::int64_t untimed = 0;
  double sharePct = 0;
  bool joinedGrids = false;               // more than 512 distinct kernels: grids joined into powers of two
  std::vector<DistinctSummary> distinct;  // most time first
  std::int64_t launches() const { return time.count + untimed; }
};

struct KernelSummary {
  std::int64_t kernelTimeNs = 0;  // sum over timed launches
  std::int64_t timed = 0, untimed = 0;
  std::size_t distinctCount = 0;
  std::vector<FunctionSummary> functions;  // most time first
};

// Needs Tables::kernels. Errors: cancelled.
Result<KernelSummary> summarizeKernels(const ProfileView& view, std::stop_token stop = {});

// Theoretical occupancy of one distinct kernel. Errors: as deviceLimits and occupancyOf.
Result<Occupancy> occupancyOfDistinct(const ProfileView& view, std::uint32_t distinct);
Result<DeviceLimits> deviceOfDistinct(const ProfileView& view, std::uint32_t distinct);
KernelResources resourcesOf(const LaunchConfig& config);

}  // namespace warpmeter::analyzer
