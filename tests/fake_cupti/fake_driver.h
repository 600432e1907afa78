// SPDX-License-Identifier: Apache-2.0
// What the fake libcuda offers beside the driver API.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "fake_calls.h"

extern "C" {
// The kernel's launch as cudaLaunchKernel() does it: a runtime call with cuLaunchKernel() inside.
CUresult warpmeterFakeRuntimeLaunch(CUfunction function, unsigned gridX, unsigned blockX, CUstream stream);
// cuLaunchKernelEx() with the attribute "cooperative".
CUresult warpmeterFakeCooperativeLaunch(CUfunction function, unsigned gridX, unsigned blockX);
// Duration of the GPU work that the calling thread starts from now on.
void warpmeterFakeDuration(std::int64_t ns);
// The calling thread's last GPU work.
void warpmeterFakeLastWork(std::uint32_t* correlationId, std::int64_t* endNs);
// Counters of the fake libcupti; false = none is loaded.
bool warpmeterFakeState(warpmeter::fake::State* state);
CUresult cuProfilerStart();
CUresult cuProfilerStop();
}
