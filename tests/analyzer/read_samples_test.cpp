// SPDX-License-Identifier: Apache-2.0
// Sampled series read in parts on several threads: the same as batch after batch, whatever the file holds.
#include "src/view/read_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/view_of.h"
#include "warpmeter/profile/sample_pack.h"
#include "warpmeter/profile/writer.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::int64_t kOffset = 12'345, kLatest = std::int64_t{1} << 60;

struct Sample {
  std::int64_t start, end;
  std::vector<float> values;
  bool operator==(const Sample&) const = default;
};
struct Read {
  std::map<std::int64_t, std::vector<Sample>> series;  // by setId
  std::int64_t leftOut = 0;
};

// The rule, batch after batch.
Read expected(const ProfileReader& reader) {
  Read out;
  std::map<std::int64_t, std::int64_t> lastEnd;
  must(reader.readSamples([&](const SampleBatch& batch) {
    auto& end = lastEnd.emplace(batch.setId, INT64_MIN).first->second;
    std::int64_t from = batch.startNs + kOffset;
    for (std::size_t i = 0; i < batch.samples(); ++i) {
      const std::int64_t to = batch.endNs[i] + kOffset;
      bool good = from > -kLatest && to < kLatest && from >= end && to > from;
      Sample sample{from, to, {}};
      for (const auto& column : batch.values) {
        const auto counted = static_cast<double>(column[i]);
        good = good && counted >= 0 && counted <= std::min(0x1p53, 1e9 * static_cast<double>(to - from));
        sample.values.push_back(static_cast<float>(column[i]));
      }
      if (good) end = to, out.series[batch.setId].push_back(std::move(sample));
      out.leftOut += good ? 0 : 1;
      from = to;
    }
  }));
  return out;
}

Result<Read> inParts(const ProfileReader& reader, std::size_t samplesPerPart, unsigned threads,
                     std::stop_token stop = {}) {
  const auto sets = must(reader.sampleSets());
  LoadOptions options;
  options.threads = threads;
  options.stop = std::move(stop);
  auto read = readSeries(reader, sets, kOffset, options, samplesPerPart);
  if (!read) return read.error();
  Read out;
  out.leftOut = read->leftOut;
  EXPECT_EQ(read->series.size(), sets.size());
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const SampleSeries& series = read->series[s];
    EXPECT_EQ(series.values.size(), sets[s].metrics.size());
    for (std::size_t i = 0; i < series.size(); ++i) {
      Sample sample{series.startNs(i), series.endNs(i), {}};
      for (const auto& values : series.values) sample.values.push_back(values[i]);
      out.series[sets[s].setId].push_back(std::move(sample));
    }
  }
  return out;
}

class ReadSamples : public ::testing::Test {
 protected:
  struct Batch {
    std::int64_t setId, start;
    std::vector<std::int64_t> ends;
    std::vector<std::vector<std::int64_t>> values;
  };
  // Sets 3 and 8 of one and two metrics.
  ProfileReader file(const std::vector<Batch>& batches, std::size_t damaged = SIZE_MAX) {
    const auto path = dir_.path() / nextName();
    ProfileWriter writer = must(ProfileWriter::create(path, {}));
    must(writer.put(SampleSetInfo{0, 3, "GH100", {"sm__cycles_active.sum"}}));
    must(writer.put(SampleSetInfo{0, 8, "GH100", {"sm__cycles_active.sum", "sm__warps_active.sum"}}));
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const Batch& b = batches[i];
      PackedSamples p;
      p.setId = b.setId, p.startNs = b.start, p.endNs = b.ends.back(), p.intervalNs = 1000;
      p.samples = static_cast<std::int64_t>(b.ends.size()),
      p.metrics = static_cast<std::int64_t>(b.values.size());
      p.data = packSamples(b.start, b.ends, b.values);
      if (i == damaged) p.data.back() = std::byte{0x80};
      must(writer.append(std::span<const PackedSamples>(&p, 1)));
    }
    must(writer.commit());
    must(writer.finish({}));
    return must(ProfileReader::open(path));
  }

  // A run's batches; trouble: how many in a hundred begin too early, and values or times that cannot be.
  std::vector<Batch> batches(std::uint32_t seed, int trouble) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    const auto bad = [&] { return below(100) < trouble; };
    std::vector<Batch> out;
    std::int64_t at = -50'000;
    for (int i = 0; i < 120; ++i) {
      Batch b{below(3) == 0 ? 3 : 8, at + below(500), {}, {}};
      if (bad()) b.start -= below(40'000);
      b.values.resize(b.setId == 3 ? 1 : 2);
      std::int64_t end = b.start;
      for (std::int64_t n = 1 + below(30); n > 0; --n) {
        end += bad() ? 0 : below(50) == 0 ? 5'000'000'000 : 1 + below(2000);
        b.ends.push_back(end);
        for (auto& column : b.values)
          column.push_back(bad() ? below(2) ? -1 : std::int64_t{1} << 54 : below(1'000'000'000));
      }
      at = std::max(at, end);
      out.push_back(std::move(b));
    }
    return out;
  }

 private:
  std::string nextName() { return std::to_string(files_++) + ".wm.sqlite"; }
  support::TempDir dir_;
  int files_ = 0;
};

TEST_F(ReadSamples, PartsAndThreadsMakeNoDifference) {
  std::int64_t leftOut = 0;
  for (std::uint32_t seed = 0; seed < 12; ++seed) {
    const auto reader = file(batches(seed, static_cast<int>(seed % 4) * 10));
    const Read serial = expected(reader);
    leftOut += serial.leftOut;
    if (seed % 4 == 0) {
      EXPECT_EQ(serial.leftOut, 0) << "a sound file loses nothing";
    }
    for (const std::size_t samplesPerPart :
         {std::size_t{1}, std::size_t{20}, std::size_t{333}, kSamplesPerPart})
      for (const unsigned threads : {1u, 4u}) {
        const Read read = must(inParts(reader, samplesPerPart, threads));
        EXPECT_EQ(read.series, serial.series) << seed << " " << samplesPerPart << " " << threads;
        EXPECT_EQ(read.leftOut, serial.leftOut) << seed << " " << samplesPerPart << " " << threads;
      }
  }
  EXPECT_GT(leftOut, 1000) << "the files are as damaged as they should be";
}

TEST_F(ReadSamples, WhatOnePartLeavesOutDependsOnTheOneBefore) {
  // Alone the second batch is good and the third is not; behind the first batch it is the other way round.
  const auto reader = file({{3, 0, {100}, {{1}}}, {3, 50, {400}, {{2}}}, {3, 120, {130}, {{3}}}});
  for (const std::size_t samplesPerPart : {1u, 2u, 100u}) {
    const Read read = must(inParts(reader, samplesPerPart, 2));
    EXPECT_EQ(read.leftOut, 1);
    EXPECT_THAT(read.series.at(3),
                ElementsAre(Sample{kOffset, kOffset + 100, {1}}, Sample{kOffset + 120, kOffset + 130, {3}}));
  }
}

TEST_F(ReadSamples, DamageIsToldOfTheEarliestBatch) {
  auto all = batches(4, 0);
  const auto reader = file(all, 40);
  for (const std::size_t samplesPerPart : {std::size_t{1}, kSamplesPerPart}) {
    const auto read = inParts(reader, samplesPerPart, 4);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().kind, ErrorKind::truncated);
    EXPECT_THAT(read.error().message, HasSubstr("row 41 of WM_SAMPLE are damaged"));
  }
}

TEST_F(ReadSamples, StopsWhenAsked) {
  std::stop_source stop;
  stop.request_stop();
  const auto read = inParts(file(batches(4, 0)), 50, 4, stop.get_token());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::cancelled);
}

TEST_F(ReadSamples, AFileWithoutSamplesHasEmptySeries) {
  const auto reader = file({});
  EXPECT_THAT(must(readSeries(reader, must(reader.sampleSets()), 0, {})).series, SizeIs(2));
  const Read read = must(inParts(reader, 100, 4));
  EXPECT_TRUE(read.series.empty());
  EXPECT_EQ(read.leftOut, 0);
}

}  // namespace
}  // namespace warpmeter::analyzer
