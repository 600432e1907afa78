// SPDX-License-Identifier: Apache-2.0
// PC sampling in the real library, under the fake of it (tests/fake_cupti/fake_pc.h).
#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "fake_pc.h"
#include "guest_process.h"
#include "test_recorder.h"
#include "warpmeter/wire/pc.h"

namespace warpmeter::test {
namespace {

using testing::HasSubstr;
using wire::PcState;

constexpr char kFirst[] = "_Z6vecAddPfS_S_i", kSecond[] = "_Z5scalePff";

GuestCommand sampled(const TestRecorder& recorder, std::vector<std::string> arguments,
                     std::vector<std::string> environment = {}) {
  GuestCommand c;
  c.arguments = std::move(arguments);
  c.environment = std::move(environment);
  const bool given =
      std::ranges::any_of(c.environment, [](const auto& e) { return e.starts_with("WARPMETER_PC="); });
  if (!given) c.environment.emplace_back("WARPMETER_PC=auto");
  c.socketPath = recorder.socketPath();
  return c;
}

using Key = std::tuple<std::string, std::uint64_t, std::string>;  // function, offset, reason
struct Seen {
  std::map<Key, std::uint64_t> samples;
  wire::PcBatchRecord sum{};  // of the counted fields; the last record's others
  int batches = 0;
  std::map<std::uint64_t, std::string> images;  // by checksum
  std::uint64_t inEntries = 0;
};

Seen seenOf(const Guest& guest) {
  Seen seen;
  forEachOwn(guest, [&](const wire::OwnHeader& header) {
    if (header.kind == static_cast<std::uint32_t>(wire::OwnKind::cubin)) {
      const auto& piece = reinterpret_cast<const wire::CubinRecord&>(header);
      EXPECT_LE(sizeof piece + piece.bytes, header.bytes);
      std::string& image = seen.images[piece.crc];
      EXPECT_EQ(image.size(), piece.offset);
      image.append(reinterpret_cast<const char*>(&piece + 1), piece.bytes);
      return;
    }
    if (header.kind != static_cast<std::uint32_t>(wire::OwnKind::pcBatch)) return;
    const auto& batch = reinterpret_cast<const wire::PcBatchRecord&>(header);
    EXPECT_EQ(sizeof batch + batch.entries * sizeof(wire::PcEntry), header.bytes);
    const auto* entries = reinterpret_cast<const wire::PcEntry*>(&batch + 1);
    for (std::uint32_t i = 0; i < batch.entries; ++i) {
      const std::string reason = guest.text(wire::kStringBit | entries[i].reason);
      seen.samples[{guest.text(entries[i].function), entries[i].pcOffset, reason}] += entries[i].samples;
      if (reason != fake::kPcTwinName) seen.inEntries += entries[i].samples;
    }
    wire::PcBatchRecord sum = batch;
    sum.samples += seen.sum.samples;
    sum.otherKernels += seen.sum.otherKernels;
    sum.dropped += seen.sum.dropped;
    sum.lost += seen.sum.lost;
    sum.bufferFull += seen.sum.bufferFull;
    sum.refusedContexts += seen.sum.refusedContexts;
    sum.imagesLost += seen.sum.imagesLost;
    sum.setups += seen.sum.setups;
    sum.flushes += seen.sum.flushes;
    sum.names += seen.sum.names;
    seen.sum = sum;
    ++seen.batches;
  });
  return seen;
}

PcState stateOf(const Seen& seen) { return static_cast<PcState>(seen.sum.state); }

std::size_t kernelsOf(const Guest& guest) {
  std::size_t kernels = 0;
  for (const Bytes& buffer : guest.cuptiBuffers) {
    forEachRecord(guest, buffer, [&](std::uint32_t kind, const std::uint8_t*) {
      kernels += kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ? 1 : 0;
    });
  }
  return kernels;
}

// What `launches` launches of a function leave, see fake_pc.h.
void addLaunches(std::map<Key, std::uint64_t>& samples, const std::string& function, std::uint64_t launches) {
  for (std::uint32_t i = 0; i < fake::kPcOffsets; ++i) {
    samples[{function, (i + 1) * 0x10u, fake::kPcReasonNames[i % fake::kPcReasons]}] += launches * (i + 1);
    if (i % fake::kPcReasons == 0 && i > 0)
      samples[{function, (i + 1) * 0x10u, fake::kPcTwinName}] += launches * i;
  }
}
std::map<Key, std::uint64_t> expected(std::uint64_t launches) {
  std::map<Key, std::uint64_t> samples;
  addLaunches(samples, kFirst, (launches + 1) / 2);
  addLaunches(samples, kSecond, launches / 2);
  return samples;
}

TEST(Pc, EverySampleArrives) {
  TestRecorder recorder;
  const GuestResult result = runGuest(sampled(recorder, {"normal", "--launches", "1000", "--threads", "2"}));
  recorder.stop();
  ASSERT_TRUE(result.exited(0)) << result.output;
  const Guest& guest = recorder.guest(0);
  EXPECT_EQ(kernelsOf(guest), 2000u);
  const Seen seen = seenOf(guest);
  EXPECT_EQ(seen.samples, expected(2000));
  EXPECT_EQ(seen.inEntries, static_cast<std::uint64_t>(result.value("pcSamples")));
  EXPECT_EQ(seen.sum.samples, 2000u * (fake::kPcPerLaunch + 1));
  EXPECT_EQ(seen.sum.otherKernels, 2000u);
  EXPECT_EQ(seen.sum.dropped, 0u);
  EXPECT_EQ(seen.sum.lost, 0u);
  EXPECT_EQ(seen.sum.periodLog2, wire::kPcUsualPeriod);
  EXPECT_STREQ(seen.sum.chip, "GH100");
  EXPECT_EQ(seen.sum.setups, 1u);
  EXPECT_EQ(seen.sum.names, 2u);  // CUPTI hands out the same pointers again and again
  EXPECT_EQ(stateOf(seen), PcState::ended);
  EXPECT_EQ(guest.header().faults.load(), 0u);
}

TEST(Pc, ComesWhileTheProgramRuns) {
  TestRecorder recorder;
  const GuestResult result = runGuest(
      sampled(recorder, {"normal", "--launches", "1000", "--pause-us", "1000"}, {"WARPMETER_FLUSH_MS=50"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  const Seen seen = seenOf(recorder.guest(0));
  EXPECT_EQ(seen.samples, expected(1000));
  EXPECT_GE(seen.batches, 8);
}

TEST(Pc, NothingOfItIsCalledWhenItIsOff) {
  for (const char* value :
       {"WARPMETER_PC=", "WARPMETER_PC=4", "WARPMETER_PC=32", "WARPMETER_PC=x", "OTHER=1"}) {
    TestRecorder recorder;
    GuestCommand c = sampled(recorder, {"normal", "--launches", "100"});
    c.environment = {value};
    const GuestResult result = runGuest(c);
    recorder.stop();
    EXPECT_EQ(result.value("pcCalls"), 0) << value;
    EXPECT_EQ(seenOf(recorder.guest(0)).batches, 0) << value;
  }
}

TEST(Pc, PeriodIsThatWhichWasAskedForExceptOnBlackwell) {
  for (const auto& [chip, period] :
       std::map<std::string, std::uint32_t>{{"GH100", 9}, {"GB100", fake::kPcDefaultPeriod}}) {
    TestRecorder recorder;
    runGuest(
        sampled(recorder, {"normal", "--launches", "100"}, {"WARPMETER_PC=9", "FAKE_CUPTI_CHIP=" + chip}));
    recorder.stop();
    const Seen seen = seenOf(recorder.guest(0));
    EXPECT_EQ(seen.samples, expected(100)) << chip;
    EXPECT_EQ(seen.sum.periodLog2, period) << chip;
    EXPECT_STREQ(seen.sum.chip, chip.c_str());
  }
}

TEST(Pc, WhatComesLateIsLeftByDisable) {
  for (const char* scenario : {"normal", "destroy-context"}) {
    TestRecorder recorder;
    const GuestResult result = runGuest(
        sampled(recorder, {scenario, "--launches", "101"}, {"FAKE_CUPTI_PC_LATE=1", "FAKE_CUPTI_PC_DROP=3"}));
    recorder.stop();
    EXPECT_TRUE(result.exited(0));
    const Seen seen = seenOf(recorder.guest(0));
    EXPECT_EQ(seen.samples, expected(101)) << scenario;
    EXPECT_EQ(seen.sum.dropped, 303u);
    EXPECT_EQ(seen.sum.samples, 101u * (fake::kPcPerLaunch + 4));
  }
}

TEST(Pc, CodeIsNamedBeforeItIsUnloaded) {
  TestRecorder recorder;
  // A period so long that our thread reads nothing between the launches and the unloading.
  const GuestResult result = runGuest(sampled(recorder, {"reload", "--launches", "50"},
                                              {"WARPMETER_FLUSH_MS=5000", "FAKE_CUDA_REUSE_NAMES=1"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(result.value("pcNameless"), 0);
  std::map<Key, std::uint64_t> all = expected(50);
  addLaunches(all, "_Z6matMulPfS_S_i", 25);
  addLaunches(all, "_Z7softmaxPfi", 25);
  const Seen seen = seenOf(recorder.guest(0));
  EXPECT_EQ(seen.samples, all);
  EXPECT_EQ(seen.sum.flushes, 1u);
}

TEST(Pc, ImagesWithLinesAreSentOnce) {
  TestRecorder recorder;
  runGuest(
      sampled(recorder, {"two-contexts", "--launches", "10", "--line-info"}));  // loads the same image twice
  recorder.stop();
  const Seen seen = seenOf(recorder.guest(0));
  ASSERT_EQ(seen.images.size(), 1u);
  EXPECT_THAT(seen.images.begin()->second, HasSubstr("first image"));
  EXPECT_EQ(seen.sum.imagesLost, 0u);
  TestRecorder second;
  runGuest(sampled(second, {"normal", "--launches", "10"}));
  second.stop();
  EXPECT_TRUE(seenOf(second.guest(0)).images.empty());
}

TEST(Pc, SecondContextOfAGpuIsRefusedAndCounted) {
  TestRecorder recorder;
  const GuestResult result = runGuest(sampled(recorder, {"two-contexts", "--launches", "100"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  const Seen seen = seenOf(recorder.guest(0));
  EXPECT_EQ(kernelsOf(recorder.guest(0)), 200u);
  EXPECT_EQ(seen.samples, expected(100));  // the first context's
  EXPECT_EQ(seen.sum.refusedContexts, 1u);
}

TEST(Pc, FullBufferIsCountedAndSamplingGoesOn) {
  TestRecorder recorder;
  const GuestResult result =
      runGuest(sampled(recorder, {"normal", "--launches", "1000", "--pause-us", "1000"},
                       {"WARPMETER_FLUSH_MS=50", "FAKE_CUPTI_PC_FULL=5"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  const Seen seen = seenOf(recorder.guest(0));
  EXPECT_EQ(seen.sum.bufferFull, 1u);
  EXPECT_GT(seen.inEntries, 5000u);
  EXPECT_LT(seen.inEntries, 10000u);
  EXPECT_EQ(stateOf(seen), PcState::ended);
}

TEST(Pc, SamplesWithoutASlotAreCounted) {
  RecorderOptions options;
  options.drain = false;
  options.allowedBytes = 4 * wire::kMiB;
  options.waitAtExit = false;
  TestRecorder recorder(options);
  const GuestResult result = runGuest(
      sampled(recorder, {"normal", "--launches", "3000", "--pause-us", "500"}, {"WARPMETER_FLUSH_MS=10"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  const Seen seen = seenOf(recorder.guest(0));
  EXPECT_GT(seen.batches, 0);
  EXPECT_LT(seen.inEntries, 30000u);  // the pool ran empty: without that the test would show nothing
  // The last batch may have found no slot either, but whatever arrived adds up.
  EXPECT_EQ(seen.sum.samples - seen.sum.otherKernels, seen.inEntries + seen.sum.lost);
}

TEST(Pc, ForkedChildrenAreLeftAlone) {
  TestRecorder recorder;
  const GuestResult result = runGuest(sampled(recorder, {"fork", "--launches", "100"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0)) << result.output;
  EXPECT_EQ(result.value("childStatus"), 0);
  EXPECT_EQ(seenOf(recorder.guest(0)).samples, expected(200));
}

TEST(Pc, ExecutedChildrenAreSampledThemselves) {
  TestRecorder recorder;
  const GuestResult result = runGuest(sampled(recorder, {"exec", "--launches", "100"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0)) << result.output;
  ASSERT_EQ(recorder.guestCount(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(seenOf(recorder.guest(i)).samples, expected(100));
}

TEST(Pc, OldCuptiIsNamed) {
  TestRecorder recorder;
  EXPECT_TRUE(runGuest(sampled(recorder, {"normal", "--launches", "50"},
                               {"WARPMETER_CUPTI=" + fakeFolder() + "/old/libcupti.so.12"}))
                  .exited(0));
  EXPECT_TRUE(
      runGuest(sampled(recorder, {"normal", "--launches", "50"}, {"FAKE_CUPTI_VERSION=24"})).exited(0));
  recorder.stop();
  for (std::size_t i = 0; i < 2; ++i) {
    const Seen seen = seenOf(recorder.guest(i));
    EXPECT_EQ(kernelsOf(recorder.guest(i)), 50u);
    EXPECT_EQ(stateOf(seen), PcState::failed);
    EXPECT_STREQ(seen.sum.reason, "not_recorded");
    EXPECT_THAT(seen.sum.text, HasSubstr("12.8"));
  }
}

struct Failure {
  const char* call;
  int code;
  const char* reason;
  const char* function;
};
class PcFailure : public testing::TestWithParam<Failure> {};

TEST_P(PcFailure, LeavesApplicationAndRecordingIntact) {
  const Failure& failure = GetParam();
  TestRecorder recorder;
  const GuestResult result = runGuest(
      sampled(recorder, {"normal", "--launches", "200", "--exit-code", "6"},
              {"FAKE_CUPTI_FAIL=" + std::string(failure.call) + "=" + std::to_string(failure.code)}));
  recorder.stop();
  EXPECT_TRUE(result.exited(6)) << result.output;
  const Guest& guest = recorder.guest(0);
  EXPECT_EQ(kernelsOf(guest), 200u);
  EXPECT_EQ(guest.header().faults.load(), 0u);
  const Seen seen = seenOf(guest);
  EXPECT_EQ(stateOf(seen), PcState::failed);
  EXPECT_STREQ(seen.sum.reason, failure.reason);
  EXPECT_EQ(seen.sum.error, failure.code);
  EXPECT_THAT(seen.sum.text, HasSubstr(failure.function));
}

INSTANTIATE_TEST_SUITE_P(
    EachCall, PcFailure,
    testing::Values(Failure{"cuptiProfilerInitialize", 27, "unsupported_chip", "cuptiProfilerInitialize"},
                    Failure{"cuptiDeviceGetChipName", 1, "not_recorded", "cuptiDeviceGetChipName"},
                    Failure{"cuptiPCSamplingEnable", 35, "no_permission", "cuptiPCSamplingEnable"},
                    Failure{"cuptiPCSamplingEnable", 26, "counters_busy", "error 26"},
                    Failure{"cuptiPCSamplingEnable", 43, "unsupported_chip", "cuptiPCSamplingEnable"},
                    Failure{"cuptiPCSamplingGetNumStallReasons", 999, "not_recorded", "GetNumStallReasons"},
                    Failure{"cuptiPCSamplingGetStallReasons", 999, "not_recorded", "GetStallReasons"},
                    Failure{"cuptiPCSamplingSetConfigurationAttribute", 1, "not_recorded",
                            "SetConfigurationAttribute"},
                    Failure{"cuptiPCSamplingGetData", 999, "not_recorded", "cuptiPCSamplingGetData"},
                    Failure{"cuptiPCSamplingDisable", 999, "not_recorded", "cuptiPCSamplingDisable"}));

}  // namespace
}  // namespace warpmeter::test
