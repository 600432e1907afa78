// SPDX-License-Identifier: Apache-2.0
// Paints a timeline picture. Nothing here allocates per bar, antialiases or saves painter state per bar.
#pragma once

#include <QPainter>
#include <QRect>
#include <optional>
#include <vector>

#include "models/draw_list.h"
#include "models/time_text.h"

namespace warpmeter::gui {

// Where the parts of the view lie, in viewport coordinates.
struct TimelineGeometry {
  QRect ruler;   // time labels, right of the label column
  QRect plot;    // bars
  QRect labels;  // names of the lanes, left of the plot
};

struct TimelinePicture {
  const LaneModel& lanes;
  const std::vector<LaneBox>& boxes;
  const DrawList& bars;
  const Ruler& ruler;
  const Theme& theme;
  TimelineGeometry geometry;
  TimeAxis axis;
  int scrollY = 0;
  std::optional<QRect> hovered;  // in plot coordinates
};

void paintTimeline(QPainter& painter, const TimelinePicture& picture);

// Width of a label column in which all track names fit, within limits.
int labelColumnWidth(const LaneModel& lanes, const QFontMetrics& metrics, int viewWidth);

// The left edge of a lane's text.
int labelLeft(const Lane& lane);

}  // namespace warpmeter::gui
