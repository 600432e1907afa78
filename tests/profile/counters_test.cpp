// SPDX-License-Identifier: Apache-2.0
// Counters in a file: what goes in comes out, older files have none, damaged samples are said by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "profile/profile_files.h"
#include "profile/scratch.h"
#include "warpmeter/profile/sample_pack.h"

namespace warpmeter {
namespace {

using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::vector<std::string> kMetrics = {"sm__cycles_active.sum", "sm__warps_active.sum"};

PackedSamples batchOf(std::int64_t setId, std::int64_t start, std::vector<std::int64_t> ends,
                      const std::vector<std::vector<std::int64_t>>& values) {
  PackedSamples packed;
  packed.setId = setId;
  packed.startNs = start;
  packed.endNs = ends.back();
  packed.intervalNs = 2000;
  packed.samples = static_cast<std::int64_t>(ends.size());
  packed.metrics = static_cast<std::int64_t>(values.size());
  packed.data = packSamples(start, ends, values);
  return packed;
}

std::vector<SampleBatch> samplesOf(const ProfileReader& reader) {
  std::vector<SampleBatch> batches;
  require(reader.readSamples([&](const SampleBatch& batch) { batches.push_back(batch); }));
  return batches;
}

class CountersFile : public testing::Test {
 protected:
  // Two sets that take turns, and the later batch stored first.
  void writeSamples() {
    ProfileWriter writer = createWriter(path_);
    require(writer.put(SampleSetInfo{0, 1, "GH100", kMetrics}));
    require(writer.put(SampleSetInfo{1, 2, "GH100", {"dram__bytes_read.sum"}}));
    const std::vector<PackedSamples> batches = {batchOf(2, 9000, {11'000}, {{77}}),
                                                batchOf(1, -500, {1500, 3600}, {{100, 90}, {6400, 5}})};
    require(writer.append(std::span(batches)));
    require(writer.commit());
    EXPECT_EQ(writer.rowsWritten(), 2);
    EXPECT_TRUE(valueOf(writer.finish({})));
  }
  Error damagedBy(const std::string& sql) {
    writeSamples();
    RawDb(path_).exec(sql);
    const Result<void> read = openReader(path_).readSamples([](const SampleBatch&) {});
    EXPECT_FALSE(read) << sql;
    return read ? Error{} : read.error();
  }

  Scratch scratch_;
  std::filesystem::path path_ = scratch_ / "a.wm.sqlite";
};

TEST_F(CountersFile, SamplesComeBackInTheOrderOfTime) {
  writeSamples();
  const ProfileReader reader = openReader(path_);
  const auto sets = valueOf(reader.sampleSets());
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(sets[0].setId, 1);
  EXPECT_EQ(sets[0].gpuId, 0);
  EXPECT_EQ(sets[0].chip, "GH100");
  EXPECT_EQ(sets[0].metrics, kMetrics);
  EXPECT_EQ(sets[1].gpuId, 1);
  EXPECT_THAT(sets[1].metrics, ElementsAre("dram__bytes_read.sum"));
  const auto batches = samplesOf(reader);
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].setId, 1);
  EXPECT_EQ(batches[0].startNs, -500);
  EXPECT_EQ(batches[0].intervalNs, 2000);
  EXPECT_EQ(batches[0].samples(), 2u);
  EXPECT_THAT(batches[0].endNs, ElementsAre(1500, 3600));
  EXPECT_THAT(batches[0].values, ElementsAre(ElementsAre(100, 90), ElementsAre(6400, 5)));
  EXPECT_EQ(batches[1].setId, 2);
  EXPECT_THAT(batches[1].values, ElementsAre(ElementsAre(77)));
}

TEST_F(CountersFile, ASetPutAgainReplacesIt) {
  ProfileWriter writer = createWriter(path_);
  require(writer.put(SampleSetInfo{0, 1, "GH100", {"a", "b", "c"}}));
  require(writer.put(SampleSetInfo{0, 1, "GH100", kMetrics}));
  require(writer.commit());
  const auto sets = valueOf(openReader(path_).sampleSets());
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].metrics, kMetrics);
}

TEST_F(CountersFile, BatchesAreReadInPartsAndInAnyOrder) {
  writeSamples();
  const ProfileReader reader = openReader(path_);
  auto places = valueOf(reader.samplePlaces());
  ASSERT_EQ(places.size(), 2u);
  EXPECT_EQ(places[0].startNs, -500);
  EXPECT_EQ(places[0].setId, 1);
  EXPECT_EQ(places[0].samples, 2u);
  EXPECT_EQ(places[1].setId, 2);
  std::swap(places[0], places[1]);
  std::vector<SampleBatch> batches;  // the vectors of one batch are used again for the next
  require(reader.readSamples(places, [&](const SampleBatch& batch) { batches.push_back(batch); }));
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_THAT(batches[0].values, ElementsAre(ElementsAre(77)));
  EXPECT_THAT(batches[1].values, ElementsAre(ElementsAre(100, 90), ElementsAre(6400, 5)));
  EXPECT_THAT(batches[1].endNs, ElementsAre(1500, 3600));

  RawDb(path_).exec("UPDATE WM_SAMPLE SET samples = 4611686018427387904 WHERE setId = 1");
  EXPECT_LE(valueOf(openReader(path_).samplePlaces())[0].samples, 10u) << "no room for what the data cannot hold";
}

TEST_F(CountersFile, ReadingStopsWhenAsked) {
  writeSamples();
  std::stop_source stop;
  int seen = 0;
  const auto visit = [&](const SampleBatch&) {
    ++seen;
    stop.request_stop();
  };
  const Result<void> read = openReader(path_).readSamples(visit, stop.get_token());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(seen, 1);
}

TEST_F(CountersFile, DamagedSamplesAreAnErrorThatNamesTheFile) {
  const char* cut = "UPDATE WM_SAMPLE SET data = substr(data, 1, length(data) - 1) WHERE setId = 1";
  EXPECT_THAT(damagedBy(cut).message, HasSubstr("row 2 of WM_SAMPLE are damaged: not 2 samples of 2 metrics"));
  std::filesystem::remove(path_);
  EXPECT_THAT(damagedBy("UPDATE WM_SAMPLE SET samples = 4611686018427387904").message, HasSubstr("damaged"));
  std::filesystem::remove(path_);
  EXPECT_THAT(damagedBy("UPDATE WM_SAMPLE SET samples = -1").message, HasSubstr("damaged"));
  std::filesystem::remove(path_);
  EXPECT_THAT(damagedBy("UPDATE WM_SAMPLE SET data = x''").message, HasSubstr("damaged"));
  std::filesystem::remove(path_);
  EXPECT_THAT(damagedBy("UPDATE WM_SAMPLE SET end = end + 1").message, HasSubstr("do not end"));
  std::filesystem::remove(path_);
  EXPECT_THAT(damagedBy("DELETE FROM WM_SAMPLE_SET WHERE setId = 2").message, HasSubstr("set of metrics is not in"));
  std::filesystem::remove(path_);
  const Error error = damagedBy("DELETE FROM WM_SAMPLE_SET WHERE setId = 1 AND position = 0");
  EXPECT_THAT(error.message, HasSubstr("WM_SAMPLE_SET) is damaged"));
  EXPECT_THAT(error.message, testing::StartsWith(path_.string() + ": "));
  EXPECT_EQ(error.kind, ErrorKind::truncated);
}

TEST_F(CountersFile, WhatIsWholeBeforeTheDamageIsVisited) {
  writeSamples();
  RawDb(path_).exec("UPDATE WM_SAMPLE SET data = x'80' WHERE setId = 2");
  int seen = 0;
  EXPECT_FALSE(openReader(path_).readSamples([&](const SampleBatch&) { ++seen; }));
  EXPECT_EQ(seen, 1);
}

TEST_F(CountersFile, ValuesOfLaunchesStallReasonsAndCeilingsComeBack) {
  const std::int64_t pid = makeGlobalPid(4711).value;
  ProfileWriter writer = createWriter(path_);
  const std::vector<RangedValue> values = {
      {pid, 42, 0, "sm__warps_active.avg.pct_of_peak_sustained_active", 61.25},
      {pid, 42, 0, "hostile", std::numeric_limits<double>::quiet_NaN()},
      {kNull, 43, 1, "dram__bytes_read.sum", 1e12}};
  require(writer.append(std::span(values)));
  const std::vector<PcSamples> pcs = {{pid, "_Z4gemmPf", 0x1a0, "stalled_long_scoreboard", 812, "gemm.cu", 17},
                                      {kNull, "_Z4gemmPf", 0, "stalled_wait", 1, "", kNull}};
  require(writer.append(std::span(pcs)));
  const std::vector<PcRun> runs = {{pid, 1, "GH100", 4096, 900, 80, 7}, {kNull, 0, "", kNull, 1, 0, 0}};
  require(writer.append(std::span(runs)));
  require(writer.put(CeilingInfo{0, "dram", 4.0e12, "shipped"}));
  require(writer.put(CeilingInfo{0, "dram", 4.21e12, "calibrated"}));
  require(writer.put(CeilingInfo{1, "fp32", 5.98e13, "theoretical"}));
  require(writer.put(CeilingInfo{1, "l2", std::numeric_limits<double>::infinity(), "theoretical"}));
  require(writer.put(GpuMetricInfo{0x100, 1, 3, "General Metrics for NVIDIA H200", "old"}));
  require(writer.put(GpuMetricInfo{0x100, 1, 3, "General Metrics for NVIDIA H200", "SMs Active [Throughput %]"}));
  require(writer.commit());

  const ProfileReader reader = openReader(path_);
  const auto ranged = valueOf(reader.rangedValues());
  ASSERT_EQ(ranged.size(), 2u);
  EXPECT_EQ(ranged[0].globalPid, pid);
  EXPECT_EQ(ranged[0].correlationId, 42);
  EXPECT_EQ(ranged[0].metric, values[0].metric);
  EXPECT_EQ(ranged[0].value, 61.25);
  EXPECT_TRUE(isNull(ranged[1].globalPid));
  EXPECT_EQ(ranged[1].configuration, 1);
  EXPECT_EQ(ranged[1].value, 1e12);
  const auto losses = valueOf(reader.losses());  // the two that are no numbers
  ASSERT_EQ(losses.size(), 2u);
  EXPECT_EQ(losses[0].kind, "invalid_row");
  EXPECT_THAT(losses[0].why, HasSubstr("WM_RANGED"));
  EXPECT_EQ(losses[0].count, 1);
  EXPECT_THAT(losses[1].why, HasSubstr("WM_CEILING"));

  const auto pcRuns = valueOf(reader.pcRuns());
  ASSERT_EQ(pcRuns.size(), 2u);
  EXPECT_EQ(pcRuns[0].globalPid, pid);
  EXPECT_EQ(pcRuns[0].deviceId, 1);
  EXPECT_EQ(pcRuns[0].chip, "GH100");
  EXPECT_EQ(pcRuns[0].periodCycles, 4096);
  EXPECT_EQ(pcRuns[0].samples, 900);
  EXPECT_EQ(pcRuns[0].otherKernels, 80);
  EXPECT_EQ(pcRuns[0].dropped, 7);
  EXPECT_TRUE(isNull(pcRuns[1].periodCycles));
  const auto stalls = valueOf(reader.pcSamples());
  ASSERT_EQ(stalls.size(), 2u);
  EXPECT_EQ(stalls[0].function, "_Z4gemmPf");
  EXPECT_EQ(stalls[0].pcOffset, 0x1a0);
  EXPECT_EQ(stalls[0].stallReason, "stalled_long_scoreboard");
  EXPECT_EQ(stalls[0].samples, 812);
  EXPECT_EQ(stalls[0].file, "gemm.cu");
  EXPECT_EQ(stalls[0].line, 17);
  EXPECT_EQ(stalls[1].file, "");
  EXPECT_TRUE(isNull(stalls[1].line));

  const auto ceilings = valueOf(reader.ceilings());
  ASSERT_EQ(ceilings.size(), 2u);
  EXPECT_EQ(ceilings[0].value, 4.21e12);
  EXPECT_EQ(ceilings[0].source, "calibrated");
  EXPECT_EQ(ceilings[1].kind, "fp32");

  const auto metrics = valueOf(reader.gpuMetrics());
  ASSERT_EQ(metrics.size(), 1u);
  EXPECT_EQ(metrics[0].typeId, 0x100);
  EXPECT_EQ(metrics[0].metricId, 3);
  EXPECT_EQ(metrics[0].metricName, "SMs Active [Throughput %]");
}

TEST_F(CountersFile, AFileOfTheFirstFormatHasNone) {
  writeSamples();
  {
    RawDb db(path_);
    for (const char* table : {"WM_SAMPLE", "WM_SAMPLE_SET", "WM_RANGED", "WM_PC", "WM_PC_RUN", "WM_CEILING"}) {
      db.exec(std::string("DROP TABLE ") + table);
    }
    db.exec("ALTER TABLE WM_SESSION DROP COLUMN countersText");
    db.exec("PRAGMA user_version = 65536");
  }
  const ProfileReader reader = openReader(path_);
  EXPECT_THAT(valueOf(reader.sampleSets()), IsEmpty());
  EXPECT_THAT(samplesOf(reader), IsEmpty());
  EXPECT_THAT(valueOf(reader.rangedValues()), IsEmpty());
  EXPECT_THAT(valueOf(reader.pcSamples()), IsEmpty());
  EXPECT_THAT(valueOf(reader.pcRuns()), IsEmpty());
  EXPECT_THAT(valueOf(reader.ceilings()), IsEmpty());
  EXPECT_EQ(valueOf(reader.session()).countersText, "");
}

TEST_F(CountersFile, AFinishedWriterRefusesThem) {
  ProfileWriter writer = createWriter(path_);
  EXPECT_TRUE(valueOf(writer.finish({})));
  const PackedSamples batch = batchOf(1, 0, {1}, {{1}});
  EXPECT_FALSE(writer.append(std::span(&batch, 1)));
  EXPECT_FALSE(writer.put(SampleSetInfo{0, 1, "GH100", kMetrics}));
  EXPECT_FALSE(writer.put(CeilingInfo{0, "dram", 1, "shipped"}));
}

}  // namespace
}  // namespace warpmeter
