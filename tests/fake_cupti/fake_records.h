// SPDX-License-Identifier: Apache-2.0
// Filling CUPTI's activity records, cut to the length of the pretended version.
#pragma once

#include <cstdint>

#include "fake_calls.h"

namespace warpmeter::fake {

const char* runtimeName(std::uint32_t cbid);  // nullptr = no such call
const char* driverName(std::uint32_t cbid);

// When `durationNs` of work put on a stream now begins; keeps the stream's order.
std::int64_t nextFreeNs(std::uint32_t streamId, std::int64_t durationNs);

std::int64_t busyUntilNs();    // the end of all work put on streams so far

std::uint32_t threadId();  // of the caller

void fillApi(void* record, std::uint32_t kind, std::uint32_t cbid, std::int64_t start, std::int64_t end,
             std::uint32_t tid, std::uint32_t correlationId);
void fillWork(void* record, std::uint32_t kind, const Call& call, std::int64_t start, bool finished);
void fillOverhead(void* record, std::int64_t start, std::uint32_t tid, std::uint32_t correlationId);
void fillDevice(void* record);
void fillContext(void* record, std::uint32_t contextId);
void fillStream(void* record, std::uint32_t contextId, std::uint32_t streamId);

}  // namespace warpmeter::fake
