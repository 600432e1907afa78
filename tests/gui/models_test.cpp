// SPDX-License-Identifier: Apache-2.0
// The item models on a small profile, checked by Qt's own model tester as well.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSortFilterProxyModel>

#include "gui/small_profile.h"
#include "models/header_text.h"
#include "models/kernel_details.h"
#include "models/kernel_table_model.h"
#include "models/lane_model.h"

namespace warpmeter::gui {
namespace {

using test::loadAll;
using test::writeCountersProfile;
using test::writePcProfile;
using test::writeSmallProfile;
constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;

class Models : public testing::Test {
 protected:
  static void SetUpTestSuite() { profile_ = loadAll(writeSmallProfile()->path); }
  static void TearDownTestSuite() { profile_.reset(); }
  void SetUp() override { ASSERT_TRUE(profile_); }
  static std::shared_ptr<const LoadedProfile> profile_;
};
std::shared_ptr<const LoadedProfile> Models::profile_;

QStringList textsOf(const QAbstractItemModel& model, int column) {
  QStringList out;
  for (int row = 0; row < model.rowCount(); ++row) out << model.index(row, column).data().toString();
  return out;
}

TEST_F(Models, LanesGoFromProcessToGpuToStreamsToThreads) {
  LaneModel lanes;
  const QAbstractItemModelTester tester(&lanes, kFatal);
  lanes.setTimeline(profile_->timeline);
  std::vector<LaneKind> kinds;
  for (const Lane& lane : lanes.lanes()) kinds.push_back(lane.kind);
  ASSERT_GE(kinds.size(), 7u);
  EXPECT_EQ(kinds[0], LaneKind::process);
  EXPECT_EQ(kinds[1], LaneKind::gpu);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), LaneKind::gpu), 1);
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), LaneKind::track), 5);  // 7, 13, 13 copies, API, NVTX
  const QStringList texts = textsOf(lanes, 0);
  EXPECT_TRUE(texts[0].contains("train") && texts[0].contains("100")) << texts[0].toStdString();
  EXPECT_TRUE(texts[1].contains("H200")) << texts[1].toStdString();
  EXPECT_TRUE(texts[2].contains("stream 7")) << texts[2].toStdString();
  lanes.setTimeline(nullptr);
  EXPECT_EQ(lanes.rowCount(), 0);
}

TEST_F(Models, CounterLanesStandOnceBelowTheirGpu) {
  const auto file = writeCountersProfile();
  const auto profile = loadAll(file->path);
  ASSERT_TRUE(profile);
  LaneModel lanes;
  const QAbstractItemModelTester tester(&lanes, kFatal);
  lanes.setTimeline(profile->timeline, profile->counterLanes);
  const QStringList texts = textsOf(lanes, 0);
  ASSERT_GE(texts.size(), 7);
  EXPECT_EQ(texts[2], "SM occupancy, up to 100 %");
  EXPECT_EQ(texts[3], "SMs active, up to 100 %");
  EXPECT_EQ(texts[4], "DRAM read, up to 3.50 TB/s");
  EXPECT_EQ(texts[5], "DRAM write, up to 1.50 TB/s");
  EXPECT_TRUE(texts[6].contains("stream 7")) << texts[6].toStdString();
  const std::vector<LaneBox> boxes = lanes.boxes(700);
  for (std::size_t i = 1; i < boxes.size(); ++i) EXPECT_EQ(boxes[i].top, boxes[i - 1].bottom());
  EXPECT_FALSE(rowAt(lanes.lanes(), boxes, boxes[2].rowTop + 1)) << "no bars to point at";
}

TEST_F(Models, ACounterSaysItsValueUnderThePointer) {
  const auto file = writeCountersProfile();
  const auto profile = loadAll(file->path);
  ASSERT_TRUE(profile);
  LaneModel lanes;
  lanes.setTimeline(profile->timeline, profile->counterLanes);
  const std::vector<LaneBox> boxes = lanes.boxes(700);
  EXPECT_FALSE(counterAt(lanes.lanes(), boxes, boxes[1].top)) << "the GPU's own line";
  ASSERT_EQ(counterAt(lanes.lanes(), boxes, boxes[4].top + 1), 4u);
  EXPECT_FALSE(counterAt(lanes.lanes(), boxes, boxes[6].top + 1)) << "a stream";
  EXPECT_FALSE(counterAt(lanes.lanes(), boxes, boxes.back().bottom()));

  using Lines = std::vector<std::pair<std::string, std::string>>;
  // 6 MB in 2 us.
  const auto text = counterText(lanes.counter(lanes.lanes()[4]), {150'000, 150'001}, 0);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->title, "DRAM read");
  EXPECT_EQ(
      text->lines,
      (Lines{{"at", "150.000 us"}, {"value", "3.00 TB/s"}, {"counted by", "set 1: dram__bytes_read.sum"}}));
  // 190-200 us: 6 MB a sample, 200-210 us: 1 MB.
  const auto edge = counterText(lanes.counter(lanes.lanes()[4]), {190'000, 210'000}, 0);
  ASSERT_TRUE(edge);
  EXPECT_EQ(edge->lines[1].second, "1.75 TB/s");
  EXPECT_EQ(edge->lines[2], std::pair(std::string("10 samples"), std::string("500 GB/s to 3.00 TB/s")));
  EXPECT_FALSE(counterText(lanes.counter(lanes.lanes()[4]), {260'000, 270'000}, 0)) << "a hole";
}

TEST_F(Models, TheTableShowsWhatWasMeasured) {
  auto with = std::make_shared<LoadedProfile>(*profile_);
  KernelTableModel model;
  model.setProfile(with);
  EXPECT_FALSE(model.hasCounters());
  EXPECT_EQ(textsOf(model, KernelTableModel::achieved), QStringList({u"\u2014"_qs, u"\u2014"_qs}));

  with->counters.emplace();
  with->counters->quality.any = true;
  with->counters->kernels.resize(with->view->distinctKernels().size());
  with->bounds.emplace();
  with->bounds->kernels.resize(with->view->distinctKernels().size());
  const std::uint32_t alpha = with->kernels->functions[0].distinct[0].distinct;
  for (std::uint32_t d = 0; d < with->counters->kernels.size(); ++d) {
    with->counters->kernels[d].occupancyPct = analyzer::Metric::missing(analyzer::Reason::tooFewSamples);
    with->bounds->kernels[d].reason = analyzer::Reason::tooFewSamples;
  }
  with->counters->kernels[alpha].occupancyPct = {47.5, 47.0, 48.0, 812, analyzer::Provenance::sampledFit, {}};
  analyzer::KernelBound& bound = with->bounds->kernels[alpha];
  bound.bound = analyzer::Bound::dram;
  bound.reason.reset();
  bound.sharePct = 88.2;
  bound.why = "88 % of DRAM";
  model.setProfile(with);
  EXPECT_TRUE(model.hasCounters());
  EXPECT_EQ(textsOf(model, KernelTableModel::achieved), QStringList({"47.5 %", u"\u2014"_qs}));
  EXPECT_EQ(textsOf(model, KernelTableModel::boundBy), QStringList({"DRAM 88 %", u"\u2014"_qs}));
  const auto tip = [&](int row, int column) {
    return model.index(row, column).data(Qt::ToolTipRole).toString();
  };
  EXPECT_EQ(tip(0, KernelTableModel::achieved), "47.0 % to 48.0 % (95 %), 812 samples, fitted to samples");
  EXPECT_EQ(tip(0, KernelTableModel::boundBy), "maybe: 88 % of DRAM");
  EXPECT_EQ(tip(1, KernelTableModel::boundBy), "too few samples");
  EXPECT_LT(model.index(1, KernelTableModel::achieved).data(KernelTableModel::sortRole).toDouble(), 0);
}

// The lines from the one called `first` on.
std::vector<std::string> linesFrom(const KernelDetails& details, const std::string& first) {
  std::vector<std::string> out;
  bool there = false;
  for (const auto& [name, value] : details.lines) {
    there = there || name == first;
    if (there) out.push_back(name + "|" + value);
  }
  return out;
}

TEST_F(Models, DetailsSayWhyWarpsWait) {
  EXPECT_TRUE(linesFrom(kernelDetails(*profile_), "warps wait for").empty()) << "nothing without PC samples";
  const auto file = writePcProfile();
  const auto profile = loadAll(file->path);
  ASSERT_TRUE(profile);
  const std::vector<std::string> expected{"warps wait for|60.0 % data from L1, L2 or DRAM",
                                          "|25.0 % issuing",
                                          "|15.0 % the other warps at a block's barrier",
                                          "they wait at|60.0 % alpha.cu:17, long scoreboard",
                                          "|25.0 % alpha.cu:18, issuing",
                                          "|15.0 % +0x30, barrier",
                                          "PC samples|1 000 of all sizes together"};
  EXPECT_EQ(linesFrom(kernelDetails(*profile), "warps wait for"), expected);
  const std::uint32_t beta = profile->kernels->functions[1].function;
  EXPECT_EQ(linesFrom(kernelDetails(*profile, beta), "warps wait for"),
            std::vector<std::string>{"warps wait for|not measured: too few samples (30)"});
}

TEST_F(Models, BoxesFollowEachOtherAndGrowWithTheRoom) {
  LaneModel lanes;
  lanes.setTimeline(profile_->timeline);
  const std::vector<LaneBox> tight = lanes.boxes(10), wide = lanes.boxes(2000);
  ASSERT_EQ(tight.size(), lanes.lanes().size());
  for (std::size_t i = 1; i < tight.size(); ++i) EXPECT_EQ(tight[i].top, tight[i - 1].bottom());
  EXPECT_GT(wide.back().bottom(), tight.back().bottom());
  EXPECT_LE(wide.back().bottom(), 2000);
  const int room = tight.back().bottom() + 50;
  EXPECT_LE(lanes.boxes(room).back().bottom(), room);
}

TEST_F(Models, RowAtFindsWhatTheBoxesSay) {
  LaneModel lanes;
  lanes.setTimeline(profile_->timeline);
  const std::vector<LaneBox> boxes = lanes.boxes(600);
  EXPECT_FALSE(rowAt(lanes.lanes(), boxes, 0));  // the process line
  EXPECT_FALSE(rowAt(lanes.lanes(), boxes, boxes.back().bottom()));
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    for (int row = 0; row < lanes.lanes()[i].rows; ++row) {
      const auto at =
          rowAt(lanes.lanes(), boxes, boxes[i].rowTop + row * boxes[i].rowHeight + boxes[i].rowHeight / 2);
      ASSERT_TRUE(at);
      EXPECT_EQ(at->lane, i);
      EXPECT_EQ(at->row, row);
    }
  }
}

TEST_F(Models, TheTableShowsTheSummary) {
  KernelTableModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.setProfile(profile_);
  ASSERT_EQ(model.rowCount(), 2);
  EXPECT_EQ(textsOf(model, KernelTableModel::kernel), QStringList({"alpha", "beta"}));  // 370 us, 50 us
  EXPECT_EQ(textsOf(model, KernelTableModel::total), QStringList({"370 us", "50.0 us"}));
  EXPECT_EQ(textsOf(model, KernelTableModel::calls), QStringList({"3", "1"}));
  EXPECT_EQ(textsOf(model, KernelTableModel::median), QStringList({"100 us", "50.0 us"}));
  // 64 registers on cc 9.0: 65536 / (64 * 32) = 32 of 64 warps.
  EXPECT_TRUE(textsOf(model, KernelTableModel::occupancy)[0].startsWith("50"))
      << textsOf(model, KernelTableModel::occupancy)[0].toStdString();
  EXPECT_TRUE(textsOf(model, KernelTableModel::heldBy)[0].contains("registers"));
  EXPECT_TRUE(model.missingReason().isEmpty()) << model.missingReason().toStdString();
}

TEST_F(Models, NumbersSortAsNumbers) {
  KernelTableModel model;
  model.setProfile(profile_);
  QSortFilterProxyModel sorted;
  sorted.setSourceModel(&model);
  sorted.setSortRole(KernelTableModel::sortRole);
  sorted.sort(KernelTableModel::total, Qt::AscendingOrder);  // as text "370 us" < "50.0 us"
  EXPECT_EQ(sorted.index(0, KernelTableModel::kernel).data().toString(), "beta");
  sorted.sort(KernelTableModel::total, Qt::DescendingOrder);
  EXPECT_EQ(sorted.index(0, KernelTableModel::kernel).data().toString(), "alpha");
}

TEST_F(Models, TheHeaderSaysQualityFirst) {
  const HeaderText header = headerText(*profile_);
  EXPECT_TRUE(header.complete);
  EXPECT_TRUE(header.quality.startsWith("complete: 4 of 4 launches timed")) << header.quality.toStdString();
  EXPECT_TRUE(header.run.contains("train (pid 100)")) << header.run.toStdString();
  EXPECT_TRUE(header.run.contains("NVIDIA H200 (cc 9.0, 132 SMs)")) << header.run.toStdString();

  LoadedProfile lossy = *profile_;
  lossy.run->quality.complete = false;
  lossy.run->quality.lostRecords = 12;
  lossy.run->quality.losses = {{"pool_empty", "no buffer was free", 12, std::nullopt, std::nullopt}};
  const HeaderText warned = headerText(lossy);
  EXPECT_FALSE(warned.complete);
  EXPECT_TRUE(warned.quality.startsWith("incomplete: ") && warned.quality.contains("12 records lost"));
  EXPECT_EQ(warned.details, "pool_empty: 12 (no buffer was free)");
}

TEST_F(Models, TheFirstViewIsTheGpuWork) {
  EXPECT_EQ(profile_->work, (TimeSpan{100'000, 500'000}));
  EXPECT_LE(profile_->all.startNs, 80'000);
  EXPECT_GE(profile_->all.endNs, 600'000);
}

}  // namespace
}  // namespace warpmeter::gui
