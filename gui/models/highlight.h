// SPDX-License-Identifier: Apache-2.0
// Highlight: where one kernel function runs, as rows with their own level of detail, so that its launches are
// found even where they are lost among others in a pixel. Immutable once built.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/time_axis.h"
#include "warpmeter/analyzer/timeline.h"

namespace warpmeter::gui {

class Highlight {
 public:
  Highlight() = default;
  // O(kernels of the file).
  Highlight(const analyzer::Timeline& timeline, std::uint32_t function);

  bool empty() const { return launches_ == 0; }
  std::size_t launches() const { return launches_; }
  const analyzer::SpanIndex& ofTrack(std::uint32_t track) const { return tracks_[track]; }
  bool isOf(const analyzer::Timeline& timeline, const analyzer::Track& track, std::uint32_t item) const;

  // The longest launch; nullopt without launches.
  std::optional<TimeSpan> longest() const { return longest_; }

 private:
  std::uint32_t function_ = analyzer::kNone;
  std::size_t launches_ = 0;
  std::optional<TimeSpan> longest_;
  std::vector<analyzer::SpanIndex> tracks_;  // one per track, empty where nothing matches
};

}  // namespace warpmeter::gui
