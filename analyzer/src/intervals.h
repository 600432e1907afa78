// SPDX-License-Identifier: Apache-2.0
// Sets of half-open intervals in ns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace warpmeter::analyzer {

struct Interval {
  std::int64_t begin = 0, end = 0;
  std::int64_t length() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Disjoint, not touching, by time.
using IntervalSet = std::vector<Interval>;

// Sorts and joins; empty intervals vanish.
inline IntervalSet unite(std::vector<Interval> intervals) {
  std::erase_if(intervals, [](const Interval& i) { return i.end <= i.begin; });
  std::ranges::sort(intervals, {}, &Interval::begin);
  IntervalSet out;
  for (const Interval& i : intervals) {
    if (!out.empty() && i.begin <= out.back().end) {
      out.back().end = std::max(out.back().end, i.end);
    } else {
      out.push_back(i);
    }
  }
  return out;
}

inline std::int64_t lengthOf(const IntervalSet& set) {
  std::int64_t out = 0;
  for (const Interval& i : set) out += i.length();
  return out;
}

inline IntervalSet intersect(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Interval both{std::max(a[i].begin, b[j].begin), std::min(a[i].end, b[j].end)};
    if (both.begin < both.end) out.push_back(both);
    (a[i].end < b[j].end ? i : j)++;
  }
  return out;
}

inline IntervalSet subtract(const IntervalSet& a, const IntervalSet& b) {
  IntervalSet out;
  std::size_t j = 0;
  for (const Interval& whole : a) {
    std::int64_t at = whole.begin;
    while (j < b.size() && b[j].end <= at) ++j;
    for (std::size_t k = j; k < b.size() && b[k].begin < whole.end; ++k) {
      if (b[k].begin > at) out.push_back({at, b[k].begin});
      at = std::max(at, b[k].end);
    }
    if (at < whole.end) out.push_back({at, whole.end});
  }
  return out;
}

}  // namespace warpmeter::analyzer
