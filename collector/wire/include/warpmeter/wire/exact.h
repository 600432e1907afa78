// SPDX-License-Identifier: Apache-2.0
// Exact mode between guest and recorder: an area of the shared memory for what is said once, and records
// (kind rangedImage, see records.h for the rules) for what was measured.
//
// Order: the guest names its chip (state configurations) -> the recorder writes configurations behind the
// area and answers -> the guest puts ranges around launches and sends one RangedImageRecord for each session
// -> it says `quiet` when the known kernels are done, or `ended` with the reason when it had to give up.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "warpmeter/wire/records.h"

namespace warpmeter::wire {

inline constexpr std::uint64_t kExactBytes = 512 * 1024;  // area and configurations; sparse
inline constexpr std::uint32_t kMaxConfigurations = 24;
inline constexpr std::uint32_t kConfigurationsMagic = 0x46436d57;  // "WmCF"
inline constexpr std::uint32_t kChipBytes = 32;

// One set of metrics that the GPU collects in one pass. Offsets are from the start of Configurations.
struct Configuration {
  std::uint32_t imageOffset, imageBytes;  // CUPTI's config image, 8-byte aligned
  std::uint32_t namesOffset, namesBytes;  // metric names, each ended by a zero
  std::uint32_t metrics, reserved;
};

// What `warpmeter-sampler --range-configs` prints, and what lies behind ExactArea: header, then images and
// names.
struct Configurations {
  std::uint32_t magic, bytes;  // kConfigurationsMagic; everything together
  std::uint32_t count, reserved;
  char chip[kChipBytes];
  Configuration entries[kMaxConfigurations];
};

enum class ExactState : std::uint32_t {
  off = 0,             // not asked for, or no kernel was launched yet
  configurations = 1,  // `chip` is valid: the guest waits for configurations
  measuring = 2,
  quiet = 3,  // every known kernel is done (for now) and the counters are free
  ended = 4,  // for good: `reason`, `reasonText`, `error` say why
};
enum class ExactAnswer : std::uint32_t { none = 0, ready = 1, refused = 2 };

struct ExactArea {
  // Guest -> recorder.
  std::atomic<std::uint32_t> state;  // ExactState; futex of nobody, the recorder polls
  std::int32_t error;                // CUPTI's result, 0 = none; valid once ended, like the texts
  char reason[32];                   // id of the closed list: no_permission, counters_busy, ...
  char reasonText[256];              // "cuptiRangeProfilerStart: 35 ..."
  char chip[kChipBytes];             // valid from `configurations` on
  std::atomic<std::uint64_t> launchesSeen, kernels, ranges, disturbed, gaveUp, sessions, imagesLost,
      tableFull;
  std::atomic<std::uint64_t> setupNs, rangeNs, sessionNs, waitNs;  // on the application's threads

  // Recorder -> guest.
  alignas(
      64) std::atomic<std::uint32_t> answer;  // ExactAnswer, also a futex; `ready`: Configurations are valid
  std::atomic<std::uint32_t> lease;           // 1 = the counters may be used, 0 = someone else has them
  char refusal[128];                          // why, with answer refused: "REASON_ID text"
};
static_assert(sizeof(ExactArea) <= 2048);
inline constexpr std::uint64_t kConfigurationsOffset = 2048;  // from the start of the area

// A launch with a range around it. Times: CLOCK_REALTIME ns.
struct RangedLaunch {
  std::int64_t pushedNs;        // the range was open
  std::int64_t poppedNs;        // and closed again
  std::uint32_t correlationId;  // CUPTI's, of the launch
  std::uint32_t kernel;         // number of the distinct kernel in its process
  std::uint32_t flags;          // kRange...
  std::uint32_t reserved;
};
inline constexpr std::uint32_t kRangeDisturbed = 1;  // another thread launched while it was open
inline constexpr std::uint32_t kRangeFailed = 2;     // the launch failed: there is no kernel

// One session: up to kMaxRanges launches measured with one configuration. Range i of the image is
// launches[i].
inline constexpr std::uint32_t kMaxRanges = 64;
struct RangedImageRecord {
  OwnHeader header;  // kind rangedImage; t = when the session was closed
  std::uint32_t configuration, launches;
  std::uint64_t imageBytes;  // CUPTI's counter data image, behind the record
  std::uint64_t dropped;     // ranges that CUPTI says it dropped
  char chip[kChipBytes];
  RangedLaunch launch[kMaxRanges];
};
static_assert(sizeof(RangedImageRecord) % 8 == 0);

struct Header;
// nullptr where the mapping was too small for an area.
ExactArea* exactAreaOf(void* base);
inline Configurations* configurationsOf(ExactArea* area) {
  return reinterpret_cast<Configurations*>(reinterpret_cast<std::byte*>(area) + kConfigurationsOffset);
}

// `warpmeter-sampler --range-values`: requests on standard input, a reply to each on standard output.
inline constexpr std::uint32_t kRangeRequestMagic = 0x51526d57,
                               kRangeReplyMagic = 0x50526d57;  // "WmRQ", "WmRP"
struct RangeRequest {
  std::uint32_t magic, metrics, namesBytes, ranges;
  std::uint64_t imageBytes;  // names, then the image follow
  std::uint64_t tag;         // comes back
  char chip[kChipBytes];
};
struct RangeReply {  // then, without an error, ranges x metrics doubles follow
  std::uint32_t magic;
  std::int32_t error;  // CUPTI's result
  std::uint32_t metrics, ranges;
  std::uint64_t tag;
};

// Whether `bytes` bytes hold sound configurations: every offset inside, names ended, count in range.
bool soundConfigurations(const void* start, std::uint64_t bytes);

}  // namespace warpmeter::wire
