// SPDX-License-Identifier: Apache-2.0
// SpanIndex: level of detail of one row of spans for any front end. A picture of n spans costs
// O(pixels * log n), however many spans are visible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "warpmeter/analyzer/lanes.h"

namespace warpmeter::analyzer {

// A span that is at least about one pixel wide, to be drawn exactly. Ends may lie outside the visible range.
struct Bar {
  std::uint32_t item = 0;  // index of the span in its lane
  std::int64_t startNs = 0, endNs = 0;
};

// A pixel column with spans too short to be drawn. Columns without any are left out.
struct DensityColumn {
  std::int32_t pixel = 0;
  float busy = 0;          // 0..1: part of the column's time in which something ran (all spans)
  std::uint32_t item = 0;  // a span of the key that takes most of the column's time: exact up to 16
                           // spans in the column, above from 8 to 16 evenly spaced ones
};

struct RowPicture {
  std::vector<Bar> bars;               // by start
  std::vector<DensityColumn> columns;  // by pixel
};

// Immutable once built; const calls from any thread. 16.3 bytes a span beside the lane.
class SpanIndex {
 public:
  SpanIndex() = default;
  // items: the spans of the row, as indices into `spans`, by start; empty = all of them.
  // key: what counts as the same for DensityColumn::item (for example the function), by span index.
  SpanIndex(const Spans& spans, std::vector<std::uint32_t> items, Column<std::uint32_t> key);

  std::size_t size() const { return count_; }

  // The visible range [t0, t1) on `pixels` columns. Nothing for an empty range.
  void picture(std::int64_t t0, std::int64_t t1, int pixels, RowPicture& out) const;

  // Time in [t0, t1) in which at least one span ran.
  std::int64_t busyNs(std::int64_t t0, std::int64_t t1) const;

  // The span that covers t, or the nearest one within toleranceNs; kNone if there is none.
  std::uint32_t itemAt(std::int64_t t, std::int64_t toleranceNs) const;

 private:
  std::uint32_t itemOf(std::size_t position) const;
  std::int64_t startOf(std::size_t position) const;
  std::int64_t endOf(std::size_t position) const;
  std::size_t firstNotBefore(std::int64_t t) const;  // first position with start >= t
  std::int64_t busyUntil(std::int64_t t) const;
  void collectBars(std::size_t first, std::size_t last, std::int64_t minNs, std::vector<Bar>& out) const;
  std::uint32_t dominant(std::size_t first, std::size_t last, std::int64_t t0, std::int64_t t1) const;

  Spans spans_;
  std::vector<std::uint32_t> items_;
  Column<std::uint32_t> key_;
  std::size_t count_ = 0;
  std::vector<std::int64_t> busy_;                  // [i]: union of spans 0..i
  std::vector<std::int64_t> lastEnd_;               // [i]: largest end of spans 0..i
  std::vector<std::vector<std::int64_t>> longest_;  // per level of 64: longest span of the group
};

}  // namespace warpmeter::analyzer
