// SPDX-License-Identifier: Apache-2.0
// The types that NVTX and its tools agree on, from the toolkit's headers and without NVTX's own implementation.
#pragma once

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
