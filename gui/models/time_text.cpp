// SPDX-License-Identifier: Apache-2.0
#include "models/time_text.h"

#include <array>
#include <cmath>
#include <cstdlib>

namespace warpmeter::gui {
namespace {

struct Unit {
  std::int64_t ns;
  QString name;
};

const std::array<Unit, 4>& units() {
  static const std::array<Unit, 4> all{{{1'000'000'000, QStringLiteral("s")},
                                        {1'000'000, QStringLiteral("ms")},
                                        {1'000, QStringLiteral("us")},
                                        {1, QStringLiteral("ns")}}};
  return all;
}

const Unit& unitFor(std::int64_t ns) {
  const std::int64_t size = std::abs(ns);
  for (const Unit& unit : units()) {
    if (size >= unit.ns) return unit;
  }
  return units().back();
}

// Digits after the point so that stepNs is visible when the number is given in `unit`.
int decimalsFor(std::int64_t stepNs, const Unit& unit) {
  int decimals = 0;
  for (std::int64_t quantum = unit.ns; quantum > 1 && quantum > stepNs; quantum /= 10) ++decimals;
  return decimals;
}

QString inUnit(std::int64_t ns, const Unit& unit, int decimals) {
  return QString::number(static_cast<double>(ns) / static_cast<double>(unit.ns), 'f', decimals) +
         QChar(u' ') + unit.name;
}

std::int64_t stepAtLeast(double ns) {
  std::int64_t power = 1;
  while (static_cast<double>(power) * 10 <= ns) power *= 10;
  for (const std::int64_t times : {1, 2, 5}) {
    if (static_cast<double>(power * times) >= ns) return power * times;
  }
  return power * 10;
}

std::int64_t floorTo(std::int64_t ns, std::int64_t stepNs) {
  const std::int64_t rest = ns % stepNs;
  return rest < 0 ? ns - rest - stepNs : ns - rest;
}

}  // namespace

QString timeText(std::int64_t ns, std::int64_t stepNs) {
  if (ns == 0) return QStringLiteral("0 ") + unitFor(stepNs).name;
  const Unit& unit = unitFor(ns);
  return inUnit(ns, unit, decimalsFor(stepNs, unit));
}

Ruler rulerFor(const TimeAxis& axis, int labelPx, std::int64_t originNs) {
  Ruler ruler;
  ruler.stepNs = stepAtLeast(axis.nsPerPx() * labelPx);
  const TimeSpan visible{axis.visible().startNs - originNs, axis.visible().endNs - originNs};

  // Seven digits are where reading a label stops being easy.
  const std::int64_t farthest = std::max(std::abs(visible.startNs), std::abs(visible.endNs));
  ruler.relative = farthest / ruler.stepNs >= 100'000;
  if (ruler.relative) {
    ruler.baseNs = floorTo(visible.startNs, ruler.stepNs * 10);
    ruler.base = timeText(ruler.baseNs, ruler.stepNs * 10);
  }

  const std::int64_t minorNs =
      ruler.stepNs % 5 == 0 ? ruler.stepNs / 5 : std::max<std::int64_t>(ruler.stepNs / 4, 1);
  for (std::int64_t t = floorTo(visible.startNs, ruler.stepNs); t <= visible.endNs; t += minorNs) {
    if (t < visible.startNs) continue;
    const bool major = t % ruler.stepNs == 0;
    QString label;
    if (major) {
      // One unit for all labels of a ruler: that of the largest.
      const std::int64_t shown = t - ruler.baseNs;
      const Unit& unit = unitFor(ruler.relative ? visible.endNs - ruler.baseNs : farthest);
      label = inUnit(shown, unit, decimalsFor(ruler.stepNs, unit));
      if (ruler.relative) label.prepend(QChar(u'+'));
    }
    ruler.ticks.push_back({t + originNs, major, label});
  }
  return ruler;
}

}  // namespace warpmeter::gui
