// SPDX-License-Identifier: Apache-2.0
// Asks a libcupti how long its activity records are.
#pragma once

#include <cstdint>

#include "cupti_library.h"
#include "warpmeter/wire/layout.h"

namespace warpmeter::inject {

// 0 for kinds that this CUPTI does not know. Needs no driver.
void askRecordSizes(const CuptiFunctions& cupti, std::uint16_t (&recordBytes)[wire::kKindCount]) noexcept;

}  // namespace warpmeter::inject
