// SPDX-License-Identifier: Apache-2.0
// Points in time as people read them, and the ticks of the ruler (durations: analyzer/format.h). No state;
// any thread.
#pragma once

#include <QString>
#include <vector>

#include "models/time_axis.h"

namespace warpmeter::gui {

// A point in time, precise enough to tell neighbours apart that lie `stepNs` from each other: "1.250 s".
QString timeText(std::int64_t ns, std::int64_t stepNs);

struct Tick {
  std::int64_t ns = 0;  // in the time of the file
  bool major = false;   // has a label
  QString label;
};

// What the ruler shows. Deep inside a long run absolute labels would need ten digits, so there the labels
// count from `base` ("+2.4 us"), which is itself shown once.
struct Ruler {
  std::int64_t stepNs = 1;  // between major ticks: 1, 2 or 5 times a power of ten
  std::int64_t baseNs = 0;  // since the origin
  bool relative = false;
  QString base;  // text of baseNs; empty unless relative
  std::vector<Tick> ticks;
};

// Major ticks lie at least labelPx apart. Labels count from originNs, the beginning of the run.
Ruler rulerFor(const TimeAxis& axis, int labelPx, std::int64_t originNs = 0);

}  // namespace warpmeter::gui
