// SPDX-License-Identifier: Apache-2.0
#include "models/view_state.h"

namespace warpmeter::gui {

ViewState::ViewState(QObject* parent) : QObject(parent) {}

void ViewState::reset(TimeSpan limits, TimeSpan first) {
  limits_ = limits;
  first_ = clampedTo(first, limits);
  visible_ = first_;
  hovered_.reset();
  selectedFunction_.reset();
  emit visibleChanged();
  emit hoveredChanged();
  emit selectionChanged();
}

void ViewState::extend(TimeSpan limits, TimeSpan first) {
  limits_ = limits;
  first_ = clampedTo(first, limits);
  setHovered(std::nullopt);
  setVisible(visible_);
}

void ViewState::setVisible(TimeSpan span) {
  // TimeAxis holds the rule for the shortest view.
  span = clampedTo(TimeAxis(span, 1).visible(), limits_);
  if (span == visible_) return;
  visible_ = span;
  emit visibleChanged();
}

void ViewState::zoomAt(double x, double factor, int widthPx) {
  setVisible(TimeAxis(visible_, widthPx).zoomedAt(x, factor, limits_).visible());
}

void ViewState::panBy(double px, int widthPx) {
  setVisible(TimeAxis(visible_, widthPx).pannedBy(px, limits_).visible());
}

void ViewState::fitAll() { setVisible(limits_); }

void ViewState::fitWork() { setVisible(first_); }

void ViewState::setHovered(std::optional<ItemRef> item) {
  if (item == hovered_) return;
  hovered_ = item;
  emit hoveredChanged();
}

void ViewState::selectFunction(std::optional<std::uint32_t> function) {
  if (function == selectedFunction_) return;
  selectedFunction_ = function;
  emit selectionChanged();
}

}  // namespace warpmeter::gui
