// SPDX-License-Identifier: Apache-2.0
// Walking buffers: whole ones, those of a killed process, and hostile ones.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>

#include "collector/recorder/guest_simulator.h"
#include "collector/recorder/records.h"
#include "record_walk.h"

namespace warpmeter::recorder {
namespace {

constexpr std::uint64_t kNow = 1'780'000'000'000'000'000;
constexpr std::uint32_t kPid = 4711;
const Plausibility kBounds{kPid, kNow - 1'000'000'000'000, kNow + 1'000'000'000'000};

class Walk : public testing::Test {
 protected:
  const std::uint16_t* sizes() { return guest_.header().recordBytes; }
  std::vector<std::uint32_t> correlations(std::span<const std::byte> bytes, WalkMode mode, WalkStats* stats = nullptr) {
    std::vector<std::uint32_t> result;
    CuptiWalk walk(bytes, sizes(), kBounds, mode);
    std::size_t size = 0;
    while (const std::byte* record = walk.next(size)) {
      std::uint32_t kind = 0, id = 0;
      std::memcpy(&kind, record, sizeof kind);
      const bool kernel = kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
      std::memcpy(&id, record + (kernel ? offsetof(CUpti_ActivityKernel10, correlationId) : offsetof(CUpti_ActivityAPI, correlationId)),
                  sizeof id);
      result.push_back(id);
    }
    if (stats != nullptr) *stats = walk.stats();
    return result;
  }
  GuestSimulator guest_{wire::kMiB};
};

TEST_F(Walk, completedBufferGivesEveryRecord) {
  std::vector<std::byte> bytes;
  for (std::uint32_t i = 1; i <= 100; ++i) {
    appendRecord(bytes, apiRecord(false, 211, i, kPid, 9, kNow, kNow + 5));
    appendRecord(bytes, kernelRecord(1000 + i, wire::kStringBit | 4, kNow, kNow + 5));
  }
  WalkStats stats;
  EXPECT_EQ(correlations(bytes, WalkMode::completed, &stats).size(), 200u);
  EXPECT_EQ(stats.holes, 0);
  EXPECT_EQ(countKinds(bytes, sizes()).at(CUPTI_ACTIVITY_KIND_RUNTIME), 100);
}

TEST_F(Walk, completedBufferGoesOnBehindADamagedPlace) {
  std::vector<std::byte> bytes;
  appendRecord(bytes, apiRecord(false, 211, 1, kPid, 9, kNow, kNow + 5));
  bytes.resize(bytes.size() + 64, std::byte{0xff});
  appendRecord(bytes, apiRecord(false, 211, 2, kPid, 9, kNow, kNow + 5));
  WalkStats stats;
  EXPECT_EQ(correlations(bytes, WalkMode::completed, &stats), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(stats.holes, 1);
  EXPECT_EQ(stats.holeBytes, 64);
}

// What a kill leaves: some places reserved and zero, some half written, unused room at the end.
TEST_F(Walk, salvageFindsEveryWholeRecordBetweenRandomHoles) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<std::byte> bytes;
    std::set<std::uint32_t> whole;
    int damaged = 0;
    const auto records = std::uniform_int_distribution<std::uint32_t>(1, 200)(random);
    for (std::uint32_t i = 1; i <= records; ++i) {
      std::vector<std::byte> record;
      const bool kernel = random() % 2 == 0;
      const std::uint64_t start = kNow + random() % 1000000;
      if (kernel) {
        appendRecord(record, kernelRecord(i, random() % 2 == 0 ? (wire::kStringBit | 4) : 0x7f0012345678, start, start + 900));
      } else {
        appendRecord(record, apiRecord(random() % 2 == 0, 211, i, kPid, static_cast<std::uint32_t>(1 + random() % 9), start, start + 400));
      }
      switch (random() % 6) {
        case 0:  // reserved only
          std::fill(record.begin(), record.end(), std::byte{});
          ++damaged;
          break;
        case 1:  // kind written, the rest not
          std::fill(record.begin() + 8, record.end(), std::byte{});
          ++damaged;
          break;
        default: whole.insert(i); break;
      }
      bytes.insert(bytes.end(), record.begin(), record.end());
    }
    bytes.resize(bytes.size() + random() % 64 / 8 * 8 + 4096);
    WalkStats stats;
    const auto found = correlations(bytes, WalkMode::salvage, &stats);
    EXPECT_EQ(std::set<std::uint32_t>(found.begin(), found.end()), whole) << "round " << round;
    EXPECT_EQ(found.size(), whole.size()) << "round " << round;
    EXPECT_LE(stats.holes, damaged) << "round " << round;
    if (damaged == 0) {
      EXPECT_EQ(stats.holes, 0) << "round " << round;
    }
  }
}

TEST_F(Walk, aKernelThatDidNotRunYetIsKept) {
  std::vector<std::byte> bytes(64);
  appendRecord(bytes, kernelRecord(7, 0x7f0012345678, 0, 0));
  bytes.resize(bytes.size() + 1024);
  EXPECT_EQ(correlations(bytes, WalkMode::salvage), std::vector<std::uint32_t>{7});
}

TEST_F(Walk, salvageBelievesNoForeignPidOrTime) {
  std::vector<std::byte> bytes;
  appendRecord(bytes, apiRecord(false, 211, 1, kPid + 1, 9, kNow, kNow + 5));
  appendRecord(bytes, apiRecord(false, 211, 2, kPid, 9, 5, 9));
  appendRecord(bytes, apiRecord(false, 211, 3, kPid, 9, kNow, kNow - 5));
  auto k = kernelRecord(4, wire::kStringBit | 4, kNow, kNow + 1);
  k.blockX = 1025;
  appendRecord(bytes, k);
  WalkStats stats;
  EXPECT_TRUE(correlations(bytes, WalkMode::salvage, &stats).empty());
  EXPECT_EQ(stats.holes, 1);
}

TEST_F(Walk, anUnusedBufferIsNoHole) {
  const std::vector<std::byte> bytes(128 * 1024);
  WalkStats stats;
  EXPECT_TRUE(correlations(bytes, WalkMode::salvage, &stats).empty());
  EXPECT_EQ(stats.holes, 0);
}

TEST_F(Walk, randomBytesNeverReachBeyondTheBuffer) {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bytes(random() % 3000);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random() % 4 == 0 ? random() % 60 : 0);
    bytes.shrink_to_fit();
    for (const WalkMode mode : {WalkMode::completed, WalkMode::salvage}) {
      CuptiWalk walk(bytes, sizes(), kBounds, mode);
      std::size_t size = 0, sum = 0;
      while (const std::byte* record = walk.next(size)) {
        ASSERT_GE(record, bytes.data());
        ASSERT_LE(record + size, bytes.data() + bytes.size());
        sum += size;
      }
      EXPECT_LE(sum, bytes.size());
    }
    walkOwnRecords(bytes, [&](const wire::OwnHeader&, const std::byte* at, std::size_t size) {
      ASSERT_LE(at + size, bytes.data() + bytes.size());
    });
  }
}

TEST(OwnWalk, stopsAtWhatIsNoRecord) {
  std::vector<std::byte> bytes;
  wire::MarkRecord mark{};
  mark.header.kind = static_cast<std::uint32_t>(wire::OwnKind::mark);
  mark.header.bytes = sizeof mark;
  appendRecord(bytes, mark);
  appendRecord(bytes, mark);
  int seen = 0;
  const auto count = [&seen](const wire::OwnHeader&, const std::byte*, std::size_t) { ++seen; };
  EXPECT_TRUE(walkOwnRecords(bytes, count));
  EXPECT_EQ(seen, 2);
  mark.header.bytes = 7;
  appendRecord(bytes, mark);
  EXPECT_FALSE(walkOwnRecords(bytes, count));
  EXPECT_EQ(seen, 4);
}

}  // namespace
}  // namespace warpmeter::recorder
