// SPDX-License-Identifier: Apache-2.0
// ViewState: what the user looks at. Shared by all views, so that zoom, hover and selection live in no
// widget. GUI thread only.
#pragma once

#include <QObject>
#include <cstdint>
#include <optional>

#include "models/time_axis.h"

namespace warpmeter::gui {

// One bar: a span of a row of a track of the Timeline.
struct ItemRef {
  std::uint32_t track = 0, row = 0, item = 0;
  friend bool operator==(const ItemRef&, const ItemRef&) = default;
};

class ViewState : public QObject {
  Q_OBJECT
 public:
  explicit ViewState(QObject* parent = nullptr);

  // The whole run (nothing beyond it is ever visible) and the part shown first. Clears hover and selection.
  void reset(TimeSpan limits, TimeSpan first);

  // More of the run has become known. What is visible and selected stays; hover goes.
  void extend(TimeSpan limits, TimeSpan first);

  TimeSpan limits() const { return limits_; }
  TimeSpan visible() const { return visible_; }
  std::optional<ItemRef> hovered() const { return hovered_; }
  std::optional<std::uint32_t> selectedFunction() const { return selectedFunction_; }

  void setVisible(TimeSpan span);
  void zoomAt(double x, double factor, int widthPx);  // factor < 1 zooms in; x in px of the plot
  void panBy(double px, int widthPx);
  void fitAll();
  void fitWork();  // the part shown first
  void setHovered(std::optional<ItemRef> item);
  void selectFunction(std::optional<std::uint32_t> function);  // ProfileView::functions(); none = clear

 signals:
  void visibleChanged();
  void hoveredChanged();
  void selectionChanged();

 private:
  TimeSpan limits_, visible_, first_;
  std::optional<ItemRef> hovered_;
  std::optional<std::uint32_t> selectedFunction_;
};

}  // namespace warpmeter::gui
