// SPDX-License-Identifier: Apache-2.0
// What the counter sampler (libexec/warpmeter-sampler) says to the recorder on its standard output, and what it is
// told on its standard input. Both ends run on one machine and are built together: plain structs, host byte order.
//
// Recorder -> sampler, lines of text:
//   gpu UUID              sample this GPU (32 hexadecimal digits with dashes). A machine's only GPU needs no asking.
//   kernel MEDIAN_NS      what the program is made of lately: below 20 000 the bursts get shorter intervals
//   pause UUID / resume UUID   the lease: while paused the sampler's session on that GPU is closed
//   end (or end of file)  stop, send what is left, exit
// The sampler ends by itself after `unavailable` for all GPUs. Wherever it ends, the counters are free.
// Sampler -> recorder: SamplerMessage, then `bytes` bytes of payload. Times are those of CUPTI: CLOCK_REALTIME in ns.
#pragma once

#include <cstdint>

namespace warpmeter::wire {

inline constexpr std::uint32_t kSamplerMagic = 0x50536d57;  // "WmSP"
inline constexpr std::uint64_t kSamplerPayloadMax = std::uint64_t{64} << 20;

enum class SamplerKind : std::uint32_t {
  gpu = 1,          // a GPU is being sampled, or was asked for and cannot be (`unavailable` follows); payload: uuid, chip
                    // (may be empty), each ended by a zero. `gpu` = its number from here on
  set = 2,          // a metric set; `set` = its number (per GPU); payload: metric names, each ended by a zero
  batch = 3,        // samples of one set; payload: packed as in warpmeter/profile/sample_pack.h
  hole = 4,         // nothing was measured between fromNs and toNs although it should have been; payload: why, text
  unavailable = 5,  // this GPU cannot be sampled (gpu = 0xffffffff: none can); payload: reason id, text for people,
                    // each ended by a zero. Reason ids: warpmeter/analyzer/names.h (no_permission, counters_busy, ...)
  cost = 6,         // fromNs = CPU time of the sampler so far
  paused = 7,       // answer to pause: the counters of `gpu` are free
};

struct SamplerMessage {
  std::uint32_t magic;       // kSamplerMagic
  SamplerKind kind;
  std::uint32_t gpu, set;
  std::int64_t fromNs, toNs;       // batch: start of the first sample, end of the last
  std::uint32_t samples, metrics;  // batch: counts; set: metrics
  std::uint32_t intervalNs;        // batch: what was asked of the GPU
  std::uint32_t reserved;
  std::uint64_t bytes;             // of payload, at most kSamplerPayloadMax
};
static_assert(sizeof(SamplerMessage) == 56);

}  // namespace warpmeter::wire
