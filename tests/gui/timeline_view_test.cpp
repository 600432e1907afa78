// SPDX-License-Identifier: Apache-2.0
// The window, driven by events on the offscreen platform.
#include <gtest/gtest.h>

#include <QApplication>
#include <QImage>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>

#include "gui/small_profile.h"
#include "widgets/main_window.h"

namespace warpmeter::gui {
namespace {

class Window : public testing::Test {
 protected:
  void SetUp() override {
    bool opened = false;
    QObject::connect(&window_, &MainWindow::opened, &window_, [&opened] { opened = true; });
    window_.resize(1200, 700);
    window_.show();
    window_.open(small_->path);
    ASSERT_TRUE(test::waitUntil([&] { return opened; }));
    QApplication::processEvents();
    plot_ = view().geometryOfParts().plot;
  }

  TimelineView& view() { return *window_.timeline(); }
  ViewState& state() { return *window_.state(); }
  TimeAxis axis() { return {state().visible(), plot_.width()}; }
  std::int64_t timeAt(int x) { return axis().nsAt(x - plot_.left()); }

  // Viewport position of a time in the first row of the track whose name contains `text`.
  QPoint pointOf(const QString& text, std::int64_t ns) {
    const std::vector<LaneBox> boxes = view().lanes().boxes(plot_.height());
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const Lane& lane = view().lanes().lanes()[i];
      if (lane.kind != LaneKind::track || !lane.text.contains(text)) continue;
      return {plot_.left() + axis().columnOf(ns),
              plot_.top() + boxes[i].rowTop + boxes[i].rowHeight / 2 - view().verticalScrollBar()->value()};
    }
    ADD_FAILURE() << "no lane " << text.toStdString();
    return {};
  }

  void mouse(QEvent::Type type, QPoint at, Qt::MouseButton button, Qt::MouseButtons buttons) {
    QMouseEvent event(type, QPointF(at), view().viewport()->mapToGlobal(QPointF(at)), button, buttons,
                      Qt::NoModifier);
    QApplication::sendEvent(view().viewport(), &event);
  }
  void click(QPoint at) {
    mouse(QEvent::MouseButtonPress, at, Qt::LeftButton, Qt::LeftButton);
    mouse(QEvent::MouseButtonRelease, at, Qt::LeftButton, Qt::NoButton);
  }
  void wheel(QPoint at, QPoint turn, Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
    QWheelEvent event(QPointF(at), view().viewport()->mapToGlobal(QPointF(at)), {}, turn, Qt::NoButton,
                      modifiers, Qt::NoScrollPhase, false);
    QApplication::sendEvent(view().viewport(), &event);
  }

  std::unique_ptr<test::SmallProfile> small_ = test::writeSmallProfile();
  MainWindow window_;
  QRect plot_;
};

TEST_F(Window, ShowsTheGpuWorkFirst) {
  EXPECT_LE(state().visible().startNs, 100'000);
  EXPECT_GE(state().visible().endNs, 500'000);
  EXPECT_LT(state().visible().lengthNs(), 450'000);
}

TEST_F(Window, TheWheelZoomsAtThePointer) {
  const QPoint at(plot_.left() + plot_.width() / 3, plot_.center().y());
  const std::int64_t before = timeAt(at.x()), length = state().visible().lengthNs();
  wheel(at, {0, 120});
  EXPECT_LT(state().visible().lengthNs(), length);
  EXPECT_NEAR(static_cast<double>(timeAt(at.x())), static_cast<double>(before), axis().nsPerPx());
  wheel(at, {0, -120});
  EXPECT_NEAR(static_cast<double>(state().visible().lengthNs()), static_cast<double>(length), 2.0);
}

TEST_F(Window, ShiftAndWheelMoves) {
  state().setVisible({200'000, 300'000});
  wheel(plot_.center(), {0, -120}, Qt::ShiftModifier);
  EXPECT_EQ(state().visible().lengthNs(), 100'000);
  EXPECT_GT(state().visible().startNs, 200'000);
}

TEST_F(Window, DraggingMovesTheTimeWithThePointer) {
  state().setVisible({200'000, 300'000});
  const QPoint from = plot_.center(), to = from + QPoint(60, 0);
  const std::int64_t grabbed = timeAt(from.x());
  mouse(QEvent::MouseButtonPress, from, Qt::LeftButton, Qt::LeftButton);
  mouse(QEvent::MouseMove, from + QPoint(30, 0), Qt::NoButton, Qt::LeftButton);
  mouse(QEvent::MouseMove, to, Qt::NoButton, Qt::LeftButton);
  EXPECT_NEAR(static_cast<double>(timeAt(to.x())), static_cast<double>(grabbed), 2 * axis().nsPerPx());
  mouse(QEvent::MouseButtonRelease, to, Qt::LeftButton, Qt::NoButton);
  EXPECT_FALSE(state().selectedFunction());  // a drag is no click
}

TEST_F(Window, HoverFindsTheBarAndDescribesIt) {
  mouse(QEvent::MouseMove, pointOf("stream 7", 225'000), Qt::NoButton, Qt::NoButton);
  ASSERT_TRUE(state().hovered());
  const auto* box = view().findChild<HoverBox*>();
  ASSERT_TRUE(box);
  EXPECT_TRUE(box->isVisible());
  EXPECT_TRUE(view().viewport()->rect().contains(box->geometry()));
  for (const char* essential : {"beta", "528", "1024", "50.0 us", "7"}) {
    EXPECT_TRUE(box->text().contains(essential)) << essential << " in " << box->text().toStdString();
  }
  mouse(QEvent::MouseMove, pointOf("stream 7", 275'000), Qt::NoButton, Qt::NoButton);  // between two kernels
  EXPECT_FALSE(state().hovered());
  EXPECT_FALSE(box->isVisible());
}

TEST(CounterHover, ShowsTheValueAndGoesAway) {
  const auto file = test::writeCountersProfile();
  MainWindow window;
  window.resize(1200, 800);
  window.show();
  bool opened = false;
  QObject::connect(&window, &MainWindow::opened, &window, [&opened] { opened = true; });
  window.open(file->path);
  ASSERT_TRUE(test::waitUntil([&] { return opened; }));
  QApplication::processEvents();
  TimelineView& view = *window.timeline();
  window.state()->setVisible({100'000, 400'000});
  const QRect plot = view.geometryOfParts().plot;
  const std::vector<LaneBox> boxes = view.lanes().boxes(plot.height());
  const TimeAxis axis(window.state()->visible(), plot.width());
  const auto moveTo = [&](std::int64_t ns, std::size_t lane) {
    const QPointF at(plot.left() + axis.columnOf(ns), plot.top() + boxes[lane].top + boxes[lane].height / 2);
    QMouseEvent event(QEvent::MouseMove, at, view.viewport()->mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                      Qt::NoModifier);
    QApplication::sendEvent(view.viewport(), &event);
  };
  const auto* box = view.findChild<HoverBox*>();
  moveTo(150'000, 2);
  EXPECT_TRUE(box->isVisible());
  EXPECT_TRUE(box->text().contains("SM occupancy") && box->text().contains("50.0 %"))
      << box->text().toStdString();
  moveTo(275'000, 2);
  EXPECT_FALSE(box->isVisible()) << "a hole between samples";
  moveTo(150'000, 4);
  EXPECT_TRUE(box->text().contains("3.00 TB/s")) << box->text().toStdString();
  QEvent leave(QEvent::Leave);
  QApplication::sendEvent(view.viewport(), &leave);
  EXPECT_FALSE(box->isVisible());
}

TEST_F(Window, ZoomingEndsTheHover) {
  mouse(QEvent::MouseMove, pointOf("stream 7", 225'000), Qt::NoButton, Qt::NoButton);
  ASSERT_TRUE(state().hovered());
  state().fitAll();
  EXPECT_FALSE(state().hovered());
  EXPECT_FALSE(view().findChild<HoverBox*>()->isVisible());
}

TEST_F(Window, AClickSelectsTheKernelInBothViews) {
  click(pointOf("stream 7", 225'000));
  ASSERT_TRUE(state().selectedFunction());
  const QModelIndexList rows = window_.kernels()->table()->selectionModel()->selectedRows();
  ASSERT_EQ(rows.size(), 1);
  EXPECT_EQ(rows[0].data().toString(), "beta");
  click(pointOf("stream 7", 275'000));
  EXPECT_FALSE(state().selectedFunction());
  EXPECT_TRUE(window_.kernels()->table()->selectionModel()->selectedRows().isEmpty());
}

TEST_F(Window, TheTableSelectsAndZoomsToTheLongest) {
  QTableView* table = window_.kernels()->table();
  ASSERT_EQ(table->model()->rowCount(), 2);
  table->selectRow(0);
  ASSERT_TRUE(state().selectedFunction());
  emit table->doubleClicked(table->model()->index(0, 0));
  // alpha's longest: 150-400 us, with context on both sides, inside the run.
  EXPECT_LE(state().visible().startNs, 150'000);
  EXPECT_GE(state().visible().endNs, 400'000);
  emit table->doubleClicked(table->model()->index(1, 0));
  EXPECT_LE(state().visible().lengthNs(), 150'000);
  EXPECT_GE(state().visible().startNs, 150'000);
}

TEST_F(Window, ADoubleClickOnABarZoomsToIt) {
  mouse(QEvent::MouseButtonDblClick, pointOf("stream 7", 310'000), Qt::LeftButton, Qt::LeftButton);
  EXPECT_LT(state().visible().lengthNs(), 60'000);
  EXPECT_LE(state().visible().startNs, 300'000);
  EXPECT_GE(state().visible().endNs, 320'000);
}

TEST_F(Window, KeysMoveTheView) {
  const auto press = [this](Qt::Key key) {
    for (QAction* action : window_.actions()) {
      if (action->shortcuts().contains(QKeySequence(key))) return action->trigger();
    }
    ADD_FAILURE() << "no action for key " << key;
  };
  const TimeSpan first = state().visible();
  press(Qt::Key_W);
  const TimeSpan nearer = state().visible();
  EXPECT_LT(nearer.lengthNs(), first.lengthNs());
  press(Qt::Key_D);
  EXPECT_GT(state().visible().startNs, nearer.startNs);
  press(Qt::Key_A);
  EXPECT_EQ(state().visible(), nearer);
  press(Qt::Key_S);
  EXPECT_GT(state().visible().lengthNs(), nearer.lengthNs());
  press(Qt::Key_F);
  EXPECT_EQ(state().visible(), state().limits());
  press(Qt::Key_G);
  EXPECT_EQ(state().visible(), first);
}

TEST_F(Window, PaintsTheBarsInTheirColours) {
  const QImage image = view().viewport()->grab().toImage();
  const LoadedProfile& profile = *window_.profile();
  for (const analyzer::FunctionSummary& function : profile.kernels->functions) {
    const QPoint at = pointOf("stream 7", function.shortName == "alpha" ? 196'000 : 246'000);
    EXPECT_EQ(image.pixel(at), profile.colors.ofFunction(function.function)) << function.shortName;
  }
  const QPoint between = pointOf("stream 7", 275'000);
  EXPECT_EQ(image.pixel(between), Theme::from(view().palette()).band);
}

TEST_F(Window, NarrowTablesDropWholeColumns) {
  window_.resize(700, 500);
  QApplication::processEvents();
  const QTableView* table = window_.kernels()->table();
  int used = 0;
  for (int column = 0; column < KernelTableModel::columns; ++column) {
    if (!table->isColumnHidden(column)) used += table->columnWidth(column);
  }
  EXPECT_LE(used, table->width());
  EXPECT_TRUE(table->isColumnHidden(KernelTableModel::median));
  EXPECT_FALSE(table->isColumnHidden(KernelTableModel::share));
}

}  // namespace
}  // namespace warpmeter::gui
