// SPDX-License-Identifier: Apache-2.0
// The rows of a timeline picture and what stands in them, without any drawing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "warpmeter/analyzer/profile_view.h"
#include "warpmeter/analyzer/span_lod.h"

namespace warpmeter::analyzer {

enum class TrackKind : std::uint8_t { kernels, copies, api, nvtx };

// One lane of one kind. Spans that overlap lie in several rows (nested calls and ranges: row = depth).
struct Track {
  TrackKind kind{};
  std::uint32_t lane = 0;  // ProfileView::streams() or threads()
  std::uint32_t process = kNone, gpu = kNone;
  std::string processText;  // "train.py (4711)"
  std::string gpuText;      // "GPU 0 NVIDIA H200"; empty for threads
  std::string text;         // "stream 7 kernels", "thread 4711 API"
  std::vector<SpanIndex> rows;
};

struct SpanText {
  std::string title;                                       // short name
  std::vector<std::pair<std::string, std::string>> lines;  // "duration" -> "12.3 us", ...
  std::int64_t startNs = 0, endNs = 0;
};

// Immutable once built; const calls from any thread.
class Timeline {
 public:
  // The most rows of a track; spans beyond share the last one.
  static constexpr std::size_t kMaxRows = 8;

  // Errors: cancelled.
  static Result<Timeline> build(std::shared_ptr<const ProfileView> view, std::stop_token stop = {});

  const ProfileView& view() const { return *view_; }
  const std::vector<Track>& tracks() const { return tracks_; }  // by process, GPU, stream; then threads
  ProfileView::TimeRange range() const { return view_->range(); }

  // Same colour for the same thing: a number from the name (functions, API names, NVTX texts) or the copy
  // kind.
  std::uint32_t colorKey(const Track& track, std::uint32_t item) const;
  // NVTX colour as given by the program, ARGB; nullopt = none.
  std::optional<std::uint32_t> givenColor(const Track& track, std::uint32_t item) const;
  std::string label(const Track& track, std::uint32_t item) const;  // short, for a bar
  SpanText describe(const Track& track, std::uint32_t item) const;  // for a hover box

 private:
  std::shared_ptr<const ProfileView> view_;
  std::vector<Track> tracks_;
};

}  // namespace warpmeter::analyzer
