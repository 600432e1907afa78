// SPDX-License-Identifier: Apache-2.0
// PC sampling from guest to recorder: records in slots of their own (records.h has the rules), nothing
// shared.
//
// The guest reads what CUPTI collected several times a second and sends it on as it is: differences since the
// last reading, so the order of batches means nothing and a lost one costs its own samples only. Images of
// code with line information come once each, in pieces that fit into slots.
#pragma once

#include <cstdint>
#include <string_view>

#include "warpmeter/wire/records.h"

namespace warpmeter::wire {

inline constexpr std::uint32_t kPcChipBytes = 32;
// Of Options: 5 to 31, or kPcAutoPeriod: kPcUsualPeriod where a period may be set, else CUPTI's own. CUPTI's
// on an H200 is 11, at which its buffers are full within 0.2 s; at 18 each SM gave one sample a period and
// nothing was lost.
inline constexpr std::uint32_t kPcAutoPeriod = 1, kPcUsualPeriod = 18;
inline constexpr std::uint32_t kPcLeastPeriod = 5, kPcMostPeriod = 31;

// CUPTI counts each reason twice: "..._long_scoreboard" is all samples of warps that waited so, and
// "..._long_scoreboard_not_issued" those among them at which their scheduler issued nothing. Sums of samples
// leave the second out.
constexpr bool countsAgain(std::string_view reason) { return reason.ends_with("_not_issued"); }

// Samples of one instruction for one stall reason.
struct PcEntry {
  std::uint64_t cubinCrc;  // of the image that the function is in
  std::uint64_t function;  // string reference: mangled name
  std::uint64_t pcOffset;  // bytes from the function's start
  std::uint32_t reason;    // string reference without kStringBit: CUPTI's name
  std::uint32_t samples;
};
static_assert(sizeof(PcEntry) == 32);

enum class PcState : std::uint32_t {
  sampling = 1,
  ended = 2,   // as it should: the context or the process ends
  failed = 3,  // for good on this GPU: reason, text, error say why
};

// What one GPU's session collected since the last such record of it. Entries follow.
struct PcBatchRecord {
  OwnHeader header;        // kind pcBatch; t = when it was read
  std::uint32_t deviceId;  // CUDA's ordinal
  std::uint32_t state;     // PcState
  std::uint32_t entries;
  std::uint32_t periodLog2;  // a sample every 2^n cycles; 0 = not known
  char chip[kPcChipBytes];   // empty: not known
  // Since the last record; `samples` is all that CUPTI counted, entries (each once) and the next two
  // included.
  std::uint64_t samples, otherKernels, dropped;
  std::uint64_t lost;        // samples that found no slot
  std::uint32_t bufferFull;  // times that the hardware's buffer was full: what it held is lost, uncounted
  std::uint32_t refusedContexts;           // further contexts of the GPU, not sampled
  std::uint32_t imagesLost;                // code with line information that found no slot, or is too large
  std::int32_t error;                      // CUPTI's result, 0 = none
  std::uint64_t setupNs, flushNs, readNs;  // on the application's threads: the first two; on ours: readNs
  std::uint32_t setups, flushes, reads, names;  // names: pointers to names that CUPTI had not given before
  char reason[32];                              // id of the closed list: no_permission, counters_busy, ...
  char text[256];                               // "cuptiPCSamplingEnable failed: ..."
};
static_assert(sizeof(PcBatchRecord) % 8 == 0);

// A piece of an image of code.
struct CubinRecord {
  OwnHeader header;  // kind cubin
  std::uint64_t crc;
  std::uint64_t totalBytes, offset, bytes;  // of the image; of this piece, which follows
};
static_assert(sizeof(CubinRecord) % 8 == 0);
inline constexpr std::uint64_t kMaxCubinBytes = std::uint64_t{64} << 20;

// `warpmeter-sampler --source-lines`: requests on standard input, a reply to each on standard output.
inline constexpr std::uint32_t kLineRequestMagic = 0x514c6d57,
                               kLineReplyMagic = 0x504c6d57;  // "WmLQ", "WmLP"
struct LineQuery {
  std::uint64_t pcOffset;
  std::uint32_t function;  // place of its name among the request's names
  std::uint32_t reserved;
};
struct LineRequest {  // then names (each ended by a zero), queries, the image
  std::uint32_t magic, queries;
  std::uint64_t namesBytes, imageBytes;
  std::uint64_t tag;  // comes back
};
struct LineAnswer {
  std::uint32_t line;  // 0 = not known
  std::uint32_t file;  // place in the reply's texts
};
struct LineReply {  // then answers in the order of the queries, and texts (each ended by a zero) follow
  std::uint32_t magic, answers;
  std::uint64_t textBytes;
  std::uint64_t tag;
};
inline constexpr std::uint32_t kMaxLineQueries = 1u << 22;

}  // namespace warpmeter::wire
