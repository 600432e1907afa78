// SPDX-License-Identifier: Apache-2.0
// A guest without CUDA: shared memory as the injected library makes it, filled by hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "warpmeter/wire/layout.h"
#include "warpmeter/wire/records.h"
#include "warpmeter/wire/strings.h"

namespace warpmeter::recorder {

class GuestSimulator {
 public:
  explicit GuestSimulator(std::uint64_t bytes = 64 * wire::kMiB);
  ~GuestSimulator();
  GuestSimulator(const GuestSimulator&) = delete;
  GuestSimulator& operator=(const GuestSimulator&) = delete;

  void* base() const { return base_; }
  std::uint64_t bytes() const { return bytes_; }
  int memfd() const { return memfd_; }
  wire::Header& header() const { return *wire::headerOf(base_); }
  wire::Slot& slot(std::uint32_t index) const { return wire::slotsOf(base_)[index]; }
  std::byte* bytesOf(std::uint32_t index) const { return static_cast<std::byte*>(base_) + slot(index).offset; }

  std::uint64_t name(std::string_view text, wire::StringKind kind = wire::StringKind::name, std::uint64_t key = 0);
  // The first free slot of the class, lent to tid; -1: none.
  std::int64_t lend(int classIndex, wire::SlotSource source, std::uint32_t tid);
  void complete(std::uint32_t slot, std::uint64_t validBytes) { wire::completeSlot(base_, slot, validBytes); }
  // Appends a record to an own slot as the library does: readable at once.
  void appendOwn(std::uint32_t slot, const void* record, std::size_t size);

  // Connects to a recorder and hands the memory over; false: nobody listens.
  bool sayHello(const std::string& socketPath, const unsigned char (&run)[16]);

  // Sizes of CUPTI 13.0's records, or those of an older version.
  void setRecordSizes(bool old = false);

 private:
  void* base_ = nullptr;
  std::uint64_t bytes_ = 0;
  int memfd_ = -1;
};

}  // namespace warpmeter::recorder
