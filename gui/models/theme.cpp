// SPDX-License-Identifier: Apache-2.0
#include "models/theme.h"

#include <QColor>
#include <cmath>

namespace warpmeter::gui {
namespace {

double linear(int channel) {
  const double c = channel / 255.0;
  return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
}

double luminance(QRgb c) {
  return 0.2126 * linear(qRed(c)) + 0.7152 * linear(qGreen(c)) + 0.0722 * linear(qBlue(c));
}

QPalette paletteOf(QRgb window, QRgb base, QRgb alternate, QRgb text, QRgb dim, QRgb highlight) {
  QPalette p{QColor(window)};  // derives the shades of frames and buttons
  p.setColor(QPalette::Window, window);
  p.setColor(QPalette::Base, base);
  p.setColor(QPalette::AlternateBase, alternate);
  p.setColor(QPalette::Button, window);
  p.setColor(QPalette::ToolTipBase, base);
  for (const auto role :
       {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText}) {
    p.setColor(role, text);
    p.setColor(QPalette::Disabled, role, dim);
  }
  p.setColor(QPalette::PlaceholderText, dim);
  p.setColor(QPalette::Highlight, highlight);
  p.setColor(QPalette::HighlightedText, readableOn(highlight));
  return p;
}

}  // namespace

Theme Theme::from(const QPalette& palette) {
  Theme t;
  t.base = palette.color(QPalette::Base).rgb();
  t.text = palette.color(QPalette::Text).rgb();
  t.dark = luminance(t.base) < luminance(t.text);
  t.band = mixed(t.base, t.text, 0.025);
  t.labels = mixed(t.base, t.text, 0.05);
  t.processBand = mixed(t.base, t.text, 0.16);
  t.gpuBand = mixed(t.base, t.text, 0.09);
  t.dimText = mixed(t.text, t.base, 0.38);
  t.grid = mixed(t.base, t.text, 0.08);
  t.border = mixed(t.base, t.text, 0.22);
  t.accent = palette.color(QPalette::Highlight).rgb();
  t.warning = t.dark ? qRgb(255, 140, 90) : qRgb(184, 60, 0);
  t.counter = t.dark ? qRgb(88, 190, 170) : qRgb(0, 128, 112);
  return t;
}

QRgb mixed(QRgb a, QRgb b, double part) {
  const auto channel = [part](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * part)); };
  return qRgb(channel(qRed(a), qRed(b)), channel(qGreen(a), qGreen(b)), channel(qBlue(a), qBlue(b)));
}

QRgb readableOn(QRgb background) {
  // Contrast against black and white is equal at a luminance of 0.179.
  return luminance(background) > 0.179 ? qRgb(0, 0, 0) : qRgb(255, 255, 255);
}

QPalette lightPalette() {
  return paletteOf(qRgb(240, 241, 243), qRgb(255, 255, 255), qRgb(246, 247, 249), qRgb(28, 30, 33),
                   qRgb(130, 134, 140), qRgb(0, 95, 184));
}

QPalette darkPalette() {
  return paletteOf(qRgb(37, 39, 43), qRgb(26, 28, 31), qRgb(32, 34, 38), qRgb(226, 228, 231),
                   qRgb(130, 134, 140), qRgb(76, 160, 255));
}

}  // namespace warpmeter::gui
