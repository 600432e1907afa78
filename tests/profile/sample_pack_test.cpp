// SPDX-License-Identifier: Apache-2.0
// The packing of samples: what goes in comes out, and no input does harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "warpmeter/profile/sample_pack.h"

namespace warpmeter {
namespace {

using testing::ElementsAre;
using Column = std::vector<std::int64_t>;

constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> result;
  for (const int value : values) result.push_back(static_cast<std::byte>(value));
  return result;
}

TEST(SamplePack, TheBytesAreThoseOfTheDocumentation) {
  // Ends 110 and 310 after a start at 100: 10, 200. Values 3, 2: +3 -> 6, -1 -> 1. Values 0, 64: 0, 128.
  const std::vector<Column> values = {{3, 2}, {0, 64}};
  EXPECT_EQ(packSamples(100, Column{110, 310}, values), bytes({10, 0xc8, 0x01, 6, 1, 0, 0x80, 0x01}));
}

TEST(SamplePack, ComesBack) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    const std::size_t samples = 1 + random() % 300, metrics = random() % 6;
    Column ends;
    std::int64_t at = static_cast<std::int64_t>(random()) >> (random() % 40);
    const std::int64_t start = at = std::min(at, kMax - 1'000'000'000);
    for (std::size_t i = 0; i < samples; ++i) ends.push_back(at += static_cast<std::int64_t>(random() % 3'000'000));
    std::vector<Column> values(metrics);
    for (Column& column : values) {
      for (std::size_t i = 0; i < samples; ++i) column.push_back(static_cast<std::int64_t>(random()) >> (random() % 64));
    }
    const auto data = packSamples(start, ends, values);
    const auto unpacked = unpackSamples(data, start, samples, metrics);
    ASSERT_TRUE(unpacked.has_value()) << round;
    ASSERT_EQ(unpacked->ends, ends);
    ASSERT_EQ(unpacked->values, values);
    ASSERT_FALSE(unpackSamples(data, start, samples, metrics + 1)) << round;
    ASSERT_FALSE(unpackSamples(data, start, samples + 1, metrics)) << round;
    if (samples > 1) {
      ASSERT_FALSE(unpackSamples(data, start, samples - 1, metrics)) << round;
    }
    ASSERT_FALSE(unpackSamples(std::span(data).first(data.size() - 1), start, samples, metrics)) << round;
  }
}

TEST(SamplePack, ExtremesComeBack) {
  const std::vector<Column> values = {{kMin, kMax, kMin, 0}, {kMax, kMin, -1, 1}};
  const Column ends = {kMin, -1, 0, kMax};
  const auto unpacked = unpackSamples(packSamples(kMin, ends, values), kMin, 4, 2);
  ASSERT_TRUE(unpacked.has_value());
  EXPECT_EQ(unpacked->ends, ends);
  EXPECT_EQ(unpacked->values, values);
}

TEST(SamplePack, CountsThatCannotBeTrueAllocateNothing) {
  const auto data = bytes({1, 1, 1, 1});
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  for (const std::size_t samples : {std::size_t{0}, std::size_t{5}, kHuge / 2, kHuge}) {
    for (const std::size_t metrics : {std::size_t{0}, std::size_t{1}, kHuge / 2, kHuge - 1, kHuge}) {
      EXPECT_FALSE(unpackSamples(data, 0, samples, metrics)) << samples << ' ' << metrics;
      EXPECT_FALSE(unpackSamples({}, 0, samples, metrics)) << samples << ' ' << metrics;
    }
  }
  EXPECT_TRUE(unpackSamples(data, 0, 2, 1));  // the same bytes with counts that fit
}

TEST(SamplePack, NumbersThatDoNotFitAreRefused) {
  const auto ten = [](int last) { return bytes({255, 255, 255, 255, 255, 255, 255, 255, 255, last}); };
  EXPECT_FALSE(unpackSamples(ten(2), kMin, 1, 0)) << "65 bits";
  EXPECT_FALSE(unpackSamples(ten(0x81), kMin, 1, 0)) << "never ends";
  const auto whole = unpackSamples(ten(1), kMin, 1, 0);  // 2^64 - 1
  ASSERT_TRUE(whole.has_value());
  EXPECT_THAT(whole->ends, ElementsAre(kMax));
  EXPECT_FALSE(unpackSamples(ten(1), kMin + 1, 1, 0)) << "an end beyond the largest time";
  EXPECT_FALSE(unpackSamples(bytes({2}), kMax - 1, 1, 0)) << "an end beyond the largest time";
  EXPECT_TRUE(unpackSamples(bytes({1}), kMax - 1, 1, 0));
}

// No crash, no endless loop, no more than is there: run under the sanitizers by the asan-ubsan preset.
TEST(SamplePack, GarbageDoesNoHarm) {
  std::mt19937_64 random(11);
  int accepted = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> data(random() % 64);
    // Short numbers half of the time, so that some input is well formed.
    for (std::byte& b : data) b = static_cast<std::byte>(round % 2 ? random() % 128 : random());
    const std::size_t samples = random() % 16, metrics = random() % 5;
    const auto start = static_cast<std::int64_t>(random());
    const auto unpacked = unpackSamples(data, start, samples, metrics);
    if (!unpacked) continue;
    ++accepted;
    ASSERT_EQ(unpacked->ends.size(), samples);
    ASSERT_EQ(unpacked->values.size(), metrics);
    std::int64_t before = start;
    for (const std::int64_t end : unpacked->ends) {
      ASSERT_GE(end, before);
      before = end;
    }
    for (const Column& column : unpacked->values) ASSERT_EQ(column.size(), samples);
  }
  EXPECT_GT(accepted, 100);
}

}  // namespace
}  // namespace warpmeter
