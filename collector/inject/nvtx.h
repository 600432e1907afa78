// SPDX-License-Identifier: Apache-2.0
// Our end of NVTX: functions for each module (executable or library) that uses it, writing NvtxRecords. Works without
// CUDA. Domains and registered strings are shared by all modules of the process.
#pragma once

#include <cstdint>

namespace warpmeter::inject {

using NvtxGetExportTable = const void* (*)(std::uint32_t tableId);

// Once per module. False = this process is not recorded.
bool attachNvtx(NvtxGetExportTable getExportTable) noexcept;

}  // namespace warpmeter::inject
