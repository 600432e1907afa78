// SPDX-License-Identifier: Apache-2.0
#include "models/time_axis.h"

#include <gtest/gtest.h>

#include "models/time_text.h"
#include "models/view_state.h"

namespace warpmeter::gui {
namespace {

constexpr TimeSpan kLimits{0, 1'000'000};

TEST(TimeAxis, MapsTimeToPixelsAndBack) {
  const TimeAxis axis({1000, 3000}, 1000);
  EXPECT_DOUBLE_EQ(axis.nsPerPx(), 2.0);
  EXPECT_DOUBLE_EQ(axis.xOf(1500), 250.0);
  EXPECT_EQ(axis.nsAt(250.0), 1500);
  EXPECT_EQ(axis.columnOf(-5'000'000'000), 0);
  EXPECT_EQ(axis.columnOf(5'000'000'000), 1000);
}

TEST(TimeAxis, ZoomKeepsTheTimeUnderThePointer) {
  const TimeAxis axis({200'000, 600'000}, 1000);
  for (const double x : {0.0, 137.0, 500.0, 999.0}) {
    const TimeAxis nearer = axis.zoomedAt(x, 0.5, kLimits);
    EXPECT_EQ(nearer.visible().lengthNs(), 200'000);
    EXPECT_NEAR(static_cast<double>(nearer.nsAt(x)), static_cast<double>(axis.nsAt(x)), 1.0) << x;
  }
}

TEST(TimeAxis, NeverLeavesTheLimits) {
  const TimeAxis axis({0, 400'000}, 1000);
  EXPECT_EQ(axis.zoomedAt(500, 100.0, kLimits).visible(), kLimits);
  EXPECT_EQ(axis.pannedBy(-50, kLimits).visible(), (TimeSpan{0, 400'000}));
  EXPECT_EQ(axis.pannedBy(1e6, kLimits).visible(), (TimeSpan{600'000, 1'000'000}));
  // 0.5 away from the left border, zooming out: the border stays the border.
  EXPECT_EQ(axis.zoomedAt(0, 1.5, kLimits).visible(), (TimeSpan{0, 600'000}));
}

TEST(TimeAxis, StopsAtTheShortestView) {
  TimeAxis axis({500'000, 501'000}, 1000);
  for (int i = 0; i < 20; ++i) axis = axis.zoomedAt(500, 0.5, kLimits);
  EXPECT_EQ(axis.visible().lengthNs(), kShortestViewNs);
  EXPECT_EQ(TimeAxis({10, 10}, 100).visible().lengthNs(), kShortestViewNs);
}

TEST(TimeText, ResolvesNeighbours) {
  EXPECT_EQ(timeText(1'250'000'000, 10'000'000), "1.25 s");
  EXPECT_EQ(timeText(1'250'000'000, 1'000'000'000), "1 s");
  EXPECT_EQ(timeText(-1'500, 100), "-1.5 us");
  EXPECT_EQ(timeText(0, 1000), "0 us");
}

TEST(Ruler, LabelsLieApartAndAreInsideTheView) {
  for (const TimeSpan span : {TimeSpan{0, 12'500'000'000}, TimeSpan{-40'000, 173'000}, TimeSpan{5'000, 5'200},
                              TimeSpan{155'360'295'935, 155'361'295'935}}) {
    const TimeAxis axis(span, 1000);
    const Ruler ruler = rulerFor(axis, 100);
    double before = -1e9;
    int labels = 0;
    for (const Tick& tick : ruler.ticks) {
      EXPECT_GE(tick.ns, span.startNs);
      EXPECT_LE(tick.ns, span.endNs);
      if (!tick.major) continue;
      ++labels;
      EXPECT_GE(axis.xOf(tick.ns) - before, 100.0);
      before = axis.xOf(tick.ns);
    }
    EXPECT_GE(labels, 3) << span.startNs;
    EXPECT_LE(labels, 11) << span.startNs;
  }
}

TEST(Ruler, CountsFromABaseDeepInsideALongRun) {
  const Ruler ruler = rulerFor(TimeAxis({155'360'295'935, 155'360'305'935}, 1000), 100);
  EXPECT_TRUE(ruler.relative);
  EXPECT_EQ(ruler.stepNs, 1000);
  EXPECT_EQ(ruler.base, "155.36029 s");
  for (const Tick& tick : ruler.ticks) {
    if (!tick.major) continue;
    EXPECT_TRUE(tick.label.startsWith("+") && tick.label.endsWith(" us")) << tick.label.toStdString();
  }
  EXPECT_FALSE(rulerFor(TimeAxis({0, 1'000'000}, 1000), 100).relative);
}

TEST(Ruler, CountsFromTheBeginningOfTheRun) {
  const Ruler ruler = rulerFor(TimeAxis({7'000'003, 8'000'003}, 1000), 250, 7'000'003);
  ASSERT_FALSE(ruler.ticks.empty());
  EXPECT_EQ(ruler.ticks.front().ns, 7'000'003);
  EXPECT_EQ(ruler.ticks.front().label, "0.0 ms");
  EXPECT_FALSE(ruler.relative);
}

TEST(ViewState, TellsOnlyAboutChanges) {
  ViewState state;
  state.reset({0, 1000'000}, {100'000, 300'000});
  int visible = 0, selection = 0;
  QObject::connect(&state, &ViewState::visibleChanged, &state, [&visible] { ++visible; });
  QObject::connect(&state, &ViewState::selectionChanged, &state, [&selection] { ++selection; });
  state.fitWork();
  EXPECT_EQ(visible, 0);
  state.fitAll();
  state.fitAll();
  EXPECT_EQ(visible, 1);
  EXPECT_EQ(state.visible(), (TimeSpan{0, 1000'000}));
  state.selectFunction(3);
  state.selectFunction(3);
  EXPECT_EQ(selection, 1);
}

TEST(ViewState, KeepsTheViewWhenMoreBecomesKnown) {
  ViewState state;
  state.reset({0, 1000'000}, {100'000, 300'000});
  state.setVisible({150'000, 200'000});
  state.setHovered(ItemRef{0, 0, 0});
  state.extend({-500'000, 1000'000}, {90'000, 300'000});
  EXPECT_EQ(state.visible(), (TimeSpan{150'000, 200'000}));
  EXPECT_FALSE(state.hovered());
  state.fitWork();
  EXPECT_EQ(state.visible(), (TimeSpan{90'000, 300'000}));
}

}  // namespace
}  // namespace warpmeter::gui
