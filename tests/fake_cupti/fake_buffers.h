// SPDX-License-Identifier: Apache-2.0
// Activity buffers as CUPTI 13 keeps them: one per thread, space reserved when a call begins and filled when it or its
// GPU work ends, so that an unfinished record is a hole of zeros.
#pragma once

#include <cupti.h>

#include <cstdint>
#include <functional>

namespace warpmeter::fake {

struct Settings {                     // environment, see README.md
  std::uint32_t version = CUPTI_API_VERSION;
  const char* failures = "";          // FAKE_CUPTI_FAIL
  const char* holder = "";            // FAKE_CUPTI_HOLDER
};
const Settings& settings();

// Length of a record of this kind in the pretended version; 0 = unknown kind.
std::size_t recordBytes(std::uint32_t kind);

void setBufferFunctions(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);

// A place for a record of `kind` in the calling thread's buffer, still zero; nullptr = dropped (counted).
// `fill` runs when the record is due (readyNs of CLOCK_REALTIME, 0 = when finish() is called); its second argument is
// false when a forced flush came first.
struct Reservation;
using Fill = std::function<void(void* record, bool finished)>;
Reservation* reserve(std::uint32_t kind, std::int64_t readyNs, Fill fill);
void finish(Reservation* reservation);  // nullptr allowed

void flushAll(bool forced);
std::uint64_t takeDropped();

struct BufferCounts {
  std::uint64_t written, dropped, requested, refused, completed, dirty;
};
BufferCounts bufferCounts();
void expectZeroedBuffers();

std::int64_t nowNs();

}  // namespace warpmeter::fake
