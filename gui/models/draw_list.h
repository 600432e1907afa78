// SPDX-License-Identifier: Apache-2.0
// DrawList: the bars, density columns, counters and texts of the visible lanes as plain rectangles by colour.
// It is made when what is visible changes; painting then only hands the rectangles to QPainter. GUI thread
// only.
#pragma once

#include <QFontMetrics>
#include <QRect>
#include <QRgb>
#include <QString>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/highlight.h"
#include "models/lane_model.h"
#include "models/span_colors.h"
#include "models/theme.h"
#include "models/time_axis.h"

namespace warpmeter::gui {

struct ColorBatch {
  QRgb color = 0;
  std::vector<QRect> rects;
};

struct BarLabel {
  QRect rect;
  QString text;  // elided to fit
  QRgb color = 0;
};

class DrawList {
 public:
  struct Input {
    const LaneModel& lanes;
    const std::vector<LaneBox>& boxes;
    const SpanColors& colors;
    const Highlight& highlight;  // empty = nothing selected
    const Theme& theme;
    const QFontMetrics& metrics;
    TimeAxis axis;
    int scrollY = 0;  // px of the lanes above the picture
    int heightPx = 0;
  };

  // Coordinates are those of the picture: x from the start of the axis, y from its top.
  void build(const Input& input);

  std::span<const ColorBatch> batches() const { return {batches_.data(), batchCount_}; }
  std::span<const BarLabel> labels() const { return labels_; }
  std::size_t rectCount() const;

 private:
  void addTrack(const Input& input, const Lane& lane, const LaneBox& box);
  void addCounter(const Input& input, const Lane& lane, const LaneBox& box);
  void addRow(const Input& input, const analyzer::Track& track, std::size_t row, QRect area);
  void addColumns(const Input& input, const analyzer::Track& track, QRect area);
  void addLabel(const Input& input, const analyzer::Track& track, std::uint32_t item, QRect bar, QRgb color);
  void addStrip(const Input& input, std::uint32_t track, QRect area);
  QRgb colorOf(const Input& input, const analyzer::Track& track, std::uint32_t item) const;
  void addRect(QRgb color, QRect rect);

  // Kept from picture to picture, so that a frame allocates next to nothing.
  std::vector<ColorBatch> batches_;
  std::size_t batchCount_ = 0;
  std::unordered_map<QRgb, std::size_t> batchOf_;
  std::vector<BarLabel> labels_;
  analyzer::RowPicture picture_;
  std::vector<analyzer::CounterColumn> values_;
};

// The pixels of a bar in a row; at least one wide.
QRect barRect(const TimeAxis& axis, std::int64_t startNs, std::int64_t endNs, int top, int height);

}  // namespace warpmeter::gui
