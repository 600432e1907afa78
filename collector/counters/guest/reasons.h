// SPDX-License-Identifier: Apache-2.0
// Why there are no counters: CUPTI's result as an id of the closed list (warpmeter/analyzer/names.h) and as a
// line.
#pragma once

#include <cupti.h>

#include <cstddef>

namespace warpmeter::counters {

struct StepFailure {
  const char* step = nullptr;  // nullptr = none
  CUptiResult result = CUPTI_SUCCESS;
};

const char* reasonOf(CUptiResult result) noexcept;

// "cuptiRangeProfilerStart failed: ... (CUPTI error 35)". resultString may be nullptr.
void describe(const StepFailure& failure, decltype(&::cuptiGetResultString) resultString, char* text,
              std::size_t bytes) noexcept;

}  // namespace warpmeter::counters
