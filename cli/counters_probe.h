// SPDX-License-Identifier: Apache-2.0
// Whether counters can be sampled here, asked of the sampler itself (libexec/warpmeter-sampler --probe).
#pragma once

#include <string>
#include <vector>

#include "cli/doctor.h"
#include "cli/installation.h"

namespace warpmeter::cli {

// One line of the sampler's answer.
struct ProbedCounters {
  std::string uuid, chip;
  bool available = false;
  std::string reason;  // id of analyzer/names.h when not available
  std::string text;    // for people
  int sets = 0;        // sets of metrics that rotate
};

struct CountersProbe {
  std::vector<ProbedCounters> gpus;
  std::string problem;  // why there is no answer; "" when there is one
};

// Never longer than 30 s.
CountersProbe probeCounters(const Installation& where);

// One row, or one for each group of GPUs that answer alike. All ok = counters can be recorded.
std::vector<Row> countersRows(const CountersProbe& probe);

}  // namespace warpmeter::cli
