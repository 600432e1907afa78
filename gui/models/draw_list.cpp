// SPDX-License-Identifier: Apache-2.0
#include "models/draw_list.h"

#include <algorithm>
#include <cmath>

namespace warpmeter::gui {
namespace {

using analyzer::Track;

constexpr int kRowGapPx = 1;         // between rows of a track
constexpr int kSeparatedFromPx = 4;  // bars at least this wide leave a gap to the next one
constexpr int kLabelFromPx = 26;
constexpr int kStripPx = 3;
constexpr double kSpread = 0.6;  // of the background, between mean and largest value of a counter
constexpr double kFaded = 0.78;  // of the background, in what is not selected

}  // namespace

QRect barRect(const TimeAxis& axis, std::int64_t startNs, std::int64_t endNs, int top, int height) {
  const int left = std::min(axis.columnOf(startNs), axis.widthPx() - 1);
  int width = std::max(axis.columnOf(endNs) - left, 1);
  if (width >= kSeparatedFromPx) --width;
  return {left, top, width, height};
}

void DrawList::build(const Input& input) {
  for (std::size_t i = 0; i < batchCount_; ++i) batches_[i].rects.clear();
  batchOf_.clear();
  batchCount_ = 0;
  labels_.clear();
  if (!input.lanes.timeline()) return;

  const std::vector<Lane>& lanes = input.lanes.lanes();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    LaneBox box = input.boxes[i];
    box.top -= input.scrollY;
    box.rowTop -= input.scrollY;
    if (box.bottom() <= 0 || box.top >= input.heightPx) continue;
    if (lanes[i].kind == LaneKind::track) addTrack(input, lanes[i], box);
    if (lanes[i].kind == LaneKind::counter) addCounter(input, lanes[i], box);
  }
}

std::size_t DrawList::rectCount() const {
  std::size_t count = 0;
  for (const ColorBatch& batch : batches()) count += batch.rects.size();
  return count;
}

void DrawList::addTrack(const Input& input, const Lane& lane, const LaneBox& box) {
  const Track& track = input.lanes.timeline()->tracks()[lane.track];
  for (int row = 0; row < lane.rows; ++row) {
    const int top = box.rowTop + row * box.rowHeight;
    if (top + box.rowHeight <= 0 || top >= input.heightPx) continue;
    addRow(input, track, static_cast<std::size_t>(row),
           {0, top, input.axis.widthPx(), std::max(box.rowHeight - kRowGapPx, 1)});
  }
  if (!input.highlight.empty()) {
    addStrip(input, lane.track, {0, box.bottom() - kStripPx, input.axis.widthPx(), kStripPx});
  }
}

// The mean as a filled area; above it, lighter, up to the largest sample of the column.
void DrawList::addCounter(const Input& input, const Lane& lane, const LaneBox& box) {
  const analyzer::CounterLane& counter = input.lanes.counter(lane);
  if (counter.top <= 0) return;
  const TimeSpan visible = input.axis.visible();
  counter.picture(visible.startNs, visible.endNs, input.axis.widthPx(), values_);
  const QRgb strong = input.theme.counter, light = mixed(strong, input.theme.base, kSpread);
  const auto heightOf = [&](float value) {
    const double part = std::clamp(static_cast<double>(value) / counter.top, 0.0, 1.0);
    return static_cast<int>(std::lround(part * box.rowHeight));
  };
  const int bottom = box.rowTop + box.rowHeight;
  QRect area, above;
  const auto flush = [&](QRect& open, QRgb color) {
    if (!open.isEmpty()) addRect(color, open);
    open = {};
  };
  const auto extend = [&](QRect& open, QRgb color, const QRect& next) {
    if (!open.isEmpty() && !next.isEmpty() && next.top() == open.top() && next.bottom() == open.bottom() &&
        next.left() == open.right() + 1) {
      open.setRight(next.right());
      return;
    }
    flush(open, color);
    open = next;
  };
  for (const analyzer::CounterColumn& column : values_) {
    const int mean = std::max(1, heightOf(column.mean)), high = heightOf(column.high);
    extend(area, strong, {column.pixel, bottom - mean, 1, mean});
    extend(above, light, {column.pixel, bottom - high, 1, std::max(0, high - mean)});
  }
  flush(area, strong);
  flush(above, light);
}

void DrawList::addRow(const Input& input, const Track& track, std::size_t row, QRect area) {
  const TimeSpan visible = input.axis.visible();
  track.rows[row].picture(visible.startNs, visible.endNs, input.axis.widthPx(), picture_);
  addColumns(input, track, area);
  for (const analyzer::Bar& bar : picture_.bars) {
    const QRgb color = colorOf(input, track, bar.item);
    const QRect rect = barRect(input.axis, bar.startNs, bar.endNs, area.top(), area.height());
    addRect(color, rect);
    if (rect.width() >= kLabelFromPx && area.height() >= 12) addLabel(input, track, bar.item, rect, color);
  }
}

// Columns of one colour and height become one rectangle.
void DrawList::addColumns(const Input& input, const Track& track, QRect area) {
  QRect open;
  QRgb openColor = 0;
  for (const analyzer::DensityColumn& column : picture_.columns) {
    const int height =
        std::clamp(static_cast<int>(std::lround(column.busy * static_cast<float>(area.height()))),
                   std::min(2, area.height()), area.height());
    const QRect rect(column.pixel, area.top() + area.height() - height, 1, height);
    const QRgb color = colorOf(input, track, column.item);
    if (!open.isNull() && color == openColor && rect.top() == open.top() && rect.left() == open.right() + 1) {
      open.setRight(rect.right());
      continue;
    }
    if (!open.isNull()) addRect(openColor, open);
    open = rect;
    openColor = color;
  }
  if (!open.isNull()) addRect(openColor, open);
}

void DrawList::addLabel(const Input& input, const Track& track, std::uint32_t item, QRect bar, QRgb color) {
  const QRect room = bar.adjusted(4, 0, -3, 0);
  QString text = input.metrics.elidedText(QString::fromStdString(input.lanes.timeline()->label(track, item)),
                                          Qt::ElideRight, room.width());
  if (text.size() < 3) return;  // a letter and dots say nothing
  labels_.push_back({room, std::move(text), readableOn(color)});
}

void DrawList::addStrip(const Input& input, std::uint32_t track, QRect area) {
  const TimeSpan visible = input.axis.visible();
  if (input.highlight.ofTrack(track).size() == 0) return;
  // Where it runs, not how much: half the columns cost half the time.
  constexpr int kColumnPx = 2;
  input.highlight.ofTrack(track).picture(visible.startNs, visible.endNs, input.axis.widthPx() / kColumnPx,
                                         picture_);
  for (const analyzer::DensityColumn& column : picture_.columns) {
    addRect(input.theme.accent, {column.pixel * kColumnPx, area.top(), kColumnPx, area.height()});
  }
  for (const analyzer::Bar& bar : picture_.bars) {
    addRect(input.theme.accent, barRect(input.axis, bar.startNs, bar.endNs, area.top(), area.height()));
  }
}

QRgb DrawList::colorOf(const Input& input, const Track& track, std::uint32_t item) const {
  const QRgb color = input.colors.of(*input.lanes.timeline(), track, item);
  const bool faded = !input.highlight.empty() && !input.highlight.isOf(*input.lanes.timeline(), track, item);
  return faded ? mixed(color, input.theme.base, kFaded) : color;
}

void DrawList::addRect(QRgb color, QRect rect) {
  const auto [place, isNew] = batchOf_.try_emplace(color, batchCount_);
  if (isNew) {
    if (batchCount_ == batches_.size()) batches_.emplace_back();
    batches_[batchCount_++].color = color;
  }
  batches_[place->second].rects.push_back(rect);
}

}  // namespace warpmeter::gui
