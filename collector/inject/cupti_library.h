// SPDX-License-Identifier: Apache-2.0
// CUPTI, found at run time and never linked: a table of exactly the functions in use, typed by the toolkit's headers
// so that a changed declaration fails to compile.
#pragma once

#include <cupti.h>

#include <cstdint>

namespace warpmeter::inject {

// name, and whether nothing can be recorded without it.
#define WARPMETER_CUPTI_FUNCTIONS(X)            \
  X(cuptiGetVersion, true)                      \
  X(cuptiGetTimestamp, true)                    \
  X(cuptiSubscribe, true)                       \
  X(cuptiSubscribe_v2, false)                   \
  X(cuptiUnsubscribe, true)                     \
  X(cuptiEnableCallback, true)                  \
  X(cuptiEnableDomain, true)                    \
  X(cuptiGetCallbackName, false)                \
  X(cuptiGetResultString, false)                \
  X(cuptiGetContextId, false)                   \
  X(cuptiSetThreadIdType, false)                \
  X(cuptiActivityEnable, true)                  \
  X(cuptiActivityDisable, true)                 \
  X(cuptiActivitySetAttribute, false)           \
  X(cuptiActivityRegisterCallbacks, true)       \
  X(cuptiActivityFlushAll, true)                \
  X(cuptiActivityGetNextRecord, true)           \
  X(cuptiActivityGetNumDroppedRecords, false)   \
  X(cuptiActivityEnableLatencyTimestamps, false) \
  X(cuptiActivityEnableLaunchAttributes, false) \
  X(cuptiActivityEnableAllSyncRecords, false)   \
  X(cuptiActivityEnableRuntimeApi, false)       \
  X(cuptiActivityEnableDriverApi, false)

struct CuptiFunctions {
#define WARPMETER_DECLARE(name, required) decltype(&::name) name = nullptr;
  WARPMETER_CUPTI_FUNCTIONS(WARPMETER_DECLARE)
#undef WARPMETER_DECLARE
};

// CUPTI 12.4 numbers its API 22; from 13.0 on the number reads xxyyzz.
inline constexpr std::uint32_t kOldestCupti = 22;
inline constexpr std::uint32_t kRefusedCupti = 130000;        // 13.0 GA: loses records, deadlocks, crashes in FlushAll
inline constexpr std::uint32_t kNullBufferCupti = 28;         // from here on a request may be answered with "none"
inline constexpr std::uint32_t kLatencySafeCupti = 130401;    // latency timestamps may deadlock before

struct CuptiLibrary {
  CuptiFunctions functions;
  std::uint32_t version = 0;   // 0 = no CUPTI found
  char path[512] = {};
  char problem[256] = {};      // why it cannot be used; empty = usable
};

// Fills `library`; true when it is usable. If `explicitPath` is not empty, that one and no other is tried.
bool loadCupti(CuptiLibrary& library, const char* explicitPath) noexcept;

}  // namespace warpmeter::inject
