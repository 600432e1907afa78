// SPDX-License-Identifier: Apache-2.0
#include "batch_encoder.h"

#include <gtest/gtest.h>

#include "simulation.h"

namespace warpmeter::sampler {
namespace {

using simulation::Sink;
using wire::SamplerKind;

constexpr std::int64_t kStart = 1'700'000'000'000'000'000, kInterval = 2'000;

// `count` samples of two columns from `first` on, without holes; values 100 + number, 7.
SampleBlock samples(std::int64_t first, std::size_t count) {
  SampleBlock block;
  block.clear(2);
  for (std::size_t i = 0; i < count; ++i) {
    block.startNs.push_back(first + static_cast<std::int64_t>(i) * kInterval);
    block.endNs.push_back(block.startNs.back() + kInterval);
    block.values.push_back(100 + static_cast<double>(i));
    block.values.push_back(7);
  }
  return block;
}

TEST(BatchEncoder, WhatIsDecodedInPartsBecomesOneBatch) {
  Sink sink;
  BatchEncoder encoder(1, sink);
  encoder.beginBurst(4, 2, kInterval);
  encoder.add(samples(kStart, 3));
  encoder.add(samples(kStart + 3 * kInterval, 2));
  encoder.endBurst();
  ASSERT_EQ(sink.messages.size(), 1u);
  const auto& m = sink.messages.front();
  EXPECT_EQ(m.head.kind, SamplerKind::batch);
  EXPECT_EQ(m.head.magic, wire::kSamplerMagic);
  EXPECT_EQ(m.head.gpu, 1u);
  EXPECT_EQ(m.head.set, 4u);
  EXPECT_EQ(m.head.samples, 4u);  // without the first of the burst
  EXPECT_EQ(m.head.metrics, 2u);
  EXPECT_EQ(m.head.intervalNs, kInterval);
  EXPECT_EQ(m.head.fromNs, kStart + kInterval);
  EXPECT_EQ(m.head.toNs, kStart + 5 * kInterval);
  EXPECT_EQ(m.head.bytes, m.payload.size());
  const auto unpacked = simulation::unpack(m);
  ASSERT_TRUE(unpacked.has_value());
  EXPECT_EQ(unpacked->values[0], (std::vector<std::int64_t>{101, 102, 100, 101}));
  EXPECT_EQ(unpacked->values[1], (std::vector<std::int64_t>{7, 7, 7, 7}));
}

TEST(BatchEncoder, EndsWhereTimeHasAHole) {
  Sink sink;
  BatchEncoder encoder(0, sink);
  encoder.beginBurst(0, 2, kInterval);
  encoder.add(samples(kStart, 3));
  encoder.add(samples(kStart + 10 * kInterval, 2));
  encoder.endBurst();
  ASSERT_EQ(sink.messages.size(), 2u);
  EXPECT_EQ(sink.messages[0].head.toNs, kStart + 3 * kInterval);
  EXPECT_EQ(sink.messages[1].head.fromNs, kStart + 10 * kInterval);
  EXPECT_EQ(sink.messages[1].head.samples, 2u);
}

TEST(BatchEncoder, ToleratesRoundedTimeStamps) {
  Sink sink;
  BatchEncoder encoder(0, sink);
  SampleBlock block = samples(kStart, 4);
  block.startNs[2] += 3;  // three nanoseconds after the end of the sample before
  encoder.beginBurst(0, 2, kInterval);
  encoder.add(block);
  encoder.endBurst();
  ASSERT_EQ(sink.messages.size(), 1u);
  EXPECT_EQ(sink.messages.front().head.samples, 3u);
}

TEST(BatchEncoder, HoldsAtMostSoManySamples) {
  Sink sink;
  BatchEncoder encoder(0, sink);
  encoder.beginBurst(0, 2, kInterval);
  encoder.add(samples(kStart, BatchEncoder::kMaxBatchSamples + 11));
  encoder.endBurst();
  ASSERT_EQ(sink.messages.size(), 2u);
  EXPECT_EQ(sink.messages[0].head.samples, BatchEncoder::kMaxBatchSamples);
  EXPECT_EQ(sink.messages[1].head.samples, 10u);
  EXPECT_EQ(sink.messages[0].head.toNs, sink.messages[1].head.fromNs);
}

TEST(BatchEncoder, SamplesWithoutAValueAreLeftOutAndTold) {
  Sink sink;
  BatchEncoder encoder(0, sink);
  SampleBlock block = samples(kStart, 10);
  block.values[2 * 4] = std::numeric_limits<double>::quiet_NaN();
  block.values[2 * 6 + 1] = -1;
  block.endNs[8] = block.startNs[8];
  encoder.beginBurst(0, 2, kInterval);
  encoder.add(block);
  encoder.endBurst();
  std::size_t sent = 0;
  for (const auto& m : sink.of(SamplerKind::batch)) {
    sent += m.head.samples;
    EXPECT_EQ(m.head.toNs - m.head.fromNs, m.head.samples * kInterval);
  }
  EXPECT_EQ(sent, 6u);
  EXPECT_EQ(encoder.invalid(), 3u);
  const auto holes = sink.of(SamplerKind::hole);
  ASSERT_EQ(holes.size(), 1u);
  EXPECT_EQ(holes.front().payload, "3 samples without a value");
  EXPECT_EQ(holes.front().head.fromNs, kStart + 4 * kInterval);
  EXPECT_EQ(holes.front().head.toNs, kStart + 8 * kInterval);
}

TEST(BatchEncoder, RoundsToWholeCounts) {
  Sink sink;
  BatchEncoder encoder(0, sink);
  SampleBlock block = samples(kStart, 2);
  block.values[2] = 41.6;
  encoder.beginBurst(0, 2, kInterval);
  encoder.add(block);
  encoder.endBurst();
  ASSERT_EQ(sink.messages.size(), 1u);
  EXPECT_EQ(simulation::unpack(sink.messages.front())->values[0][0], 42);
}

TEST(BatchEncoder, RefusedBatchesAreToldOnceOneIsTaken) {
  Sink sink;
  BatchEncoder encoder(0, sink);
  sink.refuse = true;
  for (int i = 0; i < 3; ++i) {
    encoder.beginBurst(0, 2, kInterval);
    encoder.add(samples(kStart + i * 100 * kInterval, 11));
    encoder.endBurst();
  }
  EXPECT_TRUE(sink.messages.empty());
  sink.refuse = false;
  encoder.beginBurst(0, 2, kInterval);
  encoder.add(samples(kStart + 300 * kInterval, 11));
  encoder.endBurst();
  EXPECT_EQ(sink.of(SamplerKind::batch).size(), 1u);
  const auto holes = sink.of(SamplerKind::hole);
  ASSERT_EQ(holes.size(), 1u);
  EXPECT_EQ(holes.front().head.fromNs, kStart + kInterval);
  EXPECT_EQ(holes.front().head.toNs, kStart + 211 * kInterval);
  EXPECT_EQ(holes.front().payload, "30 samples that the recorder did not take in time");
  EXPECT_EQ(encoder.dropped(), 30u);
  encoder.tellLosses();
  EXPECT_EQ(sink.of(SamplerKind::hole).size(), 1u);
}

}  // namespace
}  // namespace warpmeter::sampler
