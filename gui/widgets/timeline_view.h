// SPDX-License-Identifier: Apache-2.0
// TimelineView: turns mouse and wheel into ViewState, and ViewState into a picture.
#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <optional>

#include "models/draw_list.h"
#include "models/profile_loader.h"
#include "models/time_text.h"
#include "models/view_state.h"
#include "widgets/hover_box.h"
#include "widgets/timeline_painter.h"

class QHelpEvent;

namespace warpmeter::gui {

class TimelineView : public QAbstractScrollArea {
  Q_OBJECT
 public:
  // `state` must outlive the view.
  explicit TimelineView(ViewState* state, QWidget* parent = nullptr);

  void setProfile(std::shared_ptr<const LoadedProfile> profile);
  void setMessage(const QString& message);  // shown while there is nothing to draw

  // At the pointer if it is over the bars, else at the middle. factor < 1 zooms in.
  void zoom(double factor);
  void pan(double partOfView);
  void zoomTo(TimeSpan span);  // with some context on both sides

  TimelineGeometry geometryOfParts() const;
  std::optional<ItemRef> itemAt(QPoint viewportPosition) const;
  const LaneModel& lanes() const { return lanes_; }
  const DrawList& drawList() const { return bars_; }
  QSize sizeHint() const override { return {1000, 600}; }

 signals:
  void firstFramePainted();  // once per profile that has something to draw

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  const analyzer::Timeline* timeline() const { return profile_ ? profile_->timeline.get() : nullptr; }
  TimeAxis axis() const;
  void layoutLanes();
  void invalidate();  // the picture must be made anew
  void rebuild();
  void updateSelection();
  void updateHover();
  analyzer::SpanText describe(const ItemRef& item) const;
  std::optional<QRect> hoveredRect() const;
  void showCounter(QPoint position);  // in the box, or hides it
  bool showLabelTip(QHelpEvent* event);

  ViewState* state_;
  LaneModel lanes_;
  std::shared_ptr<const LoadedProfile> profile_;
  QString message_;
  Theme theme_;
  Highlight highlight_;
  std::vector<LaneBox> boxes_;
  DrawList bars_;
  Ruler ruler_;
  bool stale_ = true;
  bool announced_ = false;
  HoverBox* hoverBox_;
  QPoint pointer_;        // where the mouse was last, in the viewport
  TimeSpan hoveredSpan_;  // of ViewState::hovered()

  struct Drag {
    QPoint from;
    TimeSpan visible;
    int scrollY = 0;
    bool moved = false;
  };
  std::optional<Drag> drag_;
};

}  // namespace warpmeter::gui
