// SPDX-License-Identifier: Apache-2.0
// Theme: every colour that is not data, taken from the system's palette, light or dark.
#pragma once

#include <QPalette>
#include <QRgb>

namespace warpmeter::gui {

struct Theme {
  bool dark = false;
  QRgb base = 0;    // behind the bars
  QRgb band = 0;    // behind every other track
  QRgb labels = 0;  // label column and ruler
  QRgb processBand = 0, gpuBand = 0;
  QRgb text = 0, dimText = 0;
  QRgb grid = 0, border = 0;
  QRgb accent = 0;   // selection
  QRgb warning = 0;  // losses
  QRgb counter = 0;  // values of counters over time

  static Theme from(const QPalette& palette);
};

// a * (1 - part) + b * part, opaque.
QRgb mixed(QRgb a, QRgb b, double part);

// Black or white, whichever reads better on `background` (WCAG relative luminance).
QRgb readableOn(QRgb background);

QPalette lightPalette();
QPalette darkPalette();

}  // namespace warpmeter::gui
