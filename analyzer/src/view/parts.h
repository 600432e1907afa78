// SPDX-License-Identifier: Apache-2.0
// What one task makes of one range of rowids: rows by lane, with ids that are still those of the file.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "warpmeter/analyzer/lanes.h"
#include "warpmeter/profile/rows.h"

namespace warpmeter::analyzer {

// A session cannot last longer (36 years), and sums of this many ns do not overflow.
constexpr std::int64_t kLatestNs = std::int64_t{1} << 60;

// A few integers as a key. kNull is a value like any other.
template <std::size_t N>
struct Key {
  std::array<std::int64_t, N> v{};
  friend bool operator==(const Key&, const Key&) = default;
};
template <std::size_t N>
struct KeyHash {
  std::size_t operator()(const Key<N>& key) const {
    std::uint64_t h = 0x9e3779b97f4a7c15;
    for (const std::int64_t x : key.v) {
      h ^= static_cast<std::uint64_t>(x);
      h *= 0xff51afd7ed558ccd;
      h ^= h >> 32;
    }
    return h;
  }
};

using StreamKey = Key<5>;   // globalPid, deviceId, contextId, greenContextId, streamId
using ThreadKey = Key<2>;   // globalTid, high part of the correlation ids (0 for NVTX)
using ConfigKey = Key<22>;  // see configKey() in read_parts.cpp

struct RawSpan {
  std::int64_t start = 0, end = 0;
  std::uint32_t rowid = 0;
};
struct RawKernel : RawSpan {
  std::uint32_t config = 0;
  std::int64_t correlation = 0, graphNode = 0;
};
struct RawCopy : RawSpan {
  std::int64_t bytes = 0, correlation = 0;
  std::uint8_t kind = 0, source = 0, destination = 0;
};
struct RawApi : RawSpan {
  NameId name = 0;
  std::uint32_t correlationLow = 0;
  std::uint8_t flags = 0;
};
struct RawNvtx : RawSpan {  // end = kNull: never ended
  NameId text = 0;
  std::uint32_t color = 0;
  std::int64_t domain = 0;  // of the file; an index once it is resolved
  std::uint8_t kind = 0;
};

template <class K, class Raw>
struct LaneRows {
  std::unordered_map<K, std::uint32_t, KeyHash<std::tuple_size_v<decltype(K::v)>>> index;
  std::vector<K> keys;
  std::vector<std::vector<Raw>> rows;
  std::vector<Raw>& of(const K& key) {
    if (!keys.empty() && keys[last] == key) return rows[last];
    const auto [it, fresh] = index.try_emplace(key, static_cast<std::uint32_t>(keys.size()));
    if (fresh) {
      keys.push_back(key);
      rows.emplace_back();
    }
    last = it->second;
    return rows[last];
  }
  std::uint32_t last = 0;
};

struct NvtxDomain {
  std::int64_t globalPid = 0, domainId = 0;
  NameId name = 0;
};

struct Part {
  std::uint32_t source = 0;
  std::int64_t minStart = INT64_MAX, maxEnd = INT64_MIN;
  LaneRows<StreamKey, RawKernel> kernels;
  LaneRows<StreamKey, RawCopy> copies;
  LaneRows<ThreadKey, RawApi> api;
  LaneRows<ThreadKey, RawNvtx> nvtx;
  std::vector<ConfigKey> configs;  // RawKernel::config is an index into these
  std::vector<NvtxDomain> domains;
  struct Untimed {
    std::uint32_t config = 0;
    std::int64_t globalPid = 0, correlation = 0, streamId = 0, rowid = 0;
  };
  std::vector<Untimed> untimed;
  std::int64_t implausible = 0;  // rows left out: no time can be what theirs say
};

}  // namespace warpmeter::analyzer
