// SPDX-License-Identifier: Apache-2.0
#include "models/highlight.h"

namespace warpmeter::gui {

using analyzer::Track;
using analyzer::TrackKind;

Highlight::Highlight(const analyzer::Timeline& timeline, std::uint32_t function) : function_(function) {
  const analyzer::ProfileView& view = timeline.view();
  tracks_.resize(timeline.tracks().size());
  for (std::size_t t = 0; t < tracks_.size(); ++t) {
    const Track& track = timeline.tracks()[t];
    if (track.kind != TrackKind::kernels) continue;
    const analyzer::Kernels& kernels = view.streams()[track.lane].kernels;
    std::vector<std::uint32_t> items;
    for (std::uint32_t i = 0; i < kernels.size(); ++i) {
      if (view.configs()[kernels.config[i]].function != function) continue;
      items.push_back(i);
      if (!longest_ || kernels.durationNs(i) > longest_->lengthNs()) {
        longest_ = TimeSpan{kernels.startNs(i), kernels.endNs(i)};
      }
    }
    if (items.empty()) continue;  // an empty list would mean all spans
    launches_ += items.size();
    tracks_[t] = analyzer::SpanIndex(kernels, std::move(items), kernels.config);
  }
}

bool Highlight::isOf(const analyzer::Timeline& timeline, const Track& track, std::uint32_t item) const {
  if (track.kind != TrackKind::kernels) return false;
  const analyzer::ProfileView& view = timeline.view();
  return view.configs()[view.streams()[track.lane].kernels.config[item]].function == function_;
}

}  // namespace warpmeter::gui
