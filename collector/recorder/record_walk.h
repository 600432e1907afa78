// SPDX-License-Identifier: Apache-2.0
// Goes over a private copy of a buffer, record by record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>

#include "cupti_records.h"
#include "warpmeter/wire/layout.h"
#include "warpmeter/wire/records.h"

namespace warpmeter::recorder {

struct WalkStats {
  std::int64_t records = 0;
  std::int64_t holes = 0;        // places where no record could be read, with something readable or not zero behind
  std::int64_t holeBytes = 0;
};

// CUPTI's records. `sizes` has wire::kKindCount entries.
// completed: the guest said that all bytes are whole records; only a kind without a size or a record that ends outside
// stops the walk, which then goes on as in salvage.
// salvage: the buffer of a dead process. CUPTI reserves places and fills them later, in any order, so there are holes
// with good records behind them: bytes are skipped up to the next plausible record. Records that are only weakly
// plausible count behind a hole only when a plausible one follows them directly.
enum class WalkMode : std::uint8_t { completed, salvage };

class CuptiWalk {
 public:
  CuptiWalk(std::span<const std::byte> bytes, const std::uint16_t* sizes, const Plausibility& bounds, WalkMode mode)
      : bytes_(bytes), sizes_(sizes), bounds_(bounds), salvage_(mode == WalkMode::salvage) {}

  // The next record and its size; nullptr at the end.
  const std::byte* next(std::size_t& size) {
    while (at_ + 8 <= bytes_.size()) {
      size = sizeAt(at_);
      if (size != 0 && (!salvage_ || fits(at_, size))) {
        closeHole();
        const std::byte* record = bytes_.data() + at_;
        at_ += size;
        ++stats_.records;
        return record;
      }
      salvage_ = true;
      skip();
    }
    if (holeHasContent_) closeHole();  // a tail of zeros is unused room, not a hole
    return nullptr;
  }
  const WalkStats& stats() const { return stats_; }

 private:
  std::size_t sizeAt(std::size_t at) const {
    std::uint32_t kind = 0;
    std::memcpy(&kind, bytes_.data() + at, sizeof kind);
    const std::size_t size = kind < wire::kKindCount ? sizes_[kind] : 0;
    return size <= bytes_.size() - at ? size : 0;
  }
  bool fits(std::size_t at, std::size_t size) const {
    const Plausible p = plausible(bytes_.data() + at, size, bounds_);
    if (p != Plausible::weak || hole_ == 0) return p != Plausible::no;
    const std::size_t behind = at + size;
    if (behind + 8 > bytes_.size()) return false;
    const std::size_t nextSize = sizeAt(behind);
    return nextSize != 0 && plausible(bytes_.data() + behind, nextSize, bounds_) != Plausible::no;
  }
  void skip() {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes_.data() + at_, sizeof word);
    holeHasContent_ = holeHasContent_ || word != 0;
    hole_ += 8;
    at_ += 8;
  }
  void closeHole() {
    if (hole_ == 0) return;
    ++stats_.holes;
    stats_.holeBytes += static_cast<std::int64_t>(hole_);
    hole_ = 0;
    holeHasContent_ = false;
  }

  std::span<const std::byte> bytes_;
  const std::uint16_t* sizes_;
  Plausibility bounds_;
  bool salvage_;
  std::size_t at_ = 0, hole_ = 0;
  bool holeHasContent_ = false;
  WalkStats stats_;
};

// Our own records: calls visit(header, record bytes, size) for each; false: the rest of the buffer is unreadable.
template <class Visit>
bool walkOwnRecords(std::span<const std::byte> bytes, const Visit& visit) {
  std::size_t at = 0;
  while (at + sizeof(wire::OwnHeader) <= bytes.size()) {
    wire::OwnHeader header;
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.kind < wire::kOwnKindBase || header.bytes < sizeof header || header.bytes % 8 != 0 ||
        header.bytes > bytes.size() - at) {
      return false;
    }
    visit(header, bytes.data() + at, std::size_t{header.bytes});
    at += header.bytes;
  }
  return at == bytes.size();
}

// How many records of each kind a completed buffer holds: for loss rows about buffers that are thrown away.
std::map<std::uint32_t, std::int64_t> countKinds(std::span<const std::byte> bytes, const std::uint16_t* sizes);

}  // namespace warpmeter::recorder
