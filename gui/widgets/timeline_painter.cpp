// SPDX-License-Identifier: Apache-2.0
#include "widgets/timeline_painter.h"

#include <algorithm>

namespace warpmeter::gui {
namespace {

constexpr int kIndentPx = 12;
constexpr int kPaddingPx = 8;
constexpr int kLeastLabelsPx = 110;
constexpr int kMostLabelsPx = 260;

template <class Visit>
void forVisibleLanes(const TimelinePicture& p, Visit visit) {
  const int shift = p.geometry.plot.top() - p.scrollY;
  for (std::size_t i = 0; i < p.boxes.size(); ++i) {
    LaneBox box = p.boxes[i];
    box.top += shift;
    box.rowTop += shift;
    if (box.bottom() > p.geometry.plot.top() && box.top <= p.geometry.plot.bottom())
      visit(p.lanes.lanes()[i], box);
  }
}

void paintGrid(QPainter& painter, const TimelinePicture& p) {
  const QRect& plot = p.geometry.plot;
  const int height = p.boxes.empty() ? 0 : std::min(p.boxes.back().bottom() - p.scrollY, plot.height());
  for (const Tick& tick : p.ruler.ticks) {
    if (tick.major) {
      painter.fillRect(plot.left() + p.axis.columnOf(tick.ns), plot.top(), 1, height, QColor(p.theme.grid));
    }
  }
}

void paintBands(QPainter& painter, const TimelinePicture& p) {
  const QRect& plot = p.geometry.plot;
  forVisibleLanes(p, [&](const Lane& lane, const LaneBox& box) {
    if (lane.kind != LaneKind::track && lane.kind != LaneKind::counter) return;
    painter.fillRect(plot.left(), box.top + 1, plot.width(), box.height - 2, QColor(p.theme.band));
    painter.fillRect(plot.left(), box.bottom() - 1, plot.width(), 1, QColor(p.theme.grid));
  });
}

void paintBars(QPainter& painter, const TimelinePicture& p) {
  painter.translate(p.geometry.plot.topLeft());
  painter.setPen(Qt::NoPen);
  for (const ColorBatch& batch : p.bars.batches()) {
    painter.setBrush(QColor(batch.color));
    painter.drawRects(batch.rects.data(), static_cast<int>(batch.rects.size()));
  }
  painter.setBrush(Qt::NoBrush);
  const QFontMetrics metrics = painter.fontMetrics();
  for (const BarLabel& label : p.bars.labels()) {
    painter.setPen(QColor(label.color));
    const int baseline = label.rect.top() + (label.rect.height() + metrics.ascent() - metrics.descent()) / 2;
    painter.drawText(label.rect.left(), baseline, label.text);
  }
  if (p.hovered) {
    painter.setPen(QPen(QColor(p.theme.text), 2));
    painter.drawRect(p.hovered->adjusted(0, 0, 0, -1));
  }
  painter.resetTransform();
}

void paintText(QPainter& painter, QRect room, const QString& text, Qt::TextElideMode elide) {
  painter.drawText(room, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextSingleLine,
                   painter.fontMetrics().elidedText(text, elide, room.width()));
}

void paintTrackName(QPainter& painter, const TimelinePicture& p, const Lane& lane, const LaneBox& box) {
  const QRect& column = p.geometry.labels;
  painter.fillRect(column.left(), box.bottom() - 1, column.width(), 1, QColor(p.theme.grid));
  painter.setPen(QColor(p.theme.text));
  // A tall track keeps its name in sight while it is scrolled through.
  const int top = std::max(box.top, column.top());
  const int bottom = std::min(box.bottom(), column.bottom() + 1);
  const int linePx = painter.fontMetrics().height();
  const QRect room(labelLeft(lane), bottom - top < linePx ? box.top : top,
                   column.right() - labelLeft(lane) - 4, bottom - top < linePx ? box.height : bottom - top);
  paintText(painter, room, lane.text, Qt::ElideMiddle);
}

void paintLabels(QPainter& painter, const TimelinePicture& p) {
  const QRect& column = p.geometry.labels;
  const int lanesEnd = p.boxes.empty() ? 0 : p.boxes.back().bottom() + column.top() - p.scrollY;
  const int height = std::min(lanesEnd, column.bottom() + 1) - column.top();
  painter.fillRect(column.left(), column.top(), column.width(), height, QColor(p.theme.labels));
  painter.fillRect(column.right(), column.top(), 1, height, QColor(p.theme.border));
  const QFont normal = painter.font();
  QFont bold = normal;
  bold.setBold(true);
  forVisibleLanes(p, [&](const Lane& lane, const LaneBox& box) {
    if (lane.kind == LaneKind::track || lane.kind == LaneKind::counter)
      return paintTrackName(painter, p, lane, box);
    const QRect band(column.left(), box.top, column.width() + p.geometry.plot.width(), box.height);
    const bool process = lane.kind == LaneKind::process;
    painter.fillRect(band, QColor(process ? p.theme.processBand : p.theme.gpuBand));
    painter.setFont(process ? bold : normal);
    painter.setPen(QColor(p.theme.text));
    paintText(painter, band.adjusted(labelLeft(lane), 0, -kPaddingPx, 0), lane.text, Qt::ElideRight);
    painter.setFont(normal);
  });
}

void paintTickLabels(QPainter& painter, const TimelinePicture& p) {
  const QRect& ruler = p.geometry.ruler;
  const QFontMetrics metrics = painter.fontMetrics();
  int freeFrom = ruler.left() + 2;
  for (const Tick& tick : p.ruler.ticks) {
    const int x = ruler.left() + p.axis.columnOf(tick.ns);
    const int length = tick.major ? 7 : 4;
    painter.fillRect(x, ruler.bottom() - length, 1, length, QColor(p.theme.dimText));
    if (!tick.major) continue;
    const int width = metrics.horizontalAdvance(tick.label);
    const int left = x - width / 2;
    if (left < freeFrom || left + width > ruler.right() - 2) continue;  // half a number misleads
    freeFrom = left + width + 8;
    painter.setPen(QColor(p.theme.text));
    painter.drawText(left, ruler.bottom() - 10, tick.label);
  }
}

void paintRuler(QPainter& painter, const TimelinePicture& p) {
  const QRect& ruler = p.geometry.ruler;
  const QRect corner(0, ruler.top(), ruler.left(), ruler.height());
  painter.fillRect(corner.united(ruler), QColor(p.theme.labels));
  paintTickLabels(painter, p);
  painter.setPen(QColor(p.theme.dimText));
  const QString base = p.ruler.relative ? p.ruler.base : QStringLiteral("time in the run");
  paintText(painter, corner.adjusted(kPaddingPx, 0, -4, 0), base, Qt::ElideRight);
  painter.fillRect(0, ruler.bottom(), ruler.right() + 1, 1, QColor(p.theme.border));
  painter.fillRect(corner.right(), ruler.top(), 1, ruler.height(), QColor(p.theme.border));
}

}  // namespace

void paintTimeline(QPainter& painter, const TimelinePicture& p) {
  const QRect& plot = p.geometry.plot;
  painter.fillRect(plot.united(p.geometry.labels), QColor(p.theme.base));
  painter.setClipRect(plot.united(p.geometry.labels));
  paintBands(painter, p);
  paintGrid(painter, p);
  painter.setClipRect(plot);
  paintBars(painter, p);
  painter.setClipRect(plot.united(p.geometry.labels));
  paintLabels(painter, p);
  painter.setClipping(false);
  paintRuler(painter, p);
}

int labelColumnWidth(const LaneModel& lanes, const QFontMetrics& metrics, int viewWidth) {
  int width = kLeastLabelsPx;
  for (const Lane& lane : lanes.lanes()) {
    if (lane.kind != LaneKind::track && lane.kind != LaneKind::counter) continue;
    width = std::max(width, labelLeft(lane) + metrics.horizontalAdvance(lane.text) + kPaddingPx + 4);
  }
  return std::min({width, kMostLabelsPx, std::max(viewWidth / 3, 1)});
}

int labelLeft(const Lane& lane) { return kPaddingPx + lane.indent * kIndentPx; }

}  // namespace warpmeter::gui
