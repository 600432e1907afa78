// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace warpmeter::counters {

// Whether an image of GPU code (ELF) holds line numbers, as nvcc -lineinfo or -G leaves them. Reads section
// headers and their names only, nothing outside `bytes`; false for whatever is no such image.
bool hasLineInfo(const void* image, std::uint64_t bytes) noexcept;

}  // namespace warpmeter::counters
