// SPDX-License-Identifier: Apache-2.0
// The functions of PC sampling, found at run time in the libcupti that records.
#pragma once

#include <cupti.h>
// These need cupti.h before them.
#include <cupti_pcsampling.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

namespace warpmeter::counters {

#define WARPMETER_PC_FUNCTIONS(X)             \
  X(cuptiGetDeviceId)                         \
  X(cuptiGetResultString)                     \
  X(cuptiGetCubinCrc)                         \
  X(cuptiDeviceGetChipName)                   \
  X(cuptiProfilerInitialize)                  \
  X(cuptiPCSamplingEnable)                    \
  X(cuptiPCSamplingDisable)                   \
  X(cuptiPCSamplingGetNumStallReasons)        \
  X(cuptiPCSamplingGetStallReasons)           \
  X(cuptiPCSamplingSetConfigurationAttribute) \
  X(cuptiPCSamplingGetConfigurationAttribute) \
  X(cuptiPCSamplingGetData)

struct PcFunctions {
#define WARPMETER_DECLARE(name) decltype(&::name) name = nullptr;
  WARPMETER_PC_FUNCTIONS(WARPMETER_DECLARE)
#undef WARPMETER_DECLARE
};

// From a libcupti that is loaded already. nullptr = all found, else the name of a missing one.
const char* loadPcFunctions(PcFunctions& functions, const char* libraryPath) noexcept;

}  // namespace warpmeter::counters
