// SPDX-License-Identifier: Apache-2.0
#include "guest_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace warpmeter::recorder {
namespace {

Error foreign(std::string message) { return {ErrorKind::foreign, std::move(message)}; }

void wakeAll(std::atomic<std::uint32_t>& word) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
}

bool inside(std::uint64_t offset, std::uint64_t bytes, std::uint64_t total) {
  return offset <= total && bytes <= total - offset;
}

std::string boundedText(const char* text, std::size_t size) { return std::string(text, strnlen(text, size)); }

}  // namespace

Result<std::shared_ptr<GuestMemory>> GuestMemory::attach(int fd) {
  struct Closer {
    int fd;
    ~Closer() { close(fd); }
  } closer{fd};
  // Without the seals the guest could shrink the file under the mapping, which would be a SIGBUS here.
  const int seals = fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW)) {
    return foreign("its memory is not sealed against shrinking");
  }
  struct stat status {};
  if (fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(wire::Header)) ||
      static_cast<std::uint64_t>(status.st_size) > wire::kPoolBytes) {
    return foreign("its memory has an impossible size");
  }
  auto memory = std::shared_ptr<GuestMemory>(new GuestMemory);
  memory->bytes_ = static_cast<std::uint64_t>(status.st_size);
  void* base = mmap(nullptr, memory->bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED) return foreign(std::string("its memory cannot be mapped: ") + std::strerror(errno));
  memory->base_ = base;
  memory->mapped_ = true;
  if (auto result = memory->check(); !result) return result.error();
  return memory;
}

Result<std::shared_ptr<GuestMemory>> GuestMemory::view(void* base, std::uint64_t bytes) {
  auto memory = std::shared_ptr<GuestMemory>(new GuestMemory);
  memory->base_ = base;
  memory->bytes_ = bytes;
  if (auto result = memory->check(); !result) return result.error();
  return memory;
}

GuestMemory::~GuestMemory() {
  if (mapped_) munmap(base_, bytes_);
}

Result<void> GuestMemory::check() {
  const wire::Header& h = header();
  if (h.magic != wire::kMagic) return foreign("its memory does not start with the magic number");
  if (h.wireVersion != wire::kWireVersion || h.headerBytes != sizeof(wire::Header)) {
    return foreign("it was built for another version of the recorder");
  }
  const std::uint32_t slotCount = h.slotCount;
  slotTableOffset_ = h.slotTableOffset;
  stringsOffset_ = h.strings.offset;
  stringsBytes_ = h.strings.bytes;
  const std::uint64_t exactBytes = h.exactBytes;
  exactOffset_ = exactBytes == wire::kExactBytes ? h.exactOffset : 0;
  plan_.totalBytes = bytes_;
  plan_.ringOffset = h.ringOffset;
  plan_.slotTableOffset = slotTableOffset_;
  plan_.slots[0] = slotCount;
  const bool aligned = slotTableOffset_ % alignof(wire::Slot) == 0 && plan_.ringOffset % 64 == 0 && stringsOffset_ % 8 == 0;
  if (h.totalBytes != bytes_ || slotCount == 0 || slotCount > wire::kMaxSlots ||
      h.ringCapacity != wire::kRingCapacity || !aligned || slotTableOffset_ < sizeof(wire::Header) ||
      !inside(slotTableOffset_, slotCount * sizeof(wire::Slot), bytes_) ||
      !inside(plan_.ringOffset, wire::kRingCapacity * sizeof(wire::RingCell), bytes_) ||
      !inside(stringsOffset_, stringsBytes_, bytes_) ||
      (exactOffset_ != 0 && (exactOffset_ % 64 != 0 || !inside(exactOffset_, exactBytes, bytes_)))) {
    return foreign("the layout of its memory is impossible");
  }
  places_.resize(slotCount);
  for (std::uint32_t i = 0; i < slotCount; ++i) {
    const wire::Slot& s = slot(i);
    places_[i] = {s.offset, s.bytes};
    const bool known = std::find(std::begin(wire::kClassBytes), std::end(wire::kClassBytes), places_[i].bytes) !=
                       std::end(wire::kClassBytes);
    if (!known || places_[i].offset % 8 != 0 || !inside(places_[i].offset, places_[i].bytes, bytes_)) {
      return foreign("the slot table of its memory is impossible");
    }
  }
  pidInGuest_ = h.pid;
  return {};
}

const std::uint16_t* GuestMemory::recordSizes() const {
  std::call_once(sizesTaken_, [this] {
    const wire::Header& h = header();
    recordBytes_.assign(h.recordBytes, h.recordBytes + wire::kKindCount);
    for (std::uint16_t& size : recordBytes_) {
      if (size < 8 || size % 8 != 0) size = 0;  // CUPTI's records are aligned to 8
    }
  });
  return recordBytes_.data();
}

wire::ExactArea* GuestMemory::exactArea() const {
  return exactOffset_ == 0 ? nullptr
                           : reinterpret_cast<wire::ExactArea*>(static_cast<std::byte*>(base_) + exactOffset_);
}

std::uint64_t GuestMemory::validBytes(std::uint32_t index) const {
  return std::min(slot(index).validBytes.load(std::memory_order_acquire), places_[index].bytes) / 8 * 8;
}

std::int64_t GuestMemory::takeCompleted() const { return wire::takeCompleted(base_, plan_); }

void GuestMemory::giveBack(std::uint32_t index, std::uint64_t usedBytes) const {
  std::memset(static_cast<std::byte*>(base_) + places_[index].offset, 0, std::min(usedBytes, places_[index].bytes));
  wire::Slot& s = slot(index);
  s.validBytes.store(0, std::memory_order_relaxed);
  s.state.store(static_cast<std::uint32_t>(wire::SlotState::free), std::memory_order_release);
}

void GuestMemory::ring() const {
  header().recorderDoorbell.fetch_add(1, std::memory_order_release);
  wakeAll(header().recorderDoorbell);
}

void GuestMemory::setAllowedBytes(std::uint64_t bytes) const {
  header().allowedBytes.store(bytes, std::memory_order_release);
  ring();
}

void GuestMemory::setCommitted() const {
  header().committed.store(1, std::memory_order_release);
  wakeAll(header().committed);
}

GuestCounters GuestMemory::counters() const {
  const wire::Header& h = header();
  const auto get = [](const auto& word) { return word.load(std::memory_order_relaxed); };
  GuestCounters c;
  c.poolEmpty = get(h.poolEmpty);
  c.droppedByCupti = get(h.droppedByCupti);
  c.namesLost = get(h.namesLost);
  c.ownRecordsLost = get(h.ownRecordsLost);
  c.faults = get(h.faults);
  c.invalidRecords = get(h.invalidRecords);
  c.requestNs = get(h.requestNs);
  c.requestCount = get(h.requestCount);
  c.walkNs = get(h.walkNs);
  c.walkRecords = get(h.walkRecords);
  c.threadCpuNs = get(h.threadCpuNs);
  c.flushCount = get(h.flushCount);
  c.flushNs = get(h.flushNs);
  c.callbackNs = get(h.callbackNs);
  c.callbackCount = get(h.callbackCount);
  c.dropCounterState = get(h.dropCounterState);
  return c;
}

wire::GuestStatus GuestMemory::status() const {
  return static_cast<wire::GuestStatus>(header().status.load(std::memory_order_acquire));
}
wire::GuestStatus GuestMemory::problem() const {
  return static_cast<wire::GuestStatus>(header().problem.load(std::memory_order_acquire));
}
std::string GuestMemory::statusText() const { return boundedText(header().statusText, sizeof(wire::Header::statusText)); }
std::string GuestMemory::cuptiPath() const { return boundedText(header().cuptiPath, sizeof(wire::Header::cuptiPath)); }
std::optional<int> GuestMemory::exitCode() const {
  if (header().exitCodeKnown.load(std::memory_order_acquire) == 0) return std::nullopt;
  return header().exitCode.load(std::memory_order_relaxed);
}

std::optional<std::string> GuestMemory::text(std::uint64_t reference) const {
  if ((reference & wire::kStringBit) == 0) return std::nullopt;
  const std::uint64_t index = reference & ~wire::kStringBit;
  if (index > stringsBytes_ / 8) return std::nullopt;
  const std::uint64_t at = index * 8;
  if (!inside(at, sizeof(wire::StringEntry), stringsBytes_)) return std::nullopt;
  const std::byte* start = static_cast<const std::byte*>(base_) + stringsOffset_ + at;
  const auto* entry = reinterpret_cast<const wire::StringEntry*>(start);
  const std::uint32_t lengthPlusOne = entry->lengthPlusOne.load(std::memory_order_acquire);
  if (lengthPlusOne == 0 || lengthPlusOne - 1 > wire::kMaxTextBytes ||
      !inside(at + sizeof(wire::StringEntry), lengthPlusOne - 1, stringsBytes_)) {
    return std::nullopt;
  }
  return std::string(reinterpret_cast<const char*>(start + sizeof(wire::StringEntry)), lengthPlusOne - 1);
}

std::vector<GuestMemory::Announced> GuestMemory::announcedSince(std::uint64_t& cursor, bool dead) const {
  std::vector<Announced> result;
  const std::uint64_t used = std::min(header().strings.used.load(std::memory_order_acquire), stringsBytes_);
  while (cursor + sizeof(wire::StringEntry) <= used) {
    const std::byte* start = static_cast<const std::byte*>(base_) + stringsOffset_ + cursor;
    const auto* entry = reinterpret_cast<const wire::StringEntry*>(start);
    const std::uint32_t lengthPlusOne = entry->lengthPlusOne.load(std::memory_order_acquire);
    if (lengthPlusOne == 0) {
      // Its length is unknown, so the next entry cannot be found but by search; a dead writer ends the table here.
      if (dead) cursor = used;
      break;
    }
    if (lengthPlusOne - 1 > wire::kMaxTextBytes) {
      cursor = used;
      break;
    }
    result.push_back({static_cast<wire::StringKind>(entry->kind), entry->key, wire::kStringBit | cursor / 8});
    cursor += (sizeof(wire::StringEntry) + lengthPlusOne + 7) / 8 * 8;
  }
  return result;
}

}  // namespace warpmeter::recorder
