// SPDX-License-Identifier: Apache-2.0
// What a driver API callback is about, and what exact mode has to know of a launch.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <span>

namespace warpmeter::counters {

enum class CallKind : std::uint8_t { none, launch, otherWork, beginCapture, endCapture };
CallKind callKindOf(CUpti_CallbackId driverCall) noexcept;

// Driver calls that exact mode listens to. `launches` are switched off when nothing is left to do; `captures`
// stay on.
std::span<const CUpti_CallbackId> launchCalls() noexcept;  // launches, and work that disturbs an open range
std::span<const CUpti_CallbackId> captureCalls() noexcept;

struct Launch {
  std::uint64_t key = 0;  // hash of context, function, grid, block, dynamic shared memory; 0 = cannot be told
  bool cooperative = false;
};
Launch readLaunch(CUpti_CallbackId driverCall, const CUpti_CallbackData& call) noexcept;

// Kernels that talk to other GPUs: whoever holds one of them up holds them all up.
bool isCommunication(const char* symbolName) noexcept;

// A capture is over after this result of cuStreamEndCapture(); otherwise it may still go on.
bool endsCapture(CUresult result) noexcept;

}  // namespace warpmeter::counters
