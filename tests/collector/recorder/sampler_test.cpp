// SPDX-License-Identifier: Apache-2.0
// What the recorder makes of a sampler's messages, in one process: cutting, checking, limiting, thinning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "gpu_metric_rows.h"
#include "sample_intake.h"
#include "sampler_feed.h"
#include "sampler_frames.h"

namespace warpmeter::recorder {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using wire::SamplerKind;
using wire::SamplerMessage;
using Bytes = std::vector<std::byte>;

constexpr std::int64_t kStart = 1'700'000'000'000'000'000;  // CLOCK_REALTIME at time 0
constexpr char kUuid[] = "110bc05b-778a-a2aa-f210-230b5a8ea938";

Bytes whole(SamplerMessage message, std::string_view payload = {}) {
  message.magic = wire::kSamplerMagic;
  message.bytes = payload.size();
  Bytes bytes(sizeof message + payload.size());
  std::memcpy(bytes.data(), &message, sizeof message);
  std::memcpy(bytes.data() + sizeof message, payload.data(), payload.size());
  return bytes;
}

Bytes gpuMessage(std::uint32_t gpu = 0, const std::string& uuid = kUuid) {
  SamplerMessage m{};
  m.kind = SamplerKind::gpu;
  m.gpu = gpu;
  return whole(m, uuid + std::string("\0GH100\0", 7));
}

Bytes setMessage(std::string_view names = std::string_view("sm__cycles_active.sum\0sm__cycles_elapsed.sum\0", 45)) {
  SamplerMessage m{};
  m.kind = SamplerKind::set;
  m.metrics = static_cast<std::uint32_t>(std::count(names.begin(), names.end(), '\0'));
  return whole(m, names);
}

// Two metrics: values 1, 2, 3 ... and 10 for each.
Bytes batchMessage(std::int64_t from, std::vector<std::int64_t> lengths) {
  std::vector<std::int64_t> ends;
  std::vector<std::vector<std::int64_t>> values(2);
  std::int64_t at = from;
  for (const std::int64_t length : lengths) {
    ends.push_back(at += length);
    values[0].push_back(static_cast<std::int64_t>(values[0].size()) + 1);
    values[1].push_back(10);
  }
  const Bytes data = packSamples(from, ends, values);
  SamplerMessage m{};
  m.kind = SamplerKind::batch;
  m.fromNs = from;
  m.toNs = at;
  m.samples = static_cast<std::uint32_t>(lengths.size());
  m.metrics = 2;
  m.intervalNs = 1000;
  return whole(m, std::string_view(reinterpret_cast<const char*>(data.data()), data.size()));
}

Bytes text(SamplerKind kind, std::string_view payload, std::int64_t from = 0, std::int64_t to = 0) {
  SamplerMessage m{};
  m.kind = kind;
  m.gpu = 0xffffffff;
  m.fromNs = from;
  m.toNs = to;
  return whole(m, payload);
}

TEST(SamplerFrames, MessagesAreWholeHoweverTheyCome) {
  Bytes stream;
  for (const Bytes& m : {gpuMessage(), setMessage(), batchMessage(kStart, {5, 6}), text(SamplerKind::hole, "why")}) {
    stream.insert(stream.end(), m.begin(), m.end());
  }
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, std::size_t{56}, stream.size()}) {
    SamplerFrames frames;
    std::vector<SamplerKind> kinds;
    std::string last;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      const auto part = std::span(stream).subspan(at, std::min(step, stream.size() - at));
      ASSERT_TRUE(frames.feed(part, [&](const SamplerMessage& m, std::span<const std::byte> payload) {
        kinds.push_back(m.kind);
        last.assign(reinterpret_cast<const char*>(payload.data()), payload.size());
      }));
    }
    EXPECT_TRUE(frames.end());
    EXPECT_THAT(kinds, ElementsAre(SamplerKind::gpu, SamplerKind::set, SamplerKind::batch, SamplerKind::hole)) << step;
    EXPECT_EQ(last, "why");
  }
}

TEST(SamplerFrames, WhatIsNoMessageEndsIt) {
  const auto refused = [](SamplerMessage m) {
    SamplerFrames frames;
    Bytes bytes(sizeof m);
    std::memcpy(bytes.data(), &m, sizeof m);
    int taken = 0;
    const auto count = [&taken](const SamplerMessage&, std::span<const std::byte>) { ++taken; };
    EXPECT_FALSE(frames.feed(bytes, count));
    const Bytes good = gpuMessage();
    EXPECT_FALSE(frames.feed(good, count)) << "nothing after it is understood";
    EXPECT_EQ(taken, 0);
    return frames.error();
  };
  SamplerMessage m{};
  m.magic = wire::kSamplerMagic;
  m.kind = static_cast<SamplerKind>(8);
  EXPECT_THAT(refused(m), HasSubstr("unknown kind 8"));
  m.kind = SamplerKind::batch;
  m.bytes = wire::kSamplerPayloadMax + 1;
  EXPECT_THAT(refused(m), HasSubstr("67108865 bytes"));
  m.kind = SamplerKind::hole;
  m.bytes = 1 << 20;
  EXPECT_THAT(refused(m), HasSubstr("1048576 bytes"));
  m.magic = 0;
  EXPECT_THAT(refused(m), HasSubstr("no message"));
}

TEST(SamplerFrames, AnEndInsideAMessageIsSaid) {
  SamplerFrames frames;
  const Bytes message = gpuMessage();
  ASSERT_TRUE(frames.feed(std::span(message).first(60), [](auto&&...) { FAIL(); }));
  EXPECT_FALSE(frames.end());
  EXPECT_THAT(frames.error(), HasSubstr("inside a message"));
}

class Intake : public testing::Test {
 protected:
  Intake() : Intake(CaptureOptions{}) {}
  explicit Intake(const CaptureOptions& options)
      : capture_(options), intake_(session_, capture_, [this](const std::string& uuid) -> const GpuInfo* {
          return gpuKnown_ && uuid == kUuid ? &gpu_ : nullptr;
        }) {
    session_.startRealtimeNs = kStart;
    gpu_.id = 3;
  }
  void take(const Bytes& message) { intake_.take(message, rows_); }
  std::int64_t badMessages() {
    std::int64_t n = 0;
    for (const LossEntry& entry : session_.losses.take()) n += entry.why.starts_with("messages of the sampler") ? entry.count : 0;
    return n;
  }

  Session session_;
  CaptureWindows capture_;
  GpuInfo gpu_;
  bool gpuKnown_ = true;
  SampleIntake intake_;
  SampleRows rows_;
};

TEST_F(Intake, ABatchBecomesARowInTheFilesTime) {
  take(gpuMessage());
  take(setMessage());
  take(batchMessage(kStart + 500, {1000, 1200}));
  ASSERT_EQ(rows_.sets.size(), 1u);
  EXPECT_EQ(rows_.sets[0].gpuId, 3);
  EXPECT_EQ(rows_.sets[0].chip, "GH100");
  EXPECT_THAT(rows_.sets[0].metrics, ElementsAre("sm__cycles_active.sum", "sm__cycles_elapsed.sum"));
  ASSERT_EQ(rows_.batches.size(), 1u);
  const PackedSamples& batch = rows_.batches[0];
  EXPECT_EQ(batch.setId, rows_.sets[0].setId);
  EXPECT_EQ(batch.startNs, 500);
  EXPECT_EQ(batch.endNs, 2700);
  EXPECT_EQ(batch.samples, 2);
  const auto unpacked = unpackSamples(batch.data, batch.startNs, 2, 2);
  ASSERT_TRUE(unpacked.has_value());
  EXPECT_THAT(unpacked->ends, ElementsAre(1500, 2700));
  EXPECT_THAT(unpacked->values[0], ElementsAre(1, 2));
  EXPECT_EQ(intake_.samples(), 2);
  EXPECT_EQ(intake_.verdict().counters, "sampled");
  EXPECT_EQ(badMessages(), 0);
}

TEST_F(Intake, ANewMeaningOfASetsNumberIsANewSet) {
  take(gpuMessage());
  take(setMessage());
  take(setMessage());
  take(batchMessage(kStart, {1}));
  take(setMessage(std::string_view("a\0b\0", 4)));
  take(batchMessage(kStart + 1, {1}));
  ASSERT_EQ(rows_.sets.size(), 2u);
  EXPECT_NE(rows_.batches[0].setId, rows_.batches[1].setId);
}

TEST_F(Intake, SamplesWaitUntilTheGpuIsKnown) {
  gpuKnown_ = false;
  take(gpuMessage());
  take(setMessage());
  take(batchMessage(kStart, {5}));
  EXPECT_TRUE(rows_.empty());
  EXPECT_EQ(intake_.verdict().counters, "too_few_samples");
  gpuKnown_ = true;
  intake_.gpuKnown(rows_);
  EXPECT_EQ(rows_.batches.size(), 1u);
  EXPECT_EQ(rows_.sets.size(), 1u);
  intake_.gpuKnown(rows_);
  EXPECT_EQ(rows_.batches.size(), 1u);
}

TEST_F(Intake, WaitingSamplesHaveALimitAndAreCounted) {
  gpuKnown_ = false;
  take(gpuMessage());
  take(setMessage());
  const std::vector<std::int64_t> lengths(200'000, 1000);
  for (int i = 0; i < 20; ++i) take(batchMessage(kStart + i * 1'000'000'000LL, lengths));
  const auto losses = session_.losses.take();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].kind, "samples");
  gpuKnown_ = true;
  intake_.gpuKnown(rows_);
  EXPECT_EQ(static_cast<std::int64_t>(rows_.batches.size()) + losses[0].count, 20);
  EXPECT_GT(rows_.batches.size(), 5u);
}

TEST_F(Intake, EveryByteMayBeWrong) {
  const Bytes good[] = {gpuMessage(), setMessage(), batchMessage(kStart, {10, 20, 30}), text(SamplerKind::hole, "x", 1, 2),
                        text(SamplerKind::unavailable, std::string_view("no_permission\0t\0", 16))};
  std::mt19937_64 random(3);
  for (int round = 0; round < 30'000; ++round) {
    Bytes message = good[random() % std::size(good)];
    for (std::uint64_t changes = random() % 4; changes > 0; --changes) {
      message[random() % message.size()] = static_cast<std::byte>(random());
    }
    if (random() % 8 == 0) message.resize(random() % message.size());
    take(message);
    for (const PackedSamples& batch : rows_.batches) {
      ASSERT_LT(batch.startNs, batch.endNs);
      const auto unpacked = unpackSamples(batch.data, batch.startNs, static_cast<std::size_t>(batch.samples),
                                          static_cast<std::size_t>(batch.metrics));
      ASSERT_TRUE(unpacked.has_value());
      ASSERT_EQ(unpacked->ends.back(), batch.endNs);
    }
    rows_ = {};
  }
  EXPECT_GT(badMessages(), 100);
  EXPECT_GT(intake_.samples(), 0);
}

TEST_F(Intake, FailuresAndReasonsAreTold) {
  EXPECT_EQ(intake_.verdict().counters, "too_few_samples");
  intake_.ended("the sampler was ended by signal 9", 77, 1000);
  EXPECT_EQ(intake_.cpuNs(), 77);
  EXPECT_EQ(intake_.verdict().counters, "not_recorded");
  EXPECT_EQ(intake_.verdict().text, "the sampler was ended by signal 9");
  EXPECT_THAT(session_.losses.take(), IsEmpty()) << "nothing was sampled, so there is no hole in it";
  take(text(SamplerKind::unavailable, std::string_view("counters_busy\0DCGM holds them\0", 30)));
  EXPECT_EQ(intake_.verdict().counters, "counters_busy");
  EXPECT_EQ(intake_.verdict().text, "DCGM holds them");
  take(gpuMessage());
  take(setMessage());
  take(batchMessage(kStart, {1}));
  EXPECT_EQ(intake_.verdict().counters, "sampled");
  intake_.ended("x", -1, 5000);
  const auto losses = session_.losses.take();
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].fromNs, 1);
  EXPECT_EQ(losses[0].toNs, 5000);
  EXPECT_FALSE(session_.losses.incomplete());
}

class Captured : public Intake {
 protected:
  static CaptureOptions options() {
    CaptureOptions o;
    o.delayNs = 1000;
    o.durationNs = 2000;
    return o;
  }
  Captured() : Intake(options()) {}
};

TEST_F(Captured, OnlySamplesInsideTheWindowsAreKept) {
  take(gpuMessage());
  take(setMessage());
  take(batchMessage(kStart, {500, 500, 700, 900, 600, 500}));  // ends 500 1000 1700 2600 3200 3700; window 1000-3000
  ASSERT_EQ(rows_.batches.size(), 1u);
  const PackedSamples& batch = rows_.batches[0];
  EXPECT_EQ(batch.startNs, 1000);
  EXPECT_EQ(batch.samples, 2);
  const auto unpacked = unpackSamples(batch.data, batch.startNs, 2, 2);
  ASSERT_TRUE(unpacked.has_value());
  EXPECT_THAT(unpacked->ends, ElementsAre(1700, 2600));
  EXPECT_THAT(unpacked->values[0], ElementsAre(3, 4));
  take(batchMessage(kStart + 4000, {10}));
  EXPECT_EQ(rows_.batches.size(), 1u);
  EXPECT_EQ(intake_.samples(), 2);
}

TEST(SamplerFeed, KeepsTheRateAndTellsWhatItDropped) {
  ItemQueue queue("/nonexistent/spill");
  bool mayGrow = true;
  SamplerFeed feed(queue, [&mayGrow] { return mayGrow; });
  SamplerMessage batch{};
  batch.kind = SamplerKind::batch;
  batch.toNs = 1;
  const Bytes payload(1'000'000 - sizeof batch);
  std::int64_t now = 1'000'000'000;
  const auto offer = [&](int times) {
    for (int i = 0; i < times; ++i) feed.take(batch, payload, now, now);
  };
  const auto drain = [&] {
    std::pair<int, int> chunksAndActions;
    while (const auto item = queue.pop(std::chrono::milliseconds(0), std::numeric_limits<std::int64_t>::max())) {
      ++(item->chunk ? chunksAndActions.first : chunksAndActions.second);
    }
    return chunksAndActions;
  };
  offer(10);
  EXPECT_EQ(drain(), std::pair(6, 0)) << "a burst of 6 MB";
  feed.tellDropped();
  feed.tellDropped();
  EXPECT_EQ(drain(), std::pair(0, 1));
  now += 2'000'000'000;
  offer(10);
  EXPECT_EQ(drain(), std::pair(3, 0)) << "and 1.5 MB/s";
  now += 60'000'000'000;
  feed.take(batch, payload, now, now);
  EXPECT_EQ(drain(), std::pair(1, 1)) << "told with what comes a second later";
  now += 60'000'000'000;
  mayGrow = false;
  offer(1);
  EXPECT_EQ(drain().first, 0);
  mayGrow = true;
  SamplerMessage set{};
  set.kind = SamplerKind::set;
  offer(6);
  feed.take(set, {}, now, now);
  EXPECT_EQ(drain().first, 7) << "a set passes although the rate is used up";
}

TEST(GpuMetricRows, ArePercentagesFromSumsAtMostOneAMillisecond) {
  GpuInfo gpu;
  gpu.id = 1;
  gpu.maxWarpsPerSm = 64;
  gpu.memoryBandwidth = 4'000'000'000'000;  // 4 TB/s = 4000 bytes a ns
  const SampleSetInfo set{1, 1, "GH100", {"sm__cycles_elapsed.sum", "sm__warps_active.sum", "dram__bytes_read.sum"}};
  SampleBatch batch;
  batch.startNs = 0;
  batch.values.resize(3);
  for (int i = 1; i <= 30; ++i) {  // 3 ms in samples of 100 us, cycles twice as many in every second
    batch.endNs.push_back(i * 100'000);
    batch.values[0].push_back(i % 2 == 1 ? 1000 : 2000);
    batch.values[1].push_back(i % 2 == 1 ? 64'000 : 0);
    batch.values[2].push_back(i <= 10 ? 100'000'000 : 0);
  }
  GpuMetricRows thinner;
  std::vector<GpuMetricInfo> names;
  std::vector<GpuMetricRow> rows;
  thinner.add(gpu, set, batch, names, rows);
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0].metricName, "Compute Warps in Flight [Throughput %]");
  EXPECT_EQ(names[1].metricName, "DRAM Read Bandwidth [Throughput %]");
  EXPECT_EQ(names[0].typeId & 0xff, 1);
  std::vector<std::int64_t> warps, dram, times;
  for (const GpuMetricRow& row : rows) {
    (row.metricId == names[0].metricId ? warps : dram).push_back(row.value);
    if (row.metricId == names[0].metricId) times.push_back(row.timestamp);
  }
  EXPECT_THAT(warps, ElementsAre(33, 33, 33)) << "5 x 64 000 of 64 x 15 000: no mean of percentages";
  EXPECT_THAT(dram, ElementsAre(25, 0, 0));
  EXPECT_THAT(times, ElementsAre(1'000'000, 2'000'000, 3'000'000));

  // A short batch soon after gives no row; one a millisecond later does, and no name twice.
  batch.startNs = 3'000'000;
  batch.endNs = {3'100'000};
  for (auto& column : batch.values) column.resize(1);
  rows.clear();
  thinner.add(gpu, set, batch, names, rows);
  EXPECT_THAT(rows, IsEmpty());
  batch.startNs = 3'950'000;
  batch.endNs = {4'000'000};
  thinner.add(gpu, set, batch, names, rows);
  EXPECT_EQ(rows.size(), 2u);
  EXPECT_EQ(names.size(), 2u);

  // Without the 100 % there is no percentage.
  gpu.maxWarpsPerSm = gpu.memoryBandwidth = kNull;
  rows.clear();
  batch.startNs = 9'000'000;
  batch.endNs = {9'900'000};
  thinner.add(gpu, set, batch, names, rows);
  EXPECT_THAT(rows, IsEmpty());
}

}  // namespace
}  // namespace warpmeter::recorder
