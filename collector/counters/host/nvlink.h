// SPDX-License-Identifier: Apache-2.0
// Whether a GPU has an NVLink that is up. Asked of the driver's management library (NVML), opened at run
// time.
#pragma once

#include <string>

namespace warpmeter::sampler {

// False only when NVML says so of every link; true when it cannot be asked. uuid: 32 hexadecimal digits with
// dashes.
bool mayHaveNvlink(const std::string& uuid);

}  // namespace warpmeter::sampler
