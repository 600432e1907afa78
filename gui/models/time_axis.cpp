// SPDX-License-Identifier: Apache-2.0
#include "models/time_axis.h"

#include <cmath>

namespace warpmeter::gui {

TimeAxis::TimeAxis(TimeSpan visible, int widthPx) : visible_(visible), widthPx_(std::max(widthPx, 1)) {
  if (visible_.lengthNs() >= kShortestViewNs) return;
  const std::int64_t middleNs = visible_.startNs + visible_.lengthNs() / 2;
  visible_ = {middleNs - kShortestViewNs / 2, middleNs + kShortestViewNs / 2};
}

std::int64_t TimeAxis::nsAt(double x) const {
  return visible_.startNs + static_cast<std::int64_t>(std::floor(x * nsPerPx()));
}

TimeAxis TimeAxis::zoomedAt(double x, double factor, TimeSpan limits) const {
  const double longest = static_cast<double>(std::max(limits.lengthNs(), kShortestViewNs));
  const double length = std::clamp(static_cast<double>(visible_.lengthNs()) * factor,
                                   static_cast<double>(kShortestViewNs), longest);
  const double pivotNs = x * nsPerPx();
  const double startOffsetNs = pivotNs - x / widthPx_ * length;
  const std::int64_t startNs = visible_.startNs + std::llround(startOffsetNs);
  return {clampedTo({startNs, startNs + std::llround(length)}, limits), widthPx_};
}

TimeAxis TimeAxis::pannedBy(double px, TimeSpan limits) const {
  const std::int64_t shiftNs = std::llround(px * nsPerPx());
  return {clampedTo({visible_.startNs + shiftNs, visible_.endNs + shiftNs}, limits), widthPx_};
}

TimeSpan clampedTo(TimeSpan span, TimeSpan limits) {
  if (span.lengthNs() >= limits.lengthNs()) return limits;
  if (span.startNs < limits.startNs) return {limits.startNs, limits.startNs + span.lengthNs()};
  if (span.endNs > limits.endNs) return {limits.endNs - span.lengthNs(), limits.endNs};
  return span;
}

TimeSpan padded(TimeSpan span, double part) {
  const auto pad = static_cast<std::int64_t>(std::ceil(part * static_cast<double>(span.lengthNs())));
  return {span.startNs - pad, span.endNs + pad};
}

}  // namespace warpmeter::gui
