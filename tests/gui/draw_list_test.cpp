// SPDX-License-Identifier: Apache-2.0
// What is drawn where, without painting.
#include "models/draw_list.h"

#include <gtest/gtest.h>

#include <QFont>
#include <cmath>

#include "gui/small_profile.h"

namespace warpmeter::gui {
namespace {

using test::loadAll;
using test::writeCountersProfile;
using test::writeManyKernels;
using test::writeSmallProfile;

class Drawing : public testing::Test {
 protected:
  void open(const QString& path) {
    profile_ = loadAll(path);
    ASSERT_TRUE(profile_);
    lanes_.setTimeline(profile_->timeline, profile_->counterLanes);
    boxes_ = lanes_.boxes(700);
  }
  void draw(TimeSpan visible, int widthPx, int scrollY = 0, int heightPx = 700) {
    list_.build({lanes_, boxes_, profile_->colors, highlight_, theme_, metrics_, TimeAxis(visible, widthPx),
                 scrollY, heightPx});
  }
  // The lane of the first track of that kind whose text contains `text`.
  std::size_t laneOf(const QString& text) const {
    for (std::size_t i = 0; i < lanes_.lanes().size(); ++i) {
      if (lanes_.lanes()[i].kind == LaneKind::track && lanes_.lanes()[i].text.contains(text)) return i;
    }
    ADD_FAILURE() << "no lane " << text.toStdString();
    return 0;
  }
  std::vector<QRect> rectsIn(std::size_t lane) const {
    const QRect area(0, boxes_[lane].top, 100'000, boxes_[lane].height);
    std::vector<QRect> out;
    for (const ColorBatch& batch : list_.batches()) {
      for (const QRect& rect : batch.rects) {
        if (area.contains(rect)) out.push_back(rect);
      }
    }
    std::sort(out.begin(), out.end(), [](const QRect& a, const QRect& b) { return a.left() < b.left(); });
    return out;
  }

  std::shared_ptr<const LoadedProfile> profile_;
  LaneModel lanes_;
  std::vector<LaneBox> boxes_;
  Highlight highlight_;
  Theme theme_ = Theme::from(lightPalette());
  QFontMetrics metrics_{QFont()};
  DrawList list_;
};

TEST_F(Drawing, BarsStandWhereTheKernelsRan) {
  open(writeSmallProfile()->path);
  draw({0, 1'000'000}, 1000);  // 1 us a pixel
  const std::vector<QRect> bars = rectsIn(laneOf("stream 7"));
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_EQ(bars[0].left(), 100);
  EXPECT_EQ(bars[0].right(), 198);  // 199 is the gap to the next
  EXPECT_EQ(bars[1].left(), 200);
  EXPECT_EQ(bars[1].width(), 49);
  EXPECT_EQ(bars[2].left(), 300);
  QStringList texts;
  for (const BarLabel& label : list_.labels()) texts << label.text;
  EXPECT_TRUE(texts.contains("alpha") && texts.contains("beta")) << texts.join(',').toStdString();
}

TEST_F(Drawing, NestedRangesLieBelowEachOther) {
  open(writeSmallProfile()->path);
  draw({0, 1'000'000}, 1000);
  const std::vector<QRect> ranges = rectsIn(laneOf("NVTX"));
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].left(), 80);
  EXPECT_GT(ranges[1].top(), ranges[0].bottom());
}

TEST_F(Drawing, ManyKernelsInAPixelBecomeItsBusyShare) {
  open(writeManyKernels(20'000)->path);  // 30 ms, busy two thirds
  draw({0, 30'000'000}, 500);
  const std::size_t lane = laneOf("stream 7");
  const std::vector<QRect> columns = rectsIn(lane);
  ASSERT_FALSE(columns.empty());
  EXPECT_LE(list_.rectCount(), 500u);
  int covered = 0;
  for (const QRect& rect : columns) {
    EXPECT_NEAR(rect.height(), boxes_[lane].rowHeight * 2 / 3, 2);
    covered += rect.width();
  }
  EXPECT_EQ(covered, 500);
}

TEST_F(Drawing, ASelectedFunctionStaysAndTheRestFades) {
  open(writeSmallProfile()->path);
  const analyzer::KernelSummary& kernels = *profile_->kernels;
  const std::uint32_t beta = kernels.functions[1].function;
  ASSERT_EQ(kernels.functions[1].shortName, "beta");
  highlight_ = Highlight(*profile_->timeline, beta);
  EXPECT_EQ(highlight_.launches(), 1u);
  EXPECT_EQ(*highlight_.longest(), (TimeSpan{200'000, 250'000}));
  draw({0, 1'000'000}, 1000);
  bool kept = false, strip = false;
  for (const ColorBatch& batch : list_.batches()) {
    EXPECT_NE(batch.color, profile_->colors.ofFunction(kernels.functions[0].function));
    if (batch.color == profile_->colors.ofFunction(beta))
      kept = batch.rects.size() == 1 && batch.rects[0].left() == 200;
    if (batch.color == theme_.accent) strip = batch.rects.size() == 1 && batch.rects[0].left() == 200;
  }
  EXPECT_TRUE(kept);
  EXPECT_TRUE(strip);
}

TEST_F(Drawing, CountersAreAreasAsHighAsTheirMean) {
  open(writeCountersProfile()->path);
  draw({0, 1'000'000}, 1000);  // 1 us a pixel
  std::size_t lane = 0;
  while (lane < lanes_.lanes().size() && !lanes_.lanes()[lane].text.startsWith("SM occupancy")) ++lane;
  ASSERT_LT(lane, lanes_.lanes().size());
  ASSERT_EQ(lanes_.lanes()[lane].kind, LaneKind::counter);
  const std::vector<QRect> areas = rectsIn(lane);
  // 50 %, 25 %, a hole, 75 %; an idle GPU has no occupancy.
  ASSERT_EQ(areas.size(), 3u);
  EXPECT_EQ(areas[0].left(), 100);
  EXPECT_EQ(areas[0].right(), 199);
  EXPECT_EQ(areas[2].left(), 300);
  EXPECT_EQ(areas[2].right(), 399);
  const int full = boxes_[lane].rowHeight;
  EXPECT_NEAR(areas[0].height(), full * 0.5, 1);
  EXPECT_NEAR(areas[1].height(), full * 0.25, 1);
  EXPECT_NEAR(areas[2].height(), full * 0.75, 1);
  for (const QRect& area : areas) EXPECT_EQ(area.bottom(), boxes_[lane].rowTop + full - 1);
  // Seen from far away one column holds them all: mean below, largest above.
  draw({0, 100'000'000}, 100);
  const std::vector<QRect> column = rectsIn(lane);
  ASSERT_EQ(column.size(), 2u);
  EXPECT_EQ(column[0].left(), 0);
  EXPECT_EQ(std::min(column[0].top(), column[1].top()),
            boxes_[lane].rowTop + full - std::lround(full * 0.75));
}

TEST_F(Drawing, OnlyVisibleLanesAreDrawn) {
  open(writeSmallProfile()->path);
  draw({0, 1'000'000}, 1000, 0, 700);
  const std::size_t all = list_.rectCount();
  const int below = boxes_[laneOf("stream 13")].top;
  draw({0, 1'000'000}, 1000, below, 700);
  EXPECT_EQ(list_.rectCount(), all - 3);  // without those of stream 7
  draw({0, 1'000'000}, 1000, boxes_.back().bottom(), 700);
  EXPECT_EQ(list_.rectCount(), 0u);
}

}  // namespace
}  // namespace warpmeter::gui
