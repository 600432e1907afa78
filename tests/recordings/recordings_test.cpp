// SPDX-License-Identifier: Apache-2.0
// Recordings of the bundled programs, made on an H200 by scripts/gpu/record_all.sh, against the list of launches that
// each program printed in the same run, and against what its variant is known to do.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "support/recordings.h"
#include "warpmeter/analyzer/cold_start.h"
#include "warpmeter/analyzer/concurrency.h"
#include "warpmeter/analyzer/copies.h"
#include "warpmeter/analyzer/kernel_summary.h"
#include "warpmeter/analyzer/nvtx_summary.h"
#include "warpmeter/analyzer/run_summary.h"

namespace warpmeter::analyzer {
namespace {

using Json = nlohmann::json;
using tests::UnpackedRecording;

Json programSays(const std::string& name) {
  std::ifstream in(tests::recordingsFolder() / (name + ".json"));
  return Json::parse(in);
}

struct Launch {
  std::string kernel;
  std::vector<std::int32_t> grid, block;
  std::int64_t dynamicShared = 0;
  bool graph = false;
  bool operator==(const Launch&) const = default;
};

void expand(const Json& list, std::vector<Launch>& into) {
  for (const Json& item : list) {
    for (int i = 0; i < item.value("repeat", 1); ++i) {
      if (item.contains("sequence")) {
        expand(item["sequence"], into);
      } else {
        into.push_back({item["kernel"], item["grid"], item["block"], item["dynamicShared"], item["graph"]});
      }
    }
  }
}

// In the order of issue: correlation ids grow with it, and rows of one graph launch keep their time order.
std::vector<Launch> recordedLaunches(const ProfileView& view) {
  struct Row {
    std::int64_t correlation, start;
    Launch launch;
  };
  std::vector<Row> rows;
  for (const StreamLane& lane : view.streams()) {
    for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
      const LaunchConfig& config = view.configs()[lane.kernels.config[i]];
      const auto name = view.name(view.functions()[config.function].shortName);
      rows.push_back({lane.kernels.correlation[i], lane.kernels.startNs(i),
                      {std::string(name), {config.grid, config.grid + 3}, {config.block, config.block + 3},
                       config.dynamicShared, lane.kernels.graphNode[i] != 0}});
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return std::tie(a.correlation, a.start) < std::tie(b.correlation, b.start);
  });
  std::vector<Launch> launches;
  for (Row& row : rows) launches.push_back(std::move(row.launch));
  return launches;
}

class EveryProgram : public testing::TestWithParam<const char*> {};

TEST_P(EveryProgram, HasEveryLaunchThatTheProgramMade) {
  const UnpackedRecording recording(GetParam());
  const ProfileView view = recording.view();
  const Json says = programSays(GetParam());
  std::vector<Launch> expected;
  expand(says["launches"], expected);
  const std::vector<Launch> recorded = recordedLaunches(view);
  ASSERT_EQ(expected.size(), says["launchCount"].get<std::size_t>());
  ASSERT_EQ(recorded.size() + view.untimed().size(), expected.size());
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    ASSERT_TRUE(recorded[i] == expected[i])
        << "launch " << i << ": " << expected[i].kernel << " recorded as " << recorded[i].kernel;
  }
}

TEST_P(EveryProgram, LostNothingAndStartsEachKernelAfterItsCall) {
  const UnpackedRecording recording(GetParam());
  const ProfileView view = recording.view();
  EXPECT_TRUE(view.losses().empty());
  for (const StreamLane& lane : view.streams()) {
    for (std::size_t i = 0; i < lane.kernels.size(); ++i) {
      const auto call = view.apiCall(lane.process, lane.kernels.correlation[i]);
      ASSERT_TRUE(call) << "kernel row " << lane.kernels.rowid[i] << " has no API call";
      EXPECT_GE(lane.kernels.startNs(i), view.threads()[call.lane].api.startNs(call.index));
    }
  }
}

TEST_P(EveryProgram, HasTheNvtxRangesThatTheProgramMade) {
  const UnpackedRecording recording(GetParam());
  const ProfileView view = recording.view();
  std::map<std::string, std::int64_t> expected, recorded;
  const Json says = programSays(GetParam());
  for (const Json& range : says["nvtx"]["ranges"]) expected[range["name"]] += range["count"].get<std::int64_t>();
  for (const ThreadLane& lane : view.threads()) {
    for (std::size_t i = 0; i < lane.nvtx.size(); ++i) ++recorded[std::string(view.name(lane.nvtx.text[i]))];
  }
  EXPECT_EQ(recorded, expected);
}

INSTANTIATE_TEST_SUITE_P(Recordings, EveryProgram,
                         testing::Values("saxpy", "matmul_naive", "matmul_tiled", "streams_overlap", "streams_barrier",
                                         "streams_serial", "graph", "graph_launches", "copies_pageable", "copies_pinned",
                                         "cold_start_sass", "cold_start_ptx", "driver_nvrtc", "empty"),
                         [](const auto& program) { return std::string(program.param); });

Concurrency concurrencyIn(const ProfileView& view) {
  auto all = concurrencyOf(view);
  EXPECT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 1u);
  return all->front();
}

double sharePctFrom(const Concurrency& c, std::size_t depth) {
  EXPECT_EQ(std::accumulate(c.depthNs.begin(), c.depthNs.end(), std::int64_t{0}), c.windowNs());
  if (c.depthNs.size() <= depth) return 0;
  const auto from = c.depthNs.begin() + static_cast<std::ptrdiff_t>(depth);
  return 100.0 * static_cast<double>(std::accumulate(from, c.depthNs.end(), std::int64_t{0})) /
         static_cast<double>(c.busyNs);
}

TEST(Recordings, EightStreamsOverlapLessWithBarriersAndNotAtAllInOne) {
  const auto overlap = concurrencyIn(UnpackedRecording("streams_overlap").view());
  const auto barrier = concurrencyIn(UnpackedRecording("streams_barrier").view());
  const auto serial = concurrencyIn(UnpackedRecording("streams_serial").view());
  EXPECT_GT(sharePctFrom(overlap, 5), 60);
  EXPECT_LT(sharePctFrom(barrier, 5), sharePctFrom(overlap, 5) - 10);
  EXPECT_LT(sharePctFrom(serial, 2), 1);
}

std::int64_t jitNs(const ProfileView& view) {
  auto starts = coldStartsOf(view);
  EXPECT_TRUE(starts.ok());
  const ColdStart& start = starts->front();
  std::int64_t sum = 0;
  for (const ColdBar& bar : start.bars) sum += bar.ns.value_or(0);
  EXPECT_EQ(sum, start.totalNs());
  return start.bars[static_cast<std::size_t>(ColdPhase::jit)].ns.value_or(0);
}

TEST(Recordings, PtxIsCompiledAtStartAndSassIsNot) {
  EXPECT_GT(jitNs(UnpackedRecording("cold_start_ptx").view()), 10'000'000);
  EXPECT_EQ(jitNs(UnpackedRecording("cold_start_sass").view()), 0);
}

std::size_t pageableFindings(const ProfileView& view) {
  auto findings = findPageableCopies(view, Limits{}, {});
  EXPECT_TRUE(findings.ok());
  return findings->size();
}

TEST(Recordings, PageableCopiesAreFoundAndPinnedOnesAreNot) {
  EXPECT_EQ(pageableFindings(UnpackedRecording("copies_pageable").view()), 1u);
  EXPECT_EQ(pageableFindings(UnpackedRecording("copies_pinned").view()), 0u);
}

TEST(Recordings, PyTorchIsThereWithItsSteps) {
  const ProfileView view = UnpackedRecording("torch_loop").view();
  EXPECT_TRUE(view.losses().empty());
  auto ranges = summarizeNvtx(view);
  ASSERT_TRUE(ranges.ok());
  const auto step = std::find_if(ranges->rows.begin(), ranges->rows.end(),
                                 [&](const NvtxSummaryRow& row) { return view.name(row.text) == "step"; });
  ASSERT_NE(step, ranges->rows.end());
  EXPECT_EQ(step->time.count, 5);
  EXPECT_GT(step->kernels, 100);
  auto kernels = summarizeKernels(view);
  ASSERT_TRUE(kernels.ok());
  EXPECT_GT(kernels->functions.size(), 10u);
  EXPECT_EQ(kernels->untimed, 0);
}

}  // namespace
}  // namespace warpmeter::analyzer
