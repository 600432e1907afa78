// SPDX-License-Identifier: Apache-2.0
// What the environment asks of the guest (names: wire/handshake.h). Read once; texts point into the environment,
// so they are copied or used at once.
#pragma once

#include <cstdint>

#include "warpmeter/wire/layout.h"

namespace warpmeter::inject {

enum class LatencyChoice : std::uint8_t { off, ifSafe, force };

// Things that can be switched off one by one to measure what each costs (WARPMETER_KINDS=kernel,memcpy,...).
// The order is that of kKindNames in options.cpp.
enum class Feature : std::uint8_t {
  kernel, memcpy, memcpy2, memset, overhead, synchronization, event, context, stream, device, memory, jit,
  runtime, driver, resource, state, reset, count
};

inline constexpr std::uint32_t kDefaultFlushMs = 250;

struct Options {
  char socketPath[108] = {};        // empty = nobody wants a recording
  unsigned char run[16] = {};
  char cuptiPath[512] = {};
  std::uint32_t flushMs = kDefaultFlushMs;
  wire::ApiMode api = wire::ApiMode::work;
  LatencyChoice latency = LatencyChoice::off;
  std::uint32_t exactLaunches = 0;  // per kernel and configuration; 0 = no exact mode
  std::uint32_t pcPeriod = 0;       // 0 = no PC sampling; else wire::kPcAutoPeriod or n of a period of 2^n cycles
  std::uint32_t pcBufferMiB = 0;    // of its hardware buffer; 0 = ours
  std::uint32_t features = ~0u;     // bit per Feature
  bool wants(Feature feature) const { return (features >> static_cast<unsigned>(feature) & 1) != 0; }
};

// False when there is no usable WARPMETER_SOCKET.
bool readOptions(Options& options) noexcept;

// Parses "kernel,memcpy,..."; unknown words are ignored. Exposed for tests.
std::uint32_t parseFeatures(const char* list) noexcept;

}  // namespace warpmeter::inject
