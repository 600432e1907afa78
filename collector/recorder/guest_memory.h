// SPDX-License-Identifier: Apache-2.0
// The shared memory of one guest, as the recorder sees it: every length and offset was checked once when it was
// attached and is kept here; the shared copies are not looked at again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "warpmeter/profile/result.h"
#include "warpmeter/wire/exact.h"
#include "warpmeter/wire/layout.h"
#include "warpmeter/wire/strings.h"

namespace warpmeter::recorder {

struct SlotPlace {
  std::uint64_t offset = 0, bytes = 0;
};

// The counters of the header at one moment.
struct GuestCounters {
  std::uint64_t poolEmpty = 0, droppedByCupti = 0, namesLost = 0, ownRecordsLost = 0, faults = 0, invalidRecords = 0;
  std::uint64_t requestNs = 0, requestCount = 0, walkNs = 0, walkRecords = 0, threadCpuNs = 0, flushCount = 0,
                flushNs = 0, callbackNs = 0, callbackCount = 0;
  std::uint32_t dropCounterState = 0;
};

class GuestMemory {
 public:
  // Takes over fd (closed in any case). Errors: foreign, with the reason.
  static Result<std::shared_ptr<GuestMemory>> attach(int fd);
  // For tests and the benchmark: memory of this process, which must outlive the object.
  static Result<std::shared_ptr<GuestMemory>> view(void* base, std::uint64_t bytes);
  GuestMemory(const GuestMemory&) = delete;
  GuestMemory& operator=(const GuestMemory&) = delete;
  ~GuestMemory();

  wire::Header& header() const { return *wire::headerOf(base_); }
  std::uint32_t slotCount() const { return static_cast<std::uint32_t>(places_.size()); }
  const SlotPlace& place(std::uint32_t slot) const { return places_[slot]; }
  wire::Slot& slot(std::uint32_t index) const {
    return reinterpret_cast<wire::Slot*>(static_cast<std::byte*>(base_) + slotTableOffset_)[index];
  }
  const std::byte* bytesOf(std::uint32_t slot) const {
    return static_cast<const std::byte*>(base_) + places_[slot].offset;
  }
  // The guest's word for a length, cut to the slot and to whole records' alignment.
  std::uint64_t validBytes(std::uint32_t slot) const;
  std::int64_t takeCompleted() const;  // as wire::takeCompleted

  // Zeroes what the guest may have written and hands the slot back.
  void giveBack(std::uint32_t slot, std::uint64_t usedBytes) const;
  void ring() const;                   // raises recorderDoorbell and wakes waiters
  void setAllowedBytes(std::uint64_t bytes) const;
  void setCommitted() const;

  // wire::kKindCount sizes, 0 = unknown. Taken at the first call: ask when the first CUPTI buffer is there, not before.
  const std::uint16_t* recordSizes() const;
  std::uint32_t cuptiVersion() const { return header().cuptiVersion; }
  std::int64_t pidInGuest() const { return pidInGuest_; }

  GuestCounters counters() const;
  wire::GuestStatus status() const;
  wire::GuestStatus problem() const;   // blocked, refused, disabled; `starting` when there was none
  std::string statusText() const;      // copied, cut at the field's end
  std::string cuptiPath() const;
  std::optional<int> exitCode() const;

  // Exact mode's area; nullptr where the guest had no room for one.
  wire::ExactArea* exactArea() const;

  // A text by reference; nullopt: no such entry, or its writer died in the middle.
  std::optional<std::string> text(std::uint64_t reference) const;

  struct Announced {
    wire::StringKind kind;
    std::uint64_t key, reference;
  };
  // Entries appended since `cursor` (0 at first), which is advanced. Stops at an entry that is not finished yet,
  // unless dead says that it never will be.
  std::vector<Announced> announcedSince(std::uint64_t& cursor, bool dead) const;

 private:
  GuestMemory() = default;
  Result<void> check();

  void* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  bool mapped_ = false;
  std::uint64_t slotTableOffset_ = 0, stringsOffset_ = 0, stringsBytes_ = 0, exactOffset_ = 0;
  wire::Plan plan_;
  std::vector<SlotPlace> places_;
  mutable std::once_flag sizesTaken_;
  mutable std::vector<std::uint16_t> recordBytes_;
  std::int64_t pidInGuest_ = 0;
};

}  // namespace warpmeter::recorder
