// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/span_lod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/view_of.h"
#include "warpmeter/analyzer/timeline.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using testing::ElementsAre;
using testing::IsEmpty;

struct Row {
  std::vector<std::int64_t> start;
  std::vector<std::uint32_t> duration;
  std::vector<std::uint32_t> key;
  void add(std::int64_t begin, std::uint32_t ns, std::uint32_t k = 0) {
    start.push_back(begin), duration.push_back(ns), key.push_back(k);
  }
  Spans spans() const {
    Spans s;
    s.start = Column<std::int64_t>(start);
    s.duration = Column<std::uint32_t>(duration);
    return s;
  }
  SpanIndex index(std::vector<std::uint32_t> items = {}) const {
    return SpanIndex(spans(), std::move(items), Column<std::uint32_t>(key));
  }
};

Row randomRow(unsigned seed, int n, bool overlap) {
  std::mt19937 random(seed);
  Row row;
  std::int64_t t = -50;
  for (int i = 0; i < n; ++i) {
    const auto ns = static_cast<std::uint32_t>(random() % (random() % 10 == 0 ? 40 : 4));
    row.add(t, ns, static_cast<std::uint32_t>(random() % 3));
    t += static_cast<std::int64_t>(random() % 4) + (overlap ? 0 : ns);
  }
  return row;
}

TEST(SpanIndex, BusyTimeEqualsBruteForce) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Row row = randomRow(seed, 120, seed % 2 == 1);
    const SpanIndex index = row.index();
    std::mt19937 random(seed + 100);
    for (int i = 0; i < 200; ++i) {
      const auto t0 = static_cast<std::int64_t>(random() % 400) - 80,
                 t1 = t0 + static_cast<std::int64_t>(random() % 120);
      std::int64_t busy = 0;
      for (std::int64_t t = t0; t < t1; ++t) {
        bool any = false;
        for (std::size_t k = 0; k < row.start.size(); ++k) {
          any = any || (row.start[k] <= t && t < row.start[k] + row.duration[k]);
        }
        busy += any;
      }
      ASSERT_EQ(index.busyNs(t0, t1), busy) << "seed " << seed << " [" << t0 << ", " << t1 << ")";
    }
  }
}

TEST(SpanIndex, PictureHoldsEveryBarAndTheBusyPartOfEveryColumn) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const Row row = randomRow(seed, 500, false);
    const SpanIndex index = row.index();
    const std::int64_t t0 = 17, t1 = 17 + 640;
    constexpr int kPixels = 80;  // 8 ns each
    RowPicture picture;
    index.picture(t0, t1, kPixels, picture);
    std::vector<std::uint32_t> bars;
    for (std::uint32_t i = 0; i < row.start.size(); ++i) {
      if (row.start[i] < t1 && row.start[i] + row.duration[i] > t0 && row.duration[i] >= 8) bars.push_back(i);
    }
    std::vector<std::uint32_t> drawn;
    for (const Bar& b : picture.bars) drawn.push_back(b.item);
    ASSERT_EQ(drawn, bars);
    std::map<int, DensityColumn> columns;
    for (const DensityColumn& c : picture.columns) columns[c.pixel] = c;
    for (int p = 0; p < kPixels; ++p) {
      const std::int64_t begin = t0 + p * 8, end = begin + 8;
      bool shortSpans = false, covered = false;
      for (std::uint32_t i = 0; i < row.start.size(); ++i) {
        const std::int64_t s = row.start[i], e = s + row.duration[i];
        if (s < end && e > begin && e > s) shortSpans = shortSpans || row.duration[i] < 8;
        covered = covered || (row.duration[i] >= 8 && s <= begin && e >= end);
      }
      if (shortSpans && !covered) {
        ASSERT_TRUE(columns.contains(p)) << "seed " << seed << " pixel " << p;
        EXPECT_FLOAT_EQ(columns[p].busy, static_cast<float>(index.busyNs(begin, end)) / 8);
      }
      EXPECT_FALSE(covered && columns.contains(p)) << "hidden behind a bar";
    }
  }
}

TEST(SpanIndex, DominantIsTheKeyWithMostTimeInTheColumn) {
  Row row;
  row.add(0, 30, 1);   // once 30
  row.add(30, 20, 2);  // twice 20
  row.add(50, 20, 2);
  row.add(70, 10, 3);
  RowPicture picture;
  row.index().picture(0, 1000, 10, picture);
  ASSERT_EQ(picture.columns.size(), 1u);
  EXPECT_EQ(picture.columns[0].item, 1u);
  EXPECT_FLOAT_EQ(picture.columns[0].busy, 0.8f);
}

TEST(SpanIndex, EmptyRangesAndRowsGiveNothing) {
  RowPicture picture;
  Row().index().picture(0, 100, 10, picture);
  EXPECT_THAT(picture.bars, IsEmpty());
  Row row;
  row.add(0, 100);
  row.index().picture(50, 50, 10, picture);
  EXPECT_THAT(picture.bars, IsEmpty());
  row.index().picture(100, 200, 10, picture);
  EXPECT_THAT(picture.bars, IsEmpty()) << "half-open";
  row.index().picture(99, 200, 10, picture);
  ASSERT_EQ(picture.bars.size(), 1u);
  EXPECT_EQ(picture.bars[0].startNs, 0);
}

TEST(SpanIndex, LongSpanBeforeManyShortOnesIsStillSeen) {
  Row row;
  row.add(0, 1'000'000);
  for (int i = 1; i < 5000; ++i) row.add(i * 100, 50);
  RowPicture picture;
  row.index().picture(400'000, 400'100, 100, picture);
  ASSERT_EQ(picture.bars.size(), 2u);
  EXPECT_EQ(picture.bars[0].item, 0u);
}

TEST(SpanIndex, ItemAtPrefersWhatCoversAndKeepsTheTolerance) {
  Row row;
  row.add(0, 10);
  row.add(20, 10);
  row.add(40, 0);
  const SpanIndex index = row.index();
  EXPECT_EQ(index.itemAt(5, 0), 0u);
  EXPECT_EQ(index.itemAt(20, 0), 1u);
  EXPECT_EQ(index.itemAt(15, 0), kNone);
  EXPECT_EQ(index.itemAt(13, 5), 0u);
  EXPECT_EQ(index.itemAt(18, 5), 1u);
  EXPECT_EQ(index.itemAt(41, 2), 2u);
  EXPECT_EQ(index.itemAt(60, 5), kNone);
}

TEST(SpanIndex, RowsOfSomeItemsAnswerWithTheirIndexInTheLane) {
  Row row;
  row.add(0, 10);
  row.add(5, 100);
  row.add(20, 10);
  const SpanIndex index = row.index({0, 2});
  EXPECT_EQ(index.itemAt(25, 0), 2u);
  EXPECT_EQ(index.busyNs(0, 100), 20);
}

TEST(Timeline, TracksAndRows) {
  const auto view = std::make_shared<const ProfileView>(support::viewOf(R"dsl(
    gpu 0 name="NVIDIA H200" cc=9.0
    process 4 name=app
    kernel 4 "void k<int>(int)" 0..100 stream=7 corr=1 grid=2 block=256 regs=72
    kernel 4 "void k<int>(int)" 50..120 stream=7 corr=2
    memcpy 4 HtoD 10..20 bytes=1000 src=pageable
    api 4 cudaLaunchKernel_v7000 -20..-10 corr=1
    api 4 cuLaunchKernel -18..-12 corr=1 driver
    nvtx 4 step -30..200
  )dsl"));
  const Timeline timeline = must(Timeline::build(view));
  ASSERT_EQ(timeline.tracks().size(), 4u);
  const Track& kernels = timeline.tracks()[0];
  EXPECT_EQ(kernels.text, "stream 7 kernels");
  EXPECT_EQ(kernels.processText, "app (4)");
  EXPECT_EQ(kernels.gpuText, "GPU 0 NVIDIA H200");
  ASSERT_EQ(kernels.rows.size(), 2u) << "kernels that overlap lie in two rows";
  EXPECT_EQ(kernels.rows[1].itemAt(60, 0), 1u);
  EXPECT_EQ(timeline.label(kernels, 0), "k");
  EXPECT_EQ(timeline.colorKey(kernels, 0), timeline.colorKey(kernels, 1));
  const SpanText text = timeline.describe(kernels, 0);
  EXPECT_EQ(text.title, "k");
  const std::map<std::string, std::string> lines(text.lines.begin(), text.lines.end());
  EXPECT_EQ(lines.at("duration"), "100 ns");
  EXPECT_EQ(lines.at("grid x block"), "2 x 256");
  EXPECT_EQ(lines.at("launched by"), "cudaLaunchKernel");
  EXPECT_EQ(lines.at("call to start"), "20 ns");
  EXPECT_EQ(lines.at("occupancy"), "37.5 % possible, held by grid");
  EXPECT_EQ(timeline.tracks()[1].kind, TrackKind::copies);
  EXPECT_EQ(timeline.tracks()[2].kind, TrackKind::nvtx);
  EXPECT_EQ(timeline.tracks()[3].rows.size(), 2u) << "the driver call lies below the runtime call";
}

}  // namespace
}  // namespace warpmeter::analyzer
