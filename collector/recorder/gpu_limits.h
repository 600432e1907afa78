// SPDX-License-Identifier: Apache-2.0
// Limits of a GPU that occupancy needs and CUPTI's DEVICE record lacks.
#pragma once

#include <string>
#include <vector>

#include "warpmeter/profile/info.h"

namespace warpmeter::recorder {

// Fills shared memory opt-in, reserved shared memory per block and the chip's name by compute capability where they
// are NULL, and sets limitSource to "table" if a limit was filled. Source of the numbers: cuda_occupancy.h 13.0.
void fillFromTable(GpuInfo& gpu);

// Takes over what the driver said about the same GPU (equal UUID); limitSource becomes "driver".
void overlay(GpuInfo& gpu, const GpuInfo& fromDriver);

}  // namespace warpmeter::recorder
