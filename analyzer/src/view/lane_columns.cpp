// SPDX-License-Identifier: Apache-2.0
#include "src/view/lane_columns.h"

#include <algorithm>

namespace warpmeter::analyzer {
namespace {

template <class T>
void grow(Column<T>& column, std::vector<T> more) {
  column = column.empty() ? Column<T>(std::move(more)) : column.extended(more);
}

// One member of all rows as a column.
template <class T, class Raw, class Member>
void growBy(Column<T>& column, const std::vector<Raw>& rows, Member member) {
  std::vector<T> values;
  values.reserve(rows.size());
  for (const Raw& row : rows) values.push_back(static_cast<T>(member(row)));
  grow(column, std::move(values));
}

template <class Raw>
void growSpans(Spans& lane, const std::vector<Raw>& rows) {
  const std::size_t before = lane.size();
  std::vector<std::uint32_t> durations;
  durations.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t ns = std::max<std::int64_t>(rows[i].end - rows[i].start, 0);
    if (ns >= Spans::kOverflow) lane.overflow.emplace_back(static_cast<std::uint32_t>(before + i), ns);
    durations.push_back(ns >= Spans::kOverflow ? Spans::kOverflow : static_cast<std::uint32_t>(ns));
  }
  growBy(lane.start, rows, [](const Raw& r) { return r.start; });
  grow(lane.duration, std::move(durations));
}

// By start; what encloses comes before what it encloses.
constexpr auto kByStart = [](const RawSpan& a, const RawSpan& b) {
  if (a.start != b.start) return a.start < b.start;
  if (a.end != b.end) return a.end > b.end;
  return a.rowid < b.rowid;
};

RawSpan spanAt(const Spans& lane, std::size_t i, std::uint32_t rowid) {
  return {lane.startNs(i), lane.endNs(i), rowid};
}
RawKernel rowAt(const Kernels& l, std::size_t i) {
  return {spanAt(l, i, l.rowid[i]), l.config[i], l.correlation[i], l.graphNode[i]};
}
RawCopy rowAt(const Copies& l, std::size_t i) {
  return {spanAt(l, i, l.rowid[i]), l.bytes[i], l.correlation[i], l.kind[i], l.source[i], l.destination[i]};
}
RawApi rowAt(const ApiCalls& l, std::size_t i) {
  return {spanAt(l, i, static_cast<std::uint32_t>(i)), l.name[i], l.correlationLow[i], l.flags[i]};
}
RawNvtx rowAt(const NvtxRanges& l, std::size_t i) {
  return {spanAt(l, i, l.rowid[i]), l.text[i], l.color[i], l.domain[i], l.kind[i]};
}

// Sorts rows. When they do not all lie behind the lane's last row, the lane is emptied into them first.
template <class Lane, class Raw>
void order(Lane& lane, std::vector<Raw>& rows) {
  if (!std::is_sorted(rows.begin(), rows.end(), kByStart))
    std::stable_sort(rows.begin(), rows.end(), kByStart);
  if (rows.empty() || lane.empty() || rows.front().start > lane.start[lane.size() - 1]) return;
  std::vector<Raw> all;
  all.reserve(lane.size() + rows.size());
  for (std::size_t i = 0; i < lane.size(); ++i) all.push_back(rowAt(lane, i));
  const auto old = static_cast<std::ptrdiff_t>(all.size());
  all.insert(all.end(), rows.begin(), rows.end());
  std::inplace_merge(all.begin(), all.begin() + old, all.end(), kByStart);
  rows = std::move(all);
  lane = Lane{};
}

// Nesting depth of sorted spans. `open` holds the ends of the spans that enclose the next one.
class Nesting {
 public:
  std::uint8_t enter(std::int64_t start, std::int64_t end, std::uint8_t limit) {
    while (!open_.empty() && open_.back() <= start) open_.pop_back();
    const auto depth = static_cast<std::uint8_t>(std::min<std::size_t>(open_.size(), limit));
    open_.push_back(end);
    return depth;
  }
  std::uint8_t depthAt(std::int64_t start, std::uint8_t limit) {
    while (!open_.empty() && open_.back() <= start) open_.pop_back();
    return static_cast<std::uint8_t>(std::min<std::size_t>(open_.size(), limit));
  }

 private:
  std::vector<std::int64_t> open_;
};

// The state behind the last row of a lane: replays from its last outermost span.
template <class Lane, class DepthOf>
Nesting nestingAfter(const Lane& lane, DepthOf depthOf) {
  Nesting nesting;
  std::size_t from = lane.size();
  while (from > 0 && depthOf(--from) != 0) {
  }
  for (std::size_t i = from; i < lane.size(); ++i) nesting.enter(lane.startNs(i), lane.endNs(i), 255);
  return nesting;
}

}  // namespace

void extend(Kernels& lane, std::vector<RawKernel> rows) {
  if (rows.empty()) return;
  order(lane, rows);
  growSpans(lane, rows);
  growBy(lane.config, rows, [](const RawKernel& r) { return r.config; });
  growBy(lane.rowid, rows, [](const RawKernel& r) { return r.rowid; });
  growBy(lane.correlation, rows, [](const RawKernel& r) { return r.correlation; });
  growBy(lane.graphNode, rows, [](const RawKernel& r) { return r.graphNode; });
}

void extend(Copies& lane, std::vector<RawCopy> rows) {
  if (rows.empty()) return;
  order(lane, rows);
  growSpans(lane, rows);
  growBy(lane.bytes, rows, [](const RawCopy& r) { return r.bytes; });
  growBy(lane.kind, rows, [](const RawCopy& r) { return r.kind; });
  growBy(lane.source, rows, [](const RawCopy& r) { return r.source; });
  growBy(lane.destination, rows, [](const RawCopy& r) { return r.destination; });
  growBy(lane.rowid, rows, [](const RawCopy& r) { return r.rowid; });
  growBy(lane.correlation, rows, [](const RawCopy& r) { return r.correlation; });
}

void extend(ApiCalls& lane, std::vector<RawApi> rows) {
  if (rows.empty()) return;
  const std::int64_t high = lane.correlationHigh;
  order(lane, rows);
  lane.correlationHigh = high;
  Nesting nesting = nestingAfter(lane, [&](std::size_t i) { return lane.depth(i); });
  for (RawApi& row : rows) {
    row.flags = static_cast<std::uint8_t>((row.flags & ~ApiCalls::kDepthMask) |
                                          nesting.enter(row.start, row.end, ApiCalls::kDepthMask));
  }
  growSpans(lane, rows);
  growBy(lane.name, rows, [](const RawApi& r) { return r.name; });
  growBy(lane.correlationLow, rows, [](const RawApi& r) { return r.correlationLow; });
  growBy(lane.flags, rows, [](const RawApi& r) { return r.flags; });
}

void extend(NvtxRanges& lane, std::vector<RawNvtx> rows) {
  if (rows.empty()) return;
  order(lane, rows);
  // Only push/pop ranges nest by nature; others take the depth they meet and do not raise it.
  Nesting nesting;
  for (std::size_t i = 0; i < lane.size(); ++i) {
    if (lane.kindOf(i) == NvtxKind::pushPop) nesting.enter(lane.startNs(i), lane.endNs(i), 255);
  }
  std::vector<std::uint8_t> depths;
  depths.reserve(rows.size());
  for (const RawNvtx& row : rows) {
    const bool nests = row.kind == static_cast<std::uint8_t>(NvtxKind::pushPop);
    depths.push_back(nests ? nesting.enter(row.start, row.end, 255) : nesting.depthAt(row.start, 255));
  }
  growSpans(lane, rows);
  growBy(lane.text, rows, [](const RawNvtx& r) { return r.text; });
  growBy(lane.color, rows, [](const RawNvtx& r) { return r.color; });
  growBy(lane.domain, rows, [](const RawNvtx& r) { return r.domain; });
  growBy(lane.kind, rows, [](const RawNvtx& r) { return r.kind; });
  grow(lane.depth, std::move(depths));
  growBy(lane.rowid, rows, [](const RawNvtx& r) { return r.rowid; });
}

}  // namespace warpmeter::analyzer
