// SPDX-License-Identifier: Apache-2.0
// The memory that a recorded process (the guest) shares with the recorder: one sealed, sparse memfd per process.
//
//   [ Header | Slot table | completed ring | string region | exact area | slot storage: 128 KiB, 1 MiB and 4 MiB slots ]
//
// The guest creates and seals it, maps it, hands its descriptor over once (handshake.h) and closes every descriptor;
// after that both sides talk through this memory only. CUPTI writes its activity records straight into slots.
//
// Who may write what: a Slot's `state` says who owns the slot. free -> lent (guest) -> full (guest) -> free
// (recorder, after zeroing). Everything else has one writer side, noted at the field. The recorder trusts nothing:
// it checks every offset and length against the size that it mapped and copies a record before looking at it.
// All atomics are lock-free and address-free, so they work across processes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace warpmeter::wire {

inline constexpr std::uint64_t kMagic = 0x31726574656d7057;  // "Wpmeter1", little endian
inline constexpr std::uint32_t kWireVersion = 2;

inline constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
inline constexpr std::uint64_t kPage = 4096;

// Slot classes. CUPTI 13 keeps one buffer per application thread, so threads begin with the small class and get
// larger ones as they fill them (the recorder needs no knowledge of that policy).
inline constexpr int kClassCount = 3;
inline constexpr std::uint64_t kClassBytes[kClassCount] = {128 * kKiB, 1 * kMiB, 4 * kMiB};

inline constexpr std::uint32_t kMaxSlots = 4096;
inline constexpr std::uint32_t kRingCapacity = 8192;  // > kMaxSlots, so a completed slot always finds room
static_assert((kRingCapacity & (kRingCapacity - 1)) == 0 && kRingCapacity > kMaxSlots);

enum class SlotState : std::uint32_t { free = 0, lent = 1, full = 2 };
enum class SlotSource : std::uint32_t {
  cupti = 0,  // CUPTI's records; bytes beyond validBytes may hold records once the guest is dead (salvage)
  own = 1,    // our own records (records.h); validBytes grows by release stores while lent: readable live
};

struct alignas(64) Slot {
  std::atomic<std::uint32_t> state;     // SlotState
  std::atomic<std::uint32_t> source;    // SlotSource, guest
  std::uint32_t classIndex;             // guest, at start
  std::atomic<std::uint32_t> populated; // 1 once its pages are there and zero
  std::uint64_t offset;                 // from the start of the mapping; guest, at start
  std::uint64_t bytes;                  // == kClassBytes[classIndex]
  std::atomic<std::uint64_t> validBytes;  // guest
  std::atomic<std::uint64_t> sequence;    // guest: order of completion in this process, from 1
  std::atomic<std::int64_t> lentNs;       // guest: CLOCK_REALTIME
  std::atomic<std::uint32_t> ownerTid;    // guest: thread that asked for it (source own: its only writer)
  std::uint32_t reserved;
};
static_assert(sizeof(Slot) == 64);

// A bounded multi-producer queue of slot indices (Vyukov's sequence-number scheme), guest -> recorder.
struct RingCell {
  std::atomic<std::uint32_t> sequence;
  std::uint32_t slot;
};

enum class GuestStatus : std::uint32_t {
  starting = 0,
  recording = 1,
  noDriver = 2,       // libcuda not loaded yet or cuInit never called: NVTX only
  blocked = 3,        // another CUPTI subscriber; statusText names it
  refused = 4,        // CUPTI missing, too old, 130000 ...; statusText says why
  disabled = 5,       // a fault inside our own code switched recording off; statusText says why
  exiting = 6,        // the exit handler ran; exitCode is valid if exitCodeKnown
};

struct StringRegion {                     // texts with stable ids, see strings.h
  std::uint64_t offset, bytes;            // in the mapping
  alignas(64) std::atomic<std::uint64_t> used;  // next free byte, relative to offset; guest
};

enum class ApiMode : std::uint32_t { work = 0, all = 1, none = 2 };

// CUPTI record sizes by kind, asked of the guest's own libcupti; 0 = unknown kind.
inline constexpr int kKindCount = 256;

struct Header {
  std::uint64_t magic;
  std::uint32_t wireVersion;
  std::uint32_t headerBytes;             // sizeof(Header)
  std::uint64_t totalBytes;              // size of the memfd
  std::uint32_t slotCount;
  std::uint32_t ringCapacity;
  std::uint64_t slotTableOffset, ringOffset;
  StringRegion strings;
  std::uint64_t exactOffset, exactBytes;  // exact.h; 0 = no room for it. Guest, at start

  // Identity. pid and startTicks: guest, before the handshake. All others may come later, because a process may use
  // NVTX long before CUDA: they are valid once `status` (acquire) is neither starting nor noDriver, so read them when
  // the first slot of source cupti is decoded, not when the guest says hello.
  std::int64_t pid, startTicks;          // as in /proc/self/stat, field 22
  std::int64_t injectionEnteredNs, injectionDoneNs;  // CLOCK_REALTIME; 0 = InitializeInjection not called (yet)
  std::int64_t cuptiTimestampNs, cuptiTimestampRealtimeNs;  // the same moment on both clocks
  std::uint32_t cuptiVersion;            // cuptiGetVersion(), 0 = none
  char cuptiPath[512];
  std::uint32_t nvtxAttached;            // InitializeInjectionNvtx2 was called
  std::uint16_t recordBytes[kKindCount];

  // Options as the guest understood them. apiMode: ApiMode. launchLatency: 0 off, 1 on, 2 asked for but left off,
  // because this CUPTI may deadlock with it.
  std::uint32_t flushMs, apiMode, launchLatency;

  std::atomic<std::uint32_t> status;     // GuestStatus, guest
  char statusText[256];                  // guest; valid once status says blocked, refused or disabled
  std::atomic<std::uint32_t> problem;    // blocked, refused or disabled once that happened, also when status says exiting
  std::atomic<std::uint32_t> exitCodeKnown;
  std::atomic<std::int32_t> exitCode;

  // Guest -> recorder.
  alignas(64) std::atomic<std::uint32_t> doorbell;   // futex: raised on each completed slot and at exit
  std::atomic<std::uint64_t> completedSlots;         // sequence counter
  alignas(64) std::atomic<std::uint32_t> ringHead;   // next position to fill
  alignas(64) std::atomic<std::uint32_t> ringTail;   // next position to take; recorder

  // Recorder -> guest.
  alignas(64) std::atomic<std::uint32_t> recorderDoorbell;  // futex: raised when slots were returned, limits changed
  std::atomic<std::uint64_t> allowedBytes;           // populated slots may not exceed this; recorder
  std::atomic<std::uint32_t> recorderAlive;          // 1 while attached, 2 = gone on purpose (stop recording)
  std::atomic<std::uint32_t> waitAtExit;             // 1: the guest waits <= 2 s for `committed` when it exits
  std::atomic<std::uint32_t> committed;              // futex: 1 once everything of an exiting guest is in the file

  // Counted by the guest; the recorder turns them into WM_LOSS and WM_SELF_COST rows.
  alignas(64) std::atomic<std::uint64_t> populatedBytes;
  std::atomic<std::uint64_t> poolEmpty;              // requests that found no slot
  std::atomic<std::uint64_t> droppedByCupti;         // cuptiActivityGetNumDroppedRecords, summed
  std::atomic<std::uint32_t> dropCounterState;       // 0 never read, 1 readable, 2 a read failed: count unknown
  std::atomic<std::uint64_t> namesLost;              // string region full
  std::atomic<std::uint64_t> ownRecordsLost;         // no slot for an NVTX or mark record
  std::atomic<std::uint64_t> faults;                 // exceptions or impossible states swallowed in callbacks
  std::atomic<std::uint64_t> requestNs, requestCount;      // buffer-request callback, application threads
  std::atomic<std::uint64_t> walkNs, walkRecords;          // completion walk, CUPTI's or flushing thread
  std::atomic<std::uint64_t> threadCpuNs;                  // our thread
  std::atomic<std::uint64_t> flushCount, flushNs;
  std::atomic<std::uint64_t> callbackNs, callbackCount;    // resource callbacks
  std::atomic<std::uint64_t> invalidRecords;               // walk stopped inside a completed buffer (bytes unread kept)

  // What this CUPTI refused to switch on although recording goes on: "cuptiActivityEnable(52): 21; ..."; guest, valid
  // once status says recording.
  std::atomic<std::uint32_t> degradedCount;
  char degradedText[256];
};

// Sizes that lay out a mapping of at most `limitBytes` (RLIMIT_FSIZE, RLIMIT_AS and kPoolBytes decide it).
inline constexpr std::uint64_t kPoolBytes = 8 * kGiB;
inline constexpr std::uint64_t kStringBytes = 64 * kMiB;
inline constexpr std::uint64_t kMinimumBytes = 1 * kMiB;  // below this nothing is recorded

// Offsets and counts for a mapping, computed by the guest. The recorder takes them from header and slot table and
// verifies them: totalBytes is less than the limit, so a plan for totalBytes would be another one.
struct Plan {
  std::uint64_t totalBytes = 0;          // <= limitBytes; 0 = too small
  std::uint64_t slotTableOffset = 0, ringOffset = 0, stringsOffset = 0, stringsBytes = 0, exactOffset = 0, exactBytes = 0,
                storageOffset = 0;
  std::uint32_t slots[kClassCount] = {};
  std::uint32_t slotCount() const { return slots[0] + slots[1] + slots[2]; }
};
Plan planFor(std::uint64_t limitBytes);

// Writes header, slot table, ring and offsets into fresh zero memory of plan.totalBytes.
void initialize(void* base, const Plan& plan);

inline Header* headerOf(void* base) { return static_cast<Header*>(base); }
inline Slot* slotsOf(void* base) {
  return reinterpret_cast<Slot*>(static_cast<std::byte*>(base) + headerOf(base)->slotTableOffset);
}
inline RingCell* ringOf(void* base) {
  return reinterpret_cast<RingCell*>(static_cast<std::byte*>(base) + headerOf(base)->ringOffset);
}

// Guest: marks a slot full and publishes it. Any thread; never blocks, never fails (ring > slots).
void completeSlot(void* base, std::uint32_t slotIndex, std::uint64_t validBytes);
// Recorder: next completed slot, or -1. One thread. `plan` is what the recorder verified, not the shared header.
std::int64_t takeCompleted(void* base, const Plan& plan);

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace warpmeter::wire
