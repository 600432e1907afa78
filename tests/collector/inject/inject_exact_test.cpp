// SPDX-License-Identifier: Apache-2.0
// Exact mode in the real library, under the fake Range Profiler (tests/fake_cupti/fake_range.h).
#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "guest_process.h"
#include "test_recorder.h"

namespace warpmeter::test {
namespace {

using testing::HasSubstr;
using wire::ExactState;

// Two configurations; the fake wants an image that begins with CFG and the number of metrics.
Bytes twoConfigurations(const char* chip = "GH100") {
  static constexpr char kNames[] = "first.sum\0second.sum";
  wire::Configurations head{};
  Bytes bytes(sizeof head);
  head.magic = wire::kConfigurationsMagic;
  head.count = 2;
  std::strcpy(head.chip, chip);
  for (int i = 0; i < 2; ++i) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    wire::Configuration& c = head.entries[i];
    c.imageOffset = static_cast<std::uint32_t>(bytes.size());
    const char image[] = {'C', 'F', 'G', 2};
    bytes.insert(bytes.end(), image, image + sizeof image);
    c.imageBytes = sizeof image;
    c.namesOffset = static_cast<std::uint32_t>(bytes.size());
    c.namesBytes = sizeof kNames;
    bytes.insert(bytes.end(), kNames, kNames + sizeof kNames);
    c.metrics = 2;
  }
  head.bytes = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

RecorderOptions measuring() {
  RecorderOptions options;
  options.configurations = twoConfigurations();
  return options;
}

GuestCommand exact(const TestRecorder& recorder, std::vector<std::string> arguments,
                   std::vector<std::string> environment = {}) {
  GuestCommand c;
  c.arguments = std::move(arguments);
  c.environment = std::move(environment);
  c.environment.emplace_back("WARPMETER_EXACT=3");
  c.socketPath = recorder.socketPath();
  return c;
}

struct Kernel {
  std::int32_t gridX = 0;
  std::uint64_t start = 0, end = 0;
};

std::map<std::uint32_t, Kernel> kernelsOf(const Guest& guest) {  // by correlation id
  std::map<std::uint32_t, Kernel> kernels;
  for (const Bytes& buffer : guest.cuptiBuffers) {
    forEachRecord(guest, buffer, [&](std::uint32_t kind, const std::uint8_t* record) {
      if (kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) return;
      CUpti_ActivityKernel9 kernel;
      std::memcpy(&kernel, record, sizeof kernel);
      // The first with that id: CUPTI launches one of its own behind a range.
      kernels.try_emplace(kernel.correlationId, Kernel{kernel.gridX, kernel.start, kernel.end});
    });
  }
  return kernels;
}

struct Range {
  wire::RangedLaunch launch;
  std::uint32_t configuration;
  double value;  // see fake_range.h
};

std::vector<Range> rangesOf(const Guest& guest) {
  std::vector<Range> ranges;
  forEachOwn(guest, [&](const wire::OwnHeader& header) {
    if (header.kind != static_cast<std::uint32_t>(wire::OwnKind::rangedImage)) return;
    const auto& record = reinterpret_cast<const wire::RangedImageRecord&>(header);
    EXPECT_EQ(record.dropped, 0u);
    EXPECT_STREQ(record.chip, "GH100");
    EXPECT_LE(sizeof record + record.imageBytes, header.bytes);
    const auto* image = reinterpret_cast<const char*>(&record + 1);
    std::uint32_t stored = 0;
    std::memcpy(&stored, image + 4, sizeof stored);
    EXPECT_EQ(stored, record.launches);
    for (std::uint32_t i = 0; i < record.launches; ++i) {
      Range range{record.launch[i], record.configuration, 0};
      std::memcpy(&range.value, image + 8 + 8 * i, sizeof range.value);
      ranges.push_back(range);
    }
  });
  return ranges;
}

// Resources, context resets, and the whole domain of states (all of the fake's 1024).
constexpr std::int64_t kOtherCallbacks = 5 + 6 + 1024;

ExactState stateOf(const Guest& guest) { return static_cast<ExactState>(guest.exactArea()->state.load()); }

TEST(Exact, MeasuresLaunchesOfEachKernelAfterItsFirst) {
  TestRecorder recorder(measuring());
  const GuestResult result =
      runGuest(exact(recorder, {"normal", "--launches", "200", "--kernels", "4", "--runtime"}));
  recorder.stop();
  ASSERT_TRUE(result.exited(0)) << result.output;
  const Guest& guest = recorder.guest(0);
  EXPECT_NE(stateOf(guest), ExactState::ended) << guest.exactArea()->reasonText;
  const auto kernels = kernelsOf(guest);
  EXPECT_EQ(kernels.size(), 200u);
  const auto ranges = rangesOf(guest);
  EXPECT_EQ(ranges.size(), 4u * 2u * 3u);
  EXPECT_EQ(result.value("pushedRanges"), 24);
  EXPECT_EQ(result.value("openSessions"), 0);  // closed when nothing was left to do
  std::map<std::int32_t, std::uint32_t> first;
  for (const auto& [id, kernel] : kernels) {
    first.emplace(kernel.gridX, id);
    EXPECT_NE(kernel.end, 0u);
  }
  std::map<std::pair<std::int32_t, std::uint32_t>, int> made;
  for (const Range& range : ranges) {
    ASSERT_TRUE(kernels.count(range.launch.correlationId)) << range.launch.correlationId;
    const Kernel& kernel = kernels.at(range.launch.correlationId);
    EXPECT_EQ(range.value, kernel.gridX * 1000.0);
    EXPECT_EQ(range.launch.flags, 0u);
    EXPECT_NE(range.launch.correlationId, first.at(kernel.gridX));
    EXPECT_LE(range.launch.pushedNs, static_cast<std::int64_t>(kernel.start));
    EXPECT_GE(range.launch.poppedNs, static_cast<std::int64_t>(kernel.end));
    ++made[{kernel.gridX, range.configuration}];
  }
  EXPECT_EQ(made.size(), 8u);
  for (const auto& [key, count] : made) EXPECT_EQ(count, 3) << key.first << ' ' << key.second;
  EXPECT_EQ(guest.exactArea()->kernels.load(), 4u);
  EXPECT_EQ(guest.exactArea()->ranges.load(), 24u);
}

TEST(Exact, NothingOfItIsCalledWhenItIsOff) {
  for (const char* value : {"WARPMETER_EXACT=0", "WARPMETER_EXACT=x", "OTHER=1"}) {
    TestRecorder recorder(measuring());
    GuestCommand c = exact(recorder, {"normal", "--launches", "100", "--kernels", "2"});
    c.environment = {value};
    const GuestResult result = runGuest(c);
    recorder.stop();
    EXPECT_EQ(result.value("rangeCalls"), 0) << value;
    EXPECT_EQ(result.value("enabledCallbacks"), kOtherCallbacks) << value;
    EXPECT_EQ(stateOf(recorder.guest(0)), ExactState::off) << value;
  }
}

TEST(Exact, SessionThatIsOpenAtTheEndIsStillDelivered) {
  TestRecorder recorder(measuring());
  const GuestResult result = runGuest(exact(recorder, {"normal", "--launches", "8", "--kernels", "4"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(result.value("openSessions"), 1);
  EXPECT_EQ(rangesOf(recorder.guest(0)).size(), 4u);  // each kernel's second launch
}

TEST(Exact, ContextThatGoesTakesNothingAlong) {
  TestRecorder recorder(measuring());
  const GuestResult result =
      runGuest(exact(recorder, {"destroy-context", "--launches", "8", "--kernels", "4"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(result.value("openSessions"), 0);
  EXPECT_EQ(rangesOf(recorder.guest(0)).size(), 4u);
}

TEST(Exact, CapturesAreLeftAlone) {  // few launches before the first capture: kernels still need ranges when
                                     // it begins
  for (const char* threads : {"1", "4"}) {
    TestRecorder recorder(measuring());
    const GuestResult result = runGuest(exact(recorder, {"graph-capture", "--launches", "18", "--kernels",
                                                         "3", "--threads", threads, "--exit-code", "4"}));
    recorder.stop();
    EXPECT_TRUE(result.exited(4)) << result.output;
    EXPECT_EQ(result.value("goodCaptures"), 3) << threads;
    EXPECT_EQ(result.value("callsDuringCapture"), 0) << threads;
    EXPECT_GT(result.value("pushedRanges"), 0) << threads;
    EXPECT_NE(stateOf(recorder.guest(0)), ExactState::ended) << recorder.guest(0).exactArea()->reasonText;
  }
}

TEST(Exact, RangesWithForeignLaunchesAreMarked) {
  // Four threads launching at once disturb each other, though not in every run. Which range exactly is for the
  // records to tell: a launch that is already under way when the range opens is not seen here.
  bool disturbed = false;
  for (int round = 0; round < 40 && !disturbed; ++round) {
    TestRecorder recorder(measuring());
    const GuestResult result =
        runGuest(exact(recorder, {"normal", "--launches", "3000", "--kernels", "2", "--threads", "4"}));
    recorder.stop();
    EXPECT_TRUE(result.exited(0));
    const Guest& guest = recorder.guest(0);
    EXPECT_EQ(kernelsOf(guest).size(), 12000u);
    std::map<std::uint32_t, int> perKernel;
    for (const Range& range : rangesOf(guest)) {
      disturbed = disturbed || (range.launch.flags & wire::kRangeDisturbed) != 0;
      ++perKernel[range.launch.kernel];
    }
    EXPECT_EQ(perKernel.size(), 2u);
    for (const auto& [kernel, count] : perKernel) EXPECT_LE(count, 6 + 20) << kernel;
    EXPECT_EQ(guest.header().faults.load(), 0u);
  }
  EXPECT_TRUE(disturbed);
}

TEST(Exact, CommunicationAndCooperativeKernelsAreNeverRanged) {
  for (const char* kind : {"--nccl", "--cooperative"}) {
    TestRecorder recorder(measuring());
    const GuestResult result =
        runGuest(exact(recorder, {"normal", kind, "--launches", "50", "--kernels", "2"}));
    recorder.stop();
    EXPECT_TRUE(result.exited(0));
    EXPECT_EQ(kernelsOf(recorder.guest(0)).size(), 50u);
    EXPECT_EQ(recorder.guest(0).exactArea()->kernels.load(), 2u) << kind;  // it was listening
    EXPECT_EQ(result.value("pushedRanges"), 0) << kind;
  }
}

TEST(Exact, OneContextAtATime) {  // the fake refuses to enable a second one
  TestRecorder recorder(measuring());
  const GuestResult result =
      runGuest(exact(recorder, {"two-contexts", "--launches", "400", "--kernels", "2"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  const Guest& guest = recorder.guest(0);
  EXPECT_NE(stateOf(guest), ExactState::ended) << guest.exactArea()->reasonText;
  std::set<std::uint32_t> kernels;
  for (const Range& range : rangesOf(guest)) kernels.insert(range.launch.kernel);
  EXPECT_EQ(kernels.size(), 4u);  // both kernels, in both contexts
}

TEST(Exact, LargeImagesMeanSmallerSessions) {
  TestRecorder recorder(measuring());
  const GuestResult result = runGuest(exact(recorder, {"normal", "--launches", "3000", "--kernels", "25"},
                                            {"FAKE_CUPTI_RANGE_BYTES=100000", "WARPMETER_EXACT=4"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(rangesOf(recorder.guest(0)).size(), 50u * 2u * 4u);  // 25 grids of two functions
  EXPECT_GE(recorder.guest(0).exactArea()->sessions.load(), 400u / 32u);
  EXPECT_EQ(result.value("dirtyBuffers"), 0);
}

TEST(Exact, ImageThatFitsNowhereEndsTheMode) {
  TestRecorder recorder(measuring());
  const GuestResult result = runGuest(
      exact(recorder, {"normal", "--launches", "50", "--kernels", "2"}, {"FAKE_CUPTI_RANGE_BYTES=5000000"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(stateOf(recorder.guest(0)), ExactState::ended);
  EXPECT_THAT(recorder.guest(0).exactArea()->reasonText, HasSubstr("4 MiB"));
  EXPECT_EQ(result.value("openSessions"), 0);
}

TEST(Exact, RefusalTravelsWithItsReason) {
  RecorderOptions options;
  options.refusal = "unsupported_chip the chip is of a kind that nobody knows";
  TestRecorder recorder(options);
  EXPECT_TRUE(runGuest(exact(recorder, {"normal", "--launches", "50", "--kernels", "2"})).exited(0));
  recorder.stop();
  const wire::ExactArea& area = *recorder.guest(0).exactArea();
  EXPECT_EQ(stateOf(recorder.guest(0)), ExactState::ended);
  EXPECT_STREQ(area.reason, "unsupported_chip");
  EXPECT_STREQ(area.reasonText, "the chip is of a kind that nobody knows");
  EXPECT_STREQ(area.chip, "GH100");
}

TEST(Exact, ConfigurationsOfAnotherChipAreNotUsed) {
  RecorderOptions options;
  options.configurations = twoConfigurations("GA100");
  TestRecorder recorder(options);
  const GuestResult result = runGuest(exact(recorder, {"normal", "--launches", "50", "--kernels", "2"}));
  recorder.stop();
  EXPECT_EQ(result.value("pushedRanges"), 0);
  EXPECT_STREQ(recorder.guest(0).exactArea()->reason, "not_recorded");
}

TEST(Exact, CountersThatAreTakenStayUntouched) {
  RecorderOptions options = measuring();
  options.lease = false;
  TestRecorder recorder(options);
  const GuestResult result = runGuest(exact(recorder, {"normal", "--launches", "50", "--kernels", "2"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(result.value("pushedRanges"), 0);
  EXPECT_EQ(stateOf(recorder.guest(0)), ExactState::quiet);
}

TEST(Exact, CallbacksEndWhenNothingIsLeftToDo) {
  TestRecorder recorder(measuring());
  const GuestResult result =
      runGuest(exact(recorder, {"normal", "--launches", "2500", "--kernels", "2", "--pause-us", "1000"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(result.value("enabledCallbacks"),
            kOtherCallbacks + 8);  // captures are still counted, launches are not
  EXPECT_EQ(stateOf(recorder.guest(0)), ExactState::quiet);
  EXPECT_EQ(rangesOf(recorder.guest(0)).size(), 12u);
}

TEST(Exact, ForkedChildrenAreLeftAlone) {
  TestRecorder recorder(measuring());
  const GuestResult result = runGuest(exact(recorder, {"fork", "--launches", "100", "--kernels", "2"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0)) << result.output;
  EXPECT_EQ(result.value("childStatus"), 0);
  EXPECT_EQ(rangesOf(recorder.guest(0)).size(), 12u);
}

TEST(Exact, CuptiWithoutRangesIsNamed) {
  TestRecorder recorder(measuring());
  const GuestResult result = runGuest(exact(recorder, {"normal", "--launches", "50", "--kernels", "2"},
                                            {"WARPMETER_CUPTI=" + fakeFolder() + "/old/libcupti.so.12"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(kernelsOf(recorder.guest(0)).size(), 50u);
  EXPECT_STREQ(recorder.guest(0).exactArea()->reason, "not_recorded");
  EXPECT_THAT(recorder.guest(0).exactArea()->reasonText, HasSubstr("12.6"));
}

struct Failure {
  const char* call;
  int code;
  const char* reason;
  const char* function;
};
class ExactFailure : public testing::TestWithParam<Failure> {};

TEST_P(ExactFailure, LeavesApplicationAndRecordingIntact) {
  const Failure& failure = GetParam();
  TestRecorder recorder(measuring());
  const GuestResult result =
      runGuest(exact(recorder, {"normal", "--launches", "200", "--kernels", "4", "--exit-code", "6"},
                     {"FAKE_CUPTI_FAIL=" + std::string(failure.call) + "=" + std::to_string(failure.code)}));
  recorder.stop();
  EXPECT_TRUE(result.exited(6)) << result.output;
  const Guest& guest = recorder.guest(0);
  EXPECT_EQ(kernelsOf(guest).size(), 200u);
  EXPECT_EQ(guest.header().faults.load(), 0u);
  EXPECT_EQ(result.value("openSessions"), 0);
  EXPECT_EQ(result.value("openRanges"), 0);
  EXPECT_EQ(result.value("dirtyBuffers"), 0);
  const wire::ExactArea& area = *guest.exactArea();
  EXPECT_EQ(stateOf(guest), ExactState::ended);
  EXPECT_STREQ(area.reason, failure.reason);
  EXPECT_EQ(area.error, failure.code);
  EXPECT_THAT(area.reasonText, HasSubstr(failure.function));
}

INSTANTIATE_TEST_SUITE_P(
    EachCall, ExactFailure,
    testing::Values(
        Failure{"cuptiProfilerInitialize", 27, "unsupported_chip", "cuptiProfilerInitialize"},
        Failure{"cuptiGetDeviceId", 3, "not_recorded", "cuptiGetDeviceId"},
        Failure{"cuptiDeviceGetChipName", 1, "not_recorded", "cuptiDeviceGetChipName"},
        Failure{"cuptiRangeProfilerEnable", 35, "no_permission", "cuptiRangeProfilerEnable"},
        Failure{"cuptiRangeProfilerEnable", 7, "counters_busy", "cuptiRangeProfilerEnable"},
        Failure{"cuptiRangeProfilerGetCounterDataSize", 1, "not_recorded", "GetCounterDataSize"},
        Failure{"cuptiRangeProfilerCounterDataImageInitialize", 8, "not_recorded", "ImageInitialize"},
        Failure{"cuptiRangeProfilerSetConfig", 1, "not_recorded", "cuptiRangeProfilerSetConfig"},
        Failure{"cuptiRangeProfilerStart", 26, "counters_busy", "cuptiRangeProfilerStart"},
        Failure{"cuptiRangeProfilerPushRange", 999, "not_recorded", "cuptiRangeProfilerPushRange"},
        Failure{"cuptiRangeProfilerPushRange:5", 999, "not_recorded", "cuptiRangeProfilerPushRange"},
        Failure{"cuptiRangeProfilerPopRange", 999, "not_recorded", "cuptiRangeProfilerPopRange"},
        Failure{"cuptiRangeProfilerStop", 999, "not_recorded", "cuptiRangeProfilerStop"},
        Failure{"cuptiRangeProfilerDecodeData", 8, "not_recorded", "cuptiRangeProfilerDecodeData"}));

// What was measured before the failure is not thrown away.
TEST(Exact, RangesBeforeAFailureAreDelivered) {
  TestRecorder recorder(measuring());
  runGuest(exact(recorder, {"normal", "--launches", "200", "--kernels", "4"},
                 {"FAKE_CUPTI_FAIL=cuptiRangeProfilerPushRange:5=999"}));
  recorder.stop();
  EXPECT_EQ(rangesOf(recorder.guest(0)).size(), 5u);
}

}  // namespace
}  // namespace warpmeter::test
