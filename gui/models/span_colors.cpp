// SPDX-License-Identifier: Apache-2.0
#include "models/span_colors.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "models/theme.h"

namespace warpmeter::gui {
namespace {

constexpr QRgb kWhite = 0xffffffff;
constexpr QRgb kBlack = 0xff000000;

// FNV-1a (Fowler, Noll, Vo), 32 bits: the same on every machine, unlike std::hash.
std::uint32_t hashOf(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

QRgb copyColor(analyzer::CopyKind kind) {
  using Kind = analyzer::CopyKind;
  switch (kind) {
    case Kind::hostToDevice:
    case Kind::hostToArray:
    case Kind::unifiedHostToDevice:
      return qRgb(46, 139, 87);
    case Kind::deviceToHost:
    case Kind::arrayToHost:
    case Kind::unifiedDeviceToHost:
      return qRgb(196, 78, 82);
    case Kind::memset:
      return qRgb(140, 140, 140);
    default:
      return qRgb(129, 114, 178);
  }
}

}  // namespace

std::span<const QRgb> kernelPalette() {
  static const auto palette = [] {
    constexpr std::array<QRgb, kHues> hues{0xff0072b2, 0xffe69f00, 0xff009e73, 0xffcc79a7,
                                           0xff56b4e9, 0xffd55e00, 0xfff0e442};
    std::array<QRgb, kHues * 3> all{};
    for (std::size_t i = 0; i < kHues; ++i) {
      all[i] = hues[i];
      all[i + kHues] = mixed(hues[i], kWhite, 0.42);
      all[i + kHues * 2] = mixed(hues[i], kBlack, 0.34);
    }
    return all;
  }();
  return palette;
}

std::vector<QRgb> colorsByName(std::span<const std::string_view> names) {
  const std::span<const QRgb> palette = kernelPalette();
  std::array<std::size_t, kHues * 3> used{};
  std::vector<QRgb> colors;
  colors.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    // The tier with the fewest users first: the most important names get the pure hues.
    const std::size_t tier = i / kHues % 3 * kHues;
    const std::size_t rounds = i / palette.size();
    const std::size_t wanted = hashOf(names[i]) % kHues;
    std::size_t slot = tier + wanted;
    for (std::size_t step = 1; used[slot] > rounds; ++step) slot = tier + (wanted + step) % kHues;
    ++used[slot];
    colors.push_back(palette[slot]);
  }
  return colors;
}

SpanColors::SpanColors(const analyzer::Timeline& timeline) {
  const analyzer::ProfileView& view = timeline.view();
  std::vector<std::int64_t> totalNs(view.functions().size());
  for (const analyzer::StreamLane& lane : view.streams()) {
    for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
      totalNs[view.configs()[lane.kernels.config[i]].function] += lane.kernels.durationNs(i);
    }
  }
  std::vector<std::uint32_t> order(totalNs.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return totalNs[a] > totalNs[b]; });

  std::vector<std::string_view> names;
  names.reserve(order.size());
  for (const std::uint32_t function : order) names.push_back(view.name(view.functions()[function].key));
  const std::vector<QRgb> colors = colorsByName(names);
  functions_.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) functions_[order[i]] = colors[i];
}

QRgb SpanColors::of(const analyzer::Timeline& timeline, const analyzer::Track& track,
                    std::uint32_t item) const {
  const analyzer::ProfileView& view = timeline.view();
  switch (track.kind) {
    case analyzer::TrackKind::kernels:
      return functions_[view.configs()[view.streams()[track.lane].kernels.config[item]].function];
    case analyzer::TrackKind::copies:
      return copyColor(view.streams()[track.lane].copies.kindOf(item));
    case analyzer::TrackKind::nvtx:
      if (const auto given = timeline.givenColor(track, item)) return *given | 0xff000000;
      break;
    case analyzer::TrackKind::api:
      break;
  }
  // Frameworks number their ranges ("aten::mm, op_id = 12"): what stands before the comma makes the colour.
  const analyzer::ThreadLane& thread = view.threads()[track.lane];
  const bool call = track.kind == analyzer::TrackKind::api;
  const std::string_view name = view.name(call ? thread.api.name[item] : thread.nvtx.text[item]);
  const QRgb hue = kernelPalette()[hashOf(name.substr(0, name.find(','))) % kernelPalette().size()];
  // Host side: the same hues, greyed, so that GPU work stands out.
  return mixed(hue, qRgb(150, 155, 162), call ? 0.62 : 0.3);
}

}  // namespace warpmeter::gui
