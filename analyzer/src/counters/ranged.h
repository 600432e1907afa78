// SPDX-License-Identifier: Apache-2.0
// Values measured launch by launch -> metrics of distinct kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "warpmeter/analyzer/counters.h"

namespace warpmeter::analyzer {

struct RangedMetrics {
  std::vector<KernelCounters> kernels;  // by distinct kernel; missing(notRecorded) where there is none
  std::vector<char> has;                // by distinct kernel: it has ranged launches
  std::int64_t launches = 0;            // with values
};

RangedMetrics rangedMetricsOf(const ProfileView& view);

}  // namespace warpmeter::analyzer
