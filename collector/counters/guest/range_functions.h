// SPDX-License-Identifier: Apache-2.0
// The functions of the Range Profiler that exact mode uses, found at run time in the libcupti that records.
#pragma once

#include <cupti.h>
// These three need cupti.h before them.
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

namespace warpmeter::counters {

#define WARPMETER_RANGE_FUNCTIONS(X)              \
  X(cuptiEnableCallback)                          \
  X(cuptiGetDeviceId)                             \
  X(cuptiGetResultString)                         \
  X(cuptiDeviceGetChipName)                       \
  X(cuptiProfilerInitialize)                      \
  X(cuptiRangeProfilerEnable)                     \
  X(cuptiRangeProfilerDisable)                    \
  X(cuptiRangeProfilerGetCounterDataSize)         \
  X(cuptiRangeProfilerCounterDataImageInitialize) \
  X(cuptiRangeProfilerSetConfig)                  \
  X(cuptiRangeProfilerStart)                      \
  X(cuptiRangeProfilerStop)                       \
  X(cuptiRangeProfilerPushRange)                  \
  X(cuptiRangeProfilerPopRange)                   \
  X(cuptiRangeProfilerDecodeData)

struct RangeFunctions {
#define WARPMETER_DECLARE(name) decltype(&::name) name = nullptr;
  WARPMETER_RANGE_FUNCTIONS(WARPMETER_DECLARE)
#undef WARPMETER_DECLARE
};

// From a libcupti that is loaded already. nullptr = all found, else the name of a missing one.
const char* loadRangeFunctions(RangeFunctions& functions, const char* libraryPath) noexcept;

}  // namespace warpmeter::counters
