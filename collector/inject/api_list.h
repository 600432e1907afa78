// SPDX-License-Identifier: Apache-2.0
// Which API calls are recorded: callback ids from the toolkit's headers.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace warpmeter::inject {

struct ApiCalls {
  const std::uint16_t* ids;
  std::size_t count;
  const std::uint16_t* begin() const noexcept { return ids; }
  const std::uint16_t* end() const noexcept { return ids + count; }
};

ApiCalls runtimeWork() noexcept;    // --api work
ApiCalls driverWork() noexcept;
ApiCalls runtimeAlways() noexcept;  // cudaProfilerStart and cudaProfilerStop
ApiCalls driverAlways() noexcept;
ApiCalls runtimeReset() noexcept;   // calls that destroy a context: flushed before
ApiCalls driverReset() noexcept;

}  // namespace warpmeter::inject
