// SPDX-License-Identifier: Apache-2.0
// Strong ids and the packing of process and thread ids that nsys uses.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace warpmeter {

// NULL in an integer column. No real time, size or id has this value.
inline constexpr std::int64_t kNull = std::numeric_limits<std::int64_t>::min();

constexpr bool isNull(std::int64_t v) { return v == kNull; }

// An integer that belongs to one kind of thing only. Tag is never defined.
template <class Tag, class Rep>
struct Id {
  Rep value{};
  constexpr Id() = default;
  constexpr explicit Id(Rep v) : value(v) {}
  friend constexpr auto operator<=>(Id, Id) = default;
};

using StringId = Id<struct StringTag, std::int64_t>;    // StringIds.id in a file
using GlobalPid = Id<struct GlobalPidTag, std::int64_t>;
using GlobalTid = Id<struct GlobalTidTag, std::int64_t>;

// hwId << 56 | vmId << 48 | pid << 24 | tid, with hwId 0 and vmId 1 (what nsys writes on one host).
inline constexpr std::int64_t kVmId = std::int64_t{1} << 48;

constexpr GlobalPid makeGlobalPid(std::int64_t pid) { return GlobalPid{kVmId | (pid & 0xffffff) << 24}; }
constexpr GlobalTid makeGlobalTid(std::int64_t pid, std::int64_t tid) {
  return GlobalTid{makeGlobalPid(pid).value | (tid & 0xffffff)};
}
constexpr std::int64_t pidOf(GlobalPid g) { return (g.value >> 24) & 0xffffff; }
constexpr std::int64_t pidOf(GlobalTid g) { return (g.value >> 24) & 0xffffff; }
constexpr std::int64_t tidOf(GlobalTid g) { return g.value & 0xffffff; }
constexpr GlobalPid processOf(GlobalTid g) { return GlobalPid{g.value & ~std::int64_t{0xffffff}}; }

// File correlation id = process index << 32 | CUPTI's id (docs/format.md). Process index < 2^21.
constexpr std::int64_t fileCorrelationId(std::uint32_t processIndex, std::uint32_t cuptiId) {
  return static_cast<std::int64_t>(processIndex) << 32 | cuptiId;
}

}  // namespace warpmeter
