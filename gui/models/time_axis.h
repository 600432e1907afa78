// SPDX-License-Identifier: Apache-2.0
// TimeAxis: the one place where nanoseconds become pixels and back. A value without Qt, safe in any thread.
#pragma once

#include <algorithm>
#include <cstdint>

namespace warpmeter::gui {

// Half-open, in ns since the session start of the file.
struct TimeSpan {
  std::int64_t startNs = 0;
  std::int64_t endNs = 1;
  std::int64_t lengthNs() const { return endNs - startNs; }
  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

// Never shown narrower than this: below it the clock of the GPU has nothing more to say.
inline constexpr std::int64_t kShortestViewNs = 200;

class TimeAxis {
 public:
  // widthPx >= 1; a span shorter than kShortestViewNs is widened about its middle.
  TimeAxis(TimeSpan visible, int widthPx);

  TimeSpan visible() const { return visible_; }
  int widthPx() const { return widthPx_; }
  double nsPerPx() const { return static_cast<double>(visible_.lengthNs()) / widthPx_; }
  double xOf(std::int64_t ns) const { return static_cast<double>(ns - visible_.startNs) / nsPerPx(); }
  std::int64_t nsAt(double x) const;

  // The pixel column of a time, clamped to [0, widthPx]: what painting uses.
  int columnOf(std::int64_t ns) const {
    return static_cast<int>(std::clamp(xOf(ns), 0.0, static_cast<double>(widthPx_)));
  }

  // factor < 1 zooms in; the time under pixel x stays under it unless a limit is met.
  TimeAxis zoomedAt(double x, double factor, TimeSpan limits) const;
  TimeAxis pannedBy(double px, TimeSpan limits) const;

 private:
  TimeSpan visible_;
  int widthPx_ = 1;
};

// `span` moved, and if need be shortened, to lie inside `limits`.
TimeSpan clampedTo(TimeSpan span, TimeSpan limits);

// `span` with `part` of its length added on both sides.
TimeSpan padded(TimeSpan span, double part);

}  // namespace warpmeter::gui
