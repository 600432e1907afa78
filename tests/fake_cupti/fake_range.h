// SPDX-License-Identifier: Apache-2.0
// The Range Profiler of the fake CUPTI. A range's value of metric m is gridX of the launch in it times 1000,
// plus m; a range with another number of launches than one has -1 - that number. Any of its calls during a
// stream capture invalidates the capture and returns 999, as the real one was seen to do with PushRange.
#pragma once

#include <cupti.h>

#include "fake_calls.h"

namespace warpmeter::fake {

CUptiResult scripted(const char* function, long argument = -1);
#define FAIL_IF_SCRIPTED(...)                                                    \
  if (const CUptiResult scriptedResult = warpmeter::fake::scripted(__VA_ARGS__); \
      scriptedResult != CUPTI_SUCCESS)                                           \
  return scriptedResult

bool launchInRange(const Call& call);  // false: no range is open
void addRangeState(State& state);

}  // namespace warpmeter::fake
