// SPDX-License-Identifier: Apache-2.0
// Ranged launches: which of them count, and what becomes of damaged records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ranged_launches.h"
#include "warpmeter/wire/exact.h"

namespace warpmeter::recorder {
namespace {

constexpr std::int64_t kUs = 1000;
constexpr std::int64_t kPid = 1000, kOtherPid = 2000;

std::vector<std::byte> configurations() {
  static constexpr char kNames[] = "occupancy.sum\0bytes.sum";
  wire::Configurations head{};
  head.magic = wire::kConfigurationsMagic;
  head.count = 1;
  std::strcpy(head.chip, "GH100");
  head.entries[0] = {sizeof head, 8, sizeof head + 8, sizeof kNames, 2, 0};
  head.bytes = sizeof head + 8 + sizeof kNames;
  std::vector<std::byte> bytes(head.bytes);
  std::memcpy(bytes.data(), &head, sizeof head);
  std::memcpy(bytes.data() + sizeof head + 8, kNames, sizeof kNames);
  return bytes;
}

// A record whose image is a double for each range.
std::vector<std::byte> record(std::vector<wire::RangedLaunch> launches, std::vector<double> image) {
  wire::RangedImageRecord r{};
  r.header.kind = static_cast<std::uint32_t>(wire::OwnKind::rangedImage);
  r.launches = static_cast<std::uint32_t>(launches.size());
  r.imageBytes = image.size() * sizeof(double);
  std::strcpy(r.chip, "GH100");
  for (std::size_t i = 0; i < launches.size(); ++i) r.launch[i] = launches[i];
  r.header.bytes = static_cast<std::uint32_t>(sizeof r + r.imageBytes);
  std::vector<std::byte> bytes(r.header.bytes);
  std::memcpy(bytes.data(), &r, sizeof r);
  std::memcpy(bytes.data() + sizeof r, image.data(), r.imageBytes);
  return bytes;
}

wire::RangedLaunch launch(std::uint32_t id, std::int64_t pushed, std::int64_t popped,
                          std::uint32_t flags = 0) {
  return {pushed, popped, id, id, flags, 0};
}

KernelRow kernel(std::int64_t id, std::int64_t start, std::int64_t end, std::int64_t pid = kPid,
                 std::int64_t device = 0) {
  KernelRow row;
  row.correlationId = id;
  row.start = start;
  row.end = end;
  row.globalPid = pid;
  row.deviceId = device;
  return row;
}

// Answers as warpmeter-sampler does: metric m of range i = image[i] + m.
Result<std::vector<std::byte>> evaluate(int requests) {
  std::vector<std::byte> out;
  wire::RangeRequest request{};
  while (read(requests, &request, sizeof request) == static_cast<ssize_t>(sizeof request)) {
    std::string names(request.namesBytes, 0);
    std::vector<double> image(request.imageBytes / sizeof(double));
    EXPECT_EQ(request.magic, wire::kRangeRequestMagic);
    EXPECT_EQ(read(requests, names.data(), names.size()), static_cast<ssize_t>(names.size()));
    EXPECT_EQ(read(requests, image.data(), request.imageBytes), static_cast<ssize_t>(request.imageBytes));
    EXPECT_STREQ(names.c_str(), "occupancy.sum");
    const wire::RangeReply reply{wire::kRangeReplyMagic, 0, request.metrics, request.ranges, request.tag};
    std::vector<double> values;
    for (std::uint32_t i = 0; i < request.ranges; ++i) {
      for (std::uint32_t m = 0; m < request.metrics; ++m) values.push_back(image[i] + m);
    }
    const auto* head = reinterpret_cast<const std::byte*>(&reply);
    out.insert(out.end(), head, head + sizeof reply);
    const auto* body = reinterpret_cast<const std::byte*>(values.data());
    out.insert(out.end(), body, body + values.size() * sizeof(double));
  }
  return out;
}

std::int64_t unknownGpu(std::int64_t, std::int64_t) { return kNull; }

class Ranged : public testing::Test {
 protected:
  Ranged() { ranged_.configurations(configurations()); }
  bool take(const std::vector<std::byte>& bytes) {
    return ranged_.take(
        kPid, bytes, [](std::int64_t t) { return t; }, [](std::uint32_t id) { return std::int64_t{id}; });
  }
  // The ranged launch 7 runs from 100 to 200 us, its range is open from 90 us on.
  bool takeOne() { return take(record({launch(7, 90 * kUs, 205 * kUs)}, {0.5})); }
  void see(std::vector<KernelRow> kernels) {
    RowBatch rows;
    rows.kernels = std::move(kernels);
    ranged_.see(rows, {}, 0);
  }
  RangedLaunches::Outcome finish(const RangedLaunches::GpuOf& gpuOf = unknownGpu) {
    return ranged_.finish(gpuOf, evaluate);
  }
  RangedLaunches ranged_{testing::TempDir() + "ranged"};
};

TEST_F(Ranged, LaunchAloneCounts) {
  ASSERT_TRUE(takeOne());
  see({kernel(6, 50 * kUs, 90 * kUs), kernel(7, 100 * kUs, 200 * kUs), kernel(8, 220 * kUs, 230 * kUs)});
  const auto outcome = finish();
  EXPECT_EQ(outcome.launches, 1);
  EXPECT_EQ(outcome.kernels, 1);
  EXPECT_EQ(outcome.overlapped + outcome.unchecked + outcome.failed, 0);
  ASSERT_EQ(outcome.values.size(), 2u);
  EXPECT_EQ(outcome.values[0].metric, "occupancy.sum");
  EXPECT_EQ(outcome.values[0].value, 0.5);
  EXPECT_EQ(outcome.values[0].correlationId, 7);
  EXPECT_EQ(outcome.values[0].globalPid, kPid);
  EXPECT_EQ(outcome.values[1].metric, "bytes.sum");
  EXPECT_EQ(outcome.values[1].value, 1.5);
}

struct Beside {
  const char* what;
  std::int64_t start, end, pid, device;
  bool counts;
};
class RangedBeside : public testing::TestWithParam<Beside> {};

TEST_P(RangedBeside, DecidesWhetherItCounts) {
  const Beside& other = GetParam();
  for (const bool rowsFirst : {false, true}) {
    for (const char kind : {'k', 'c', 's'}) {
      RangedLaunches ranged(testing::TempDir() + "ranged");
      ranged.configurations(configurations());
      RowBatch rows;
      rows.kernels.push_back(kernel(7, 100 * kUs, 200 * kUs));
      const auto fill = [&](auto row) {
        row.start = other.start;
        row.end = other.end;
        row.globalPid = other.pid;
        row.deviceId = other.device;
        row.correlationId = 9;
        return row;
      };
      if (kind == 'k') rows.kernels.push_back(fill(KernelRow{}));
      if (kind == 'c') rows.copies.push_back(fill(MemcpyRow{}));
      if (kind == 's') rows.memsets.push_back(fill(MemsetRow{}));
      if (rowsFirst) ranged.see(rows, {}, 0);
      ASSERT_TRUE(ranged.take(
          kPid, record({launch(7, 90 * kUs, 205 * kUs)}, {0.5}), [](std::int64_t t) { return t; },
          [](std::uint32_t id) { return std::int64_t{id}; }));
      if (!rowsFirst) ranged.see(rows, {}, 0);
      // Device 0 of both processes is GPU 4, the second process' device 1 is GPU 5, its device 2 nobody
      // knows.
      const auto outcome = ranged.finish(
          [](std::int64_t, std::int64_t device) { return device == 2 ? kNull : 4 + device; }, evaluate);
      EXPECT_EQ(outcome.launches, other.counts ? 1 : 0) << other.what << kind << rowsFirst;
      EXPECT_EQ(outcome.overlapped, other.counts ? 0 : 1) << other.what << kind << rowsFirst;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Cases, RangedBeside,
    testing::Values(Beside{"before", 10 * kUs, 90 * kUs, kPid, 0, true},
                    Beside{"into the opening", 10 * kUs, 90 * kUs + 1, kPid, 0, false},
                    Beside{"inside", 120 * kUs, 130 * kUs, kPid, 0, false},
                    Beside{"around", 10 * kUs, 990 * kUs, kPid, 0, false},
                    Beside{"too soon behind", 220 * kUs - 1, 300 * kUs, kPid, 0, false},
                    Beside{"behind", 220 * kUs, 300 * kUs, kPid, 0, true},
                    Beside{"on another device", 120 * kUs, 130 * kUs, kPid, 1, true},
                    Beside{"of another process", 120 * kUs, 130 * kUs, kOtherPid, 0, false},
                    Beside{"of another process on another GPU", 120 * kUs, 130 * kUs, kOtherPid, 1, true},
                    Beside{"of another process, who knows where", 120 * kUs, 130 * kUs, kOtherPid, 2, false}),
    [](const auto& beside) { return "case" + std::to_string(beside.index); });

TEST_F(Ranged, WorkThatBeginsBeforeTheRangeIsClosedCountsInIt) {
  ASSERT_TRUE(take(record({launch(7, 90 * kUs, 500 * kUs)}, {0.5})));
  see({kernel(7, 100 * kUs, 200 * kUs), kernel(8, 499 * kUs, 600 * kUs)});
  EXPECT_EQ(finish().overlapped, 1);
}

TEST_F(Ranged, LaunchWithoutRecordIsNotTrusted) {
  ASSERT_TRUE(takeOne());
  see({kernel(8, 100 * kUs, 200 * kUs, kOtherPid)});
  const auto outcome = finish();
  EXPECT_EQ(outcome.unchecked, 1);
  EXPECT_TRUE(outcome.values.empty());
}

TEST_F(Ranged, FailedLaunchIsNone) {
  ASSERT_TRUE(take(record({launch(7, 90 * kUs, 205 * kUs, wire::kRangeFailed)}, {0.5})));
  see({kernel(7, 100 * kUs, 200 * kUs)});
  EXPECT_EQ(finish().launches, 0);
}

TEST_F(Ranged, ValueThatIsNoNumberIsLeftOut) {
  ASSERT_TRUE(take(record({launch(7, 90 * kUs, 205 * kUs)}, {std::numeric_limits<double>::quiet_NaN()})));
  see({kernel(7, 100 * kUs, 200 * kUs)});
  EXPECT_TRUE(finish().values.empty());
}

TEST_F(Ranged, EachRangeHasItsOwnValue) {
  ASSERT_TRUE(take(record({launch(7, 90 * kUs, 205 * kUs), launch(8, 1090 * kUs, 1205 * kUs)}, {1, 2})));
  ASSERT_TRUE(take(record({launch(9, 2090 * kUs, 2205 * kUs)}, {3})));
  see({kernel(7, 100 * kUs, 200 * kUs), kernel(8, 1100 * kUs, 1200 * kUs),
       kernel(9, 2100 * kUs, 2200 * kUs)});
  const auto outcome = finish();
  ASSERT_EQ(outcome.values.size(), 6u);
  for (const auto& [at, id] : {std::pair{0, 7}, {2, 8}, {4, 9}}) {
    EXPECT_EQ(outcome.values[static_cast<std::size_t>(at)].correlationId, id);
    EXPECT_EQ(outcome.values[static_cast<std::size_t>(at)].value, id - 6);
  }
}

TEST_F(Ranged, DamagedRecordsAreRefused) {
  const auto good = record({launch(7, 90 * kUs, 205 * kUs)}, {0.5});
  const auto broken = [&](auto change) {
    auto bytes = good;
    change(*reinterpret_cast<wire::RangedImageRecord*>(bytes.data()));
    return take(bytes);
  };
  EXPECT_FALSE(broken([](auto& r) { r.launches = 0; }));
  EXPECT_FALSE(broken([](auto& r) { r.launches = wire::kMaxRanges + 1; }));
  EXPECT_FALSE(broken([](auto& r) { r.configuration = 1; }));
  EXPECT_FALSE(broken([](auto& r) { r.imageBytes = 9; }));
  EXPECT_FALSE(broken([](auto& r) { r.imageBytes = ~std::uint64_t{0}; }));
  EXPECT_FALSE(broken([](auto& r) { r.dropped = 1; }));
  EXPECT_FALSE(broken([](auto& r) { std::memset(r.chip, 'x', sizeof r.chip); }));
  EXPECT_FALSE(take(std::vector<std::byte>(good.begin(), good.begin() + 100)));
  EXPECT_FALSE(ranged_.any());
  EXPECT_TRUE(take(good));
}

TEST_F(Ranged, RepliesThatEndEarlyGiveNothing) {
  ASSERT_TRUE(takeOne());
  see({kernel(7, 100 * kUs, 200 * kUs)});
  const auto outcome = ranged_.finish(unknownGpu, [](int requests) {
    auto bytes = evaluate(requests);
    bytes->pop_back();
    return bytes;
  });
  EXPECT_EQ(outcome.failed, 1);
  EXPECT_TRUE(outcome.values.empty());
}

TEST_F(Ranged, HelperThatFailsIsNamed) {
  ASSERT_TRUE(takeOne());
  see({kernel(7, 100 * kUs, 200 * kUs)});
  const auto outcome = ranged_.finish(unknownGpu, [](int) -> Result<std::vector<std::byte>> {
    return Error{ErrorKind::io, "the helper was ended by signal 11"};
  });
  EXPECT_EQ(outcome.failed, 1);
  EXPECT_EQ(outcome.problem, "the helper was ended by signal 11");
}

TEST(Configurations, OnlySoundOnesAreBelieved) {
  const auto good = configurations();
  const auto sound = [&](auto change) {
    auto bytes = good;
    change(*reinterpret_cast<wire::Configurations*>(bytes.data()));
    return wire::soundConfigurations(bytes.data(), bytes.size());
  };
  EXPECT_TRUE(sound([](auto&) {}));
  EXPECT_FALSE(sound([](auto& c) { c.magic = 0; }));
  EXPECT_FALSE(sound([](auto& c) { ++c.bytes; }));
  EXPECT_FALSE(sound([](auto& c) { c.count = 0; }));
  EXPECT_FALSE(sound([](auto& c) { c.count = wire::kMaxConfigurations + 1; }));
  EXPECT_FALSE(sound([](auto& c) { c.entries[0].imageOffset = 0; }));
  EXPECT_FALSE(sound([](auto& c) { c.entries[0].imageBytes = 1u << 31; }));
  EXPECT_FALSE(sound([](auto& c) { c.entries[0].imageOffset += 4; }));
  EXPECT_FALSE(sound([](auto& c) { ++c.entries[0].metrics; }));
  EXPECT_FALSE(sound([](auto& c) { --c.entries[0].namesBytes; }));
  EXPECT_FALSE(sound([](auto& c) { std::memset(c.chip, 'x', sizeof c.chip); }));
  EXPECT_FALSE(wire::soundConfigurations(good.data(), 10));
}

}  // namespace
}  // namespace warpmeter::recorder
