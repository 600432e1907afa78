// SPDX-License-Identifier: Apache-2.0
#include "widgets/timeline_view.h"

#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <cmath>

namespace warpmeter::gui {
namespace {

constexpr int kRulerPx = 30;
constexpr int kTickLabelPx = 76;
constexpr int kHoverReachPx = 3;
constexpr double kZoomPerNotch = 0.8;  // of the visible time, for one notch of 120 units
constexpr double kContext = 0.6;       // on both sides of what zoomTo() shows

}  // namespace

TimelineView::TimelineView(ViewState* state, QWidget* parent)
    : QAbstractScrollArea(parent),
      state_(state),
      theme_(Theme::from(palette())),
      hoverBox_(new HoverBox(viewport())) {
  setFrameStyle(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  connect(state_, &ViewState::visibleChanged, this, [this] {
    state_->setHovered(std::nullopt);  // the bar has moved away under the pointer
    invalidate();
  });
  connect(state_, &ViewState::hoveredChanged, this, &TimelineView::updateHover);
  connect(state_, &ViewState::selectionChanged, this, &TimelineView::updateSelection);
}

void TimelineView::setProfile(std::shared_ptr<const LoadedProfile> profile) {
  profile_ = std::move(profile);
  lanes_.setTimeline(profile_ ? profile_->timeline : nullptr, profile_ ? profile_->counterLanes : nullptr);
  announced_ = false;
  layoutLanes();
  updateSelection();
}

void TimelineView::setMessage(const QString& message) {
  message_ = message;
  viewport()->update();
}

void TimelineView::zoom(double factor) {
  const QRect plot = geometryOfParts().plot;
  const QPoint pointer = viewport()->mapFromGlobal(QCursor::pos());
  const double x =
      viewport()->underMouse() && plot.contains(pointer) ? pointer.x() - plot.left() : plot.width() / 2.0;
  state_->zoomAt(x, factor, plot.width());
}

void TimelineView::pan(double partOfView) {
  const int width = geometryOfParts().plot.width();
  state_->panBy(partOfView * width, width);
}

void TimelineView::zoomTo(TimeSpan span) {
  state_->setVisible(padded(TimeAxis(span, 1).visible(), kContext));
}

TimelineGeometry TimelineView::geometryOfParts() const {
  const QRect all = viewport()->rect();
  const int column = labelColumnWidth(lanes_, fontMetrics(), all.width());
  const int plotWidth = std::max(all.width() - column, 1);
  const int plotHeight = std::max(all.height() - kRulerPx, 1);
  return {{column, 0, plotWidth, kRulerPx},
          {column, kRulerPx, plotWidth, plotHeight},
          {0, kRulerPx, column, plotHeight}};
}

TimeAxis TimelineView::axis() const { return {state_->visible(), geometryOfParts().plot.width()}; }

std::optional<ItemRef> TimelineView::itemAt(QPoint position) const {
  const QRect plot = geometryOfParts().plot;
  if (!timeline() || !plot.contains(position)) return std::nullopt;
  const auto at = rowAt(lanes_.lanes(), boxes_, position.y() - plot.top() + verticalScrollBar()->value());
  if (!at) return std::nullopt;
  const std::uint32_t track = lanes_.lanes()[at->lane].track;
  const auto row = static_cast<std::uint32_t>(at->row);
  const TimeAxis now = axis();
  const auto reachNs = static_cast<std::int64_t>(std::ceil(now.nsPerPx() * kHoverReachPx));
  // The middle of the pixel, so that a bar answers on all of its pixels and on no other.
  const std::uint32_t item =
      timeline()->tracks()[track].rows[row].itemAt(now.nsAt(position.x() - plot.left() + 0.5), reachNs);
  if (item == analyzer::kNone) return std::nullopt;
  return ItemRef{track, row, item};
}

void TimelineView::layoutLanes() {
  const int room = geometryOfParts().plot.height();
  boxes_ = lanes_.boxes(room);
  const int content = boxes_.empty() ? 0 : boxes_.back().bottom();
  verticalScrollBar()->setRange(0, std::max(content - room, 0));
  verticalScrollBar()->setPageStep(room);
  verticalScrollBar()->setSingleStep(24);
  invalidate();
}

void TimelineView::invalidate() {
  stale_ = true;
  hoverBox_->hide();
  viewport()->update();
}

void TimelineView::rebuild() {
  const QRect plot = geometryOfParts().plot;
  ruler_ = rulerFor(axis(), kTickLabelPx, profile_ ? profile_->all.startNs : 0);
  if (profile_) {
    bars_.build({lanes_, boxes_, profile_->colors, highlight_, theme_, fontMetrics(), axis(),
                 verticalScrollBar()->value(), plot.height()});
  }
  stale_ = false;
}

void TimelineView::updateSelection() {
  const auto function = state_->selectedFunction();
  highlight_ = timeline() && function ? Highlight(*timeline(), *function) : Highlight();
  invalidate();
}

analyzer::SpanText TimelineView::describe(const ItemRef& item) const {
  const analyzer::Track& track = timeline()->tracks()[item.track];
  analyzer::SpanText text = timeline()->describe(track, item.item);
  text.lines.emplace_back("on", track.gpuText.empty() ? track.text : track.text + ", " + track.gpuText);
  return text;
}

void TimelineView::updateHover() {
  const auto hovered = state_->hovered();
  if (hovered && timeline()) {
    const analyzer::SpanText text = describe(*hovered);
    hoveredSpan_ = {text.startNs, text.endNs};
    hoverBox_->showAt(pointer_, text);
  } else {
    hoverBox_->hide();
  }
  viewport()->update();
}

void TimelineView::showCounter(QPoint position) {
  const QRect plot = geometryOfParts().plot;
  std::optional<analyzer::SpanText> text;
  if (profile_ && plot.contains(position)) {
    const auto lane = counterAt(lanes_.lanes(), boxes_, position.y() - plot.top() + verticalScrollBar()->value());
    const int column = position.x() - plot.left();
    const std::int64_t from = axis().nsAt(column);
    const TimeSpan pixel{from, std::max(from + 1, axis().nsAt(column + 1))};
    if (lane) text = counterText(lanes_.counter(lanes_.lanes()[*lane]), pixel, profile_->all.startNs);
  }
  if (text)
    hoverBox_->showAt(position, *text);
  else
    hoverBox_->hide();
}

std::optional<QRect> TimelineView::hoveredRect() const {
  const auto hovered = state_->hovered();
  if (!hovered || !timeline()) return std::nullopt;
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const Lane& lane = lanes_.lanes()[i];
    if (lane.kind != LaneKind::track || lane.track != hovered->track) continue;
    const int top = boxes_[i].rowTop + static_cast<int>(hovered->row) * boxes_[i].rowHeight -
                    verticalScrollBar()->value();
    return barRect(axis(), hoveredSpan_.startNs, hoveredSpan_.endNs, top, boxes_[i].rowHeight);
  }
  return std::nullopt;
}

void TimelineView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  if (lanes_.lanes().empty()) {
    painter.fillRect(viewport()->rect(), QColor(theme_.base));
    painter.setPen(QColor(theme_.dimText));
    painter.drawText(viewport()->rect().adjusted(20, 20, -20, -20), Qt::AlignCenter | Qt::TextWordWrap,
                     message_);
    return;
  }
  if (stale_) rebuild();
  paintTimeline(painter, {lanes_, boxes_, bars_, ruler_, theme_, geometryOfParts(), axis(),
                          verticalScrollBar()->value(), hoveredRect()});
  if (!announced_) {
    announced_ = true;
    emit firstFramePainted();
  }
}

void TimelineView::resizeEvent(QResizeEvent*) { layoutLanes(); }

void TimelineView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
    theme_ = Theme::from(palette());
    layoutLanes();
  }
  QAbstractScrollArea::changeEvent(event);
}

bool TimelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::ToolTip) return showLabelTip(static_cast<QHelpEvent*>(event));
  if (event->type() == QEvent::Leave) {
    state_->setHovered(std::nullopt);
    hoverBox_->hide();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

// The whole name of a lane whose label may be cut.
bool TimelineView::showLabelTip(QHelpEvent* event) {
  const TimelineGeometry parts = geometryOfParts();
  const int y = event->pos().y() - parts.plot.top() + verticalScrollBar()->value();
  for (std::size_t i = 0; i < boxes_.size() && parts.labels.contains(event->pos()); ++i) {
    if (y < boxes_[i].top || y >= boxes_[i].bottom()) continue;
    QToolTip::showText(event->globalPos(), lanes_.lanes()[i].text, this);
    return true;
  }
  QToolTip::hideText();
  return true;
}

// Over the bars the wheel zooms, over the names it scrolls; with Shift, or sideways, it pans.
void TimelineView::wheelEvent(QWheelEvent* event) {
  const QRect plot = geometryOfParts().plot;
  const QPoint turn = event->angleDelta();
  const bool control = event->modifiers().testFlag(Qt::ControlModifier);
  const double x = event->position().x() - plot.left();
  if (x < 0 && !control) return QAbstractScrollArea::wheelEvent(event);
  if (event->modifiers().testFlag(Qt::ShiftModifier) || std::abs(turn.x()) > std::abs(turn.y())) {
    const int units = turn.x() != 0 ? turn.x() : turn.y();
    state_->panBy(-units * plot.width() / 1200.0, plot.width());
  } else {
    state_->zoomAt(std::max(x, 0.0), std::pow(kZoomPerNotch, turn.y() / 120.0), plot.width());
  }
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  drag_ = Drag{event->position().toPoint(), state_->visible(), verticalScrollBar()->value(), false};
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPoint position = event->position().toPoint();
  pointer_ = position;
  if (!drag_) {
    const auto item = itemAt(position);
    if (item == state_->hovered() && item) updateHover();  // the box follows the pointer
    state_->setHovered(item);
    if (!item) showCounter(position);
    return;
  }
  const QPoint way = position - drag_->from;
  if (!drag_->moved && way.manhattanLength() < QApplication::startDragDistance()) return;
  drag_->moved = true;
  viewport()->setCursor(Qt::ClosedHandCursor);
  // From where the drag began, so that rounding does not add up.
  const int width = geometryOfParts().plot.width();
  state_->setVisible(TimeAxis(drag_->visible, width).pannedBy(-way.x(), state_->limits()).visible());
  verticalScrollBar()->setValue(drag_->scrollY - way.y());
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (!drag_ || event->button() != Qt::LeftButton) return;
  const bool clicked = !drag_->moved;
  drag_.reset();
  viewport()->unsetCursor();
  if (!clicked || !timeline()) return;
  const auto item = itemAt(event->position().toPoint());
  std::optional<std::uint32_t> function;
  if (item) {
    const analyzer::Track& track = timeline()->tracks()[item->track];
    const analyzer::ProfileView& view = timeline()->view();
    if (track.kind == analyzer::TrackKind::kernels) {
      function = view.configs()[view.streams()[track.lane].kernels.config[item->item]].function;
    }
  }
  state_->selectFunction(function);
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto item = itemAt(event->position().toPoint());
  if (!item) return;
  const analyzer::SpanText text = describe(*item);
  zoomTo({text.startNs, text.endNs});
}

void TimelineView::scrollContentsBy(int, int) { invalidate(); }

}  // namespace warpmeter::gui
