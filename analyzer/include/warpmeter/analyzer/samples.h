// SPDX-License-Identifier: Apache-2.0
// Counter data of a ProfileView: sampled series, one per GPU and set of metrics, values of single launches, and
// samples of instructions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpmeter/analyzer/lanes.h"
#include "warpmeter/profile/ids.h"

namespace warpmeter::analyzer {

// Samples of one set on one GPU, sorted by start, not overlapping; between bursts there are holes. Times are
// those of the file: no clock offset is taken out. 12 + 4 bytes per metric a sample.
struct SampleSeries : Spans {
  std::uint32_t gpu = kNone, source = 0;  // ProfileView::gpus(), sources()
  std::int64_t setId = 0;                 // of the file
  std::string chip;
  std::vector<std::string> metrics;  // CUPTI's names
  std::vector<Column<float>>
      values;  // [metric][sample]: counted during the sample, over the whole GPU; 24 bits
};

// One value of one launch, measured in a range around it alone. The launch is the kernel of that process with
// that correlation id.
struct ViewRanged {
  std::uint32_t process = kNone;
  NameId metric = 0;  // CUPTI's name
  std::int64_t correlation = 0, configuration = 0;
  double value = 0;
};

// Samples of one instruction for one stall reason, summed over the run. function: the mangled name, as
// KernelFunction::key where it is a kernel.
struct ViewPc {
  std::uint32_t process = kNone;
  NameId function = 0, reason = 0;  // reason: CUPTI's name
  NameId file = 0;                  // 0 = no line information
  std::int64_t pcOffset = 0, samples = 0, line = kNull;
};

}  // namespace warpmeter::analyzer
