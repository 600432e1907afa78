// SPDX-License-Identifier: Apache-2.0
// SpanColors: a colour for every bar. Immutable once built; const calls from any thread.
#pragma once

#include <QRgb>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "warpmeter/analyzer/timeline.h"

namespace warpmeter::gui {

// Hues that people with the common colour-vision deficiencies tell apart: M. Okabe, K. Ito, "Color Universal
// Design" (2008), without black; then the same hues lighter and darker.
std::span<const QRgb> kernelPalette();
inline constexpr std::size_t kHues = 7;

// A slot of the palette per name, in order of importance. The slot comes from a hash of the name, so a
// function keeps its colour from file to file; a taken slot moves on to the next free hue, so the kHues most
// important names never share one.
std::vector<QRgb> colorsByName(std::span<const std::string_view> names);

class SpanColors {
 public:
  SpanColors() = default;
  explicit SpanColors(const analyzer::Timeline& timeline);

  QRgb ofFunction(std::uint32_t function) const { return functions_[function]; }
  QRgb of(const analyzer::Timeline& timeline, const analyzer::Track& track, std::uint32_t item) const;

 private:
  std::vector<QRgb> functions_;
};

}  // namespace warpmeter::gui
