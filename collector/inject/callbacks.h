// SPDX-License-Identifier: Apache-2.0
// What CUPTI calls. Application threads or CUPTI's own; nothing here waits, allocates, locks or throws.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace warpmeter::inject {

void CUPTIAPI bufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* maxNumRecords) noexcept;
void CUPTIAPI bufferCompleted(CUcontext context, std::uint32_t streamId, std::uint8_t* buffer, std::size_t size,
                              std::size_t validSize) noexcept;
void CUPTIAPI onCallback(void* userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept;

// Reads (and by that resets) CUPTI's drop counter into the header.
void readDropCounter() noexcept;

}  // namespace warpmeter::inject
