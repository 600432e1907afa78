// SPDX-License-Identifier: Apache-2.0
// Why a GPU cannot be sampled: CUPTI's result as one of the ids in analyzer/names.h and a line for people
// that names the remedy.
#pragma once

#include <string>
#include <string_view>

#include "pm_device.h"

namespace warpmeter::sampler {

inline constexpr std::string_view kNoPermission = "no_permission", kCountersBusy = "counters_busy",
                                  kUnsupportedChip = "unsupported_chip", kNotRecorded = "not_recorded";

struct Unavailable {
  std::string_view reason;
  std::string text;
};

// name: of the CUPTI result ("35 CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"); mps: an MPS server runs on this
// machine.
Unavailable explain(const PmStatus& status, const std::string& name, const std::string& chip, bool mps);
// pmSamplingSupported() said no.
Unavailable explainSetup(const std::string& why);
// No driver, no CUPTI.
Unavailable explainMissing(const std::string& problem);

// Another tool may let go of the counters soon.
bool isBusy(const PmStatus& status);

}  // namespace warpmeter::sampler
