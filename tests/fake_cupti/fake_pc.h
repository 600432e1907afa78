// SPDX-License-Identifier: Apache-2.0
// PC sampling of the fake CUPTI, as cupti_pcsampling.h describes continuous mode: samples come with GetData
// and Disable only, as many instructions at a time as there is room for.
//
// Each launch is sampled at kPcOffsets instructions, i + 1 times at the i-th, for the stall reason i mod
// kPcReasons; one more sample of it lies in a kernel that is not the application's. Line of an instruction:
// 10 + offset / 16, of /src/kernels.cu, where the image has line information.
#pragma once

#include <cstdint>

#include "fake_calls.h"

namespace warpmeter::fake {

inline constexpr std::uint32_t kPcOffsets = 4, kPcReasons = 3;
inline constexpr std::uint32_t kPcPerLaunch = 1 + 2 + 3 + 4;  // in instructions
// The first reason has a twin that counts i of the i + 1 again.
inline constexpr const char* kPcTwinName = "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued";
inline constexpr std::uint32_t kPcDefaultPeriod = 12;
inline constexpr const char* kPcReasonNames[kPcReasons] = {"smsp__pcsamp_warps_issue_stalled_long_scoreboard",
                                                           "smsp__pcsamp_warps_issue_stalled_wait",
                                                           "smsp__pcsamp_warps_issue_stalled_barrier"};

void sampleLaunch(const Call& call);
// The image's module is gone: samples of it that nobody fetched have no name any more.
void samplesLoseTheirCode(const void* image, std::uint64_t bytes);
void addPcState(State& state);

}  // namespace warpmeter::fake
