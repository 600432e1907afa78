// SPDX-License-Identifier: Apache-2.0
// Attaching to CUPTI is a transaction: whatever fails, the application runs as if we had never been there, and the
// recorder is told why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "guest_process.h"
#include "test_recorder.h"

namespace warpmeter::test {
namespace {

using testing::HasSubstr;
using wire::GuestStatus;

struct Attempt {
  GuestResult result;
  GuestStatus problem = GuestStatus::starting;
  std::string statusText, degradedText;
  std::uint32_t degradedCount = 0;
  std::size_t buffers = 0, guests = 0;
};

Attempt attempt(std::vector<std::string> environment) {
  TestRecorder recorder;
  GuestCommand c;
  c.arguments = {"normal", "--launches", "200", "--exit-code", "4"};
  c.environment = std::move(environment);
  c.socketPath = recorder.socketPath();
  Attempt a;
  a.result = runGuest(c);
  recorder.stop();
  a.guests = recorder.guestCount();
  if (a.guests == 0) return a;
  const Guest& guest = recorder.guest(0);
  a.problem = static_cast<GuestStatus>(guest.header().problem.load());
  a.statusText = guest.header().statusText;
  a.degradedText = guest.header().degradedText;
  a.degradedCount = guest.header().degradedCount.load();
  a.buffers = guest.cuptiBuffers.size();
  EXPECT_EQ(guest.status(), GuestStatus::exiting);
  EXPECT_EQ(guest.header().exitCode.load(), 4);
  return a;
}

void expectUntouched(const Attempt& a) {
  EXPECT_TRUE(a.result.exited(4)) << a.result.output;
  EXPECT_EQ(a.result.value("subscribed"), 0);
  EXPECT_EQ(a.result.value("enabledKinds"), 0);
  EXPECT_EQ(a.result.value("enabledCalls"), 0);
  EXPECT_EQ(a.result.value("enabledCallbacks"), 0);
  EXPECT_EQ(a.buffers, 0u);
}

class RequiredStep : public testing::TestWithParam<const char*> {};

TEST_P(RequiredStep, FailureIsUndone) {
  const Attempt a = attempt({std::string("FAKE_CUPTI_FAIL=") + GetParam() + "=27"});
  expectUntouched(a);
  EXPECT_EQ(a.problem, GuestStatus::refused);
  EXPECT_THAT(a.statusText, HasSubstr("CUPTI error 27"));
  EXPECT_THAT(a.statusText, HasSubstr("scripted failure"));
}
INSTANTIATE_TEST_SUITE_P(Each, RequiredStep,
                         testing::Values("cuptiSubscribe_v2", "cuptiActivityRegisterCallbacks", "cuptiActivityEnable:10"));

class OptionalStep : public testing::TestWithParam<const char*> {};

TEST_P(OptionalStep, FailureIsNamedAndRecordingGoesOn) {
  const Attempt a = attempt({std::string("FAKE_CUPTI_FAIL=") + GetParam() + "=27"});
  EXPECT_TRUE(a.result.exited(4));
  EXPECT_EQ(a.result.value("subscribed"), 1);
  EXPECT_EQ(a.problem, GuestStatus::starting);  // none
  EXPECT_GE(a.degradedCount, 1u);
  EXPECT_THAT(a.degradedText, HasSubstr("27"));
  EXPECT_GT(a.buffers, 0u);
  EXPECT_EQ(a.result.value("dirtyBuffers"), 0);
}
INSTANTIATE_TEST_SUITE_P(Each, OptionalStep,
                         testing::Values("cuptiSetThreadIdType", "cuptiActivitySetAttribute:5",
                                         "cuptiActivitySetAttribute:2", "cuptiActivityEnableLaunchAttributes",
                                         "cuptiActivityEnable:52", "cuptiActivityEnable:8",
                                         "cuptiActivityEnableRuntimeApi", "cuptiActivityEnableDriverApi",
                                         "cuptiEnableCallback:3", "cuptiEnableDomain:6", "cuptiEnableCallback:1"));

TEST(InjectAttach, HolderOfCuptiIsNamed) {
  const Attempt a = attempt({"FAKE_CUPTI_HOLDER=NVIDIA Nsight Systems"});
  expectUntouched(a);
  EXPECT_EQ(a.problem, GuestStatus::blocked);
  EXPECT_EQ(a.statusText, "NVIDIA Nsight Systems holds CUPTI in this process");
}

TEST(InjectAttach, OlderCuptiCannotNameTheHolder) {
  const Attempt a = attempt({"WARPMETER_CUPTI=" + fakeFolder() + "/old/libcupti.so.12", "FAKE_CUPTI_FAIL=cuptiSubscribe=39"});
  expectUntouched(a);
  EXPECT_EQ(a.problem, GuestStatus::blocked);
  EXPECT_EQ(a.statusText, "another tool holds CUPTI in this process");
}

TEST(InjectAttach, BadVersionsAreRefusedByName) {
  const Attempt ga = attempt({"FAKE_CUPTI_VERSION=130000"});
  expectUntouched(ga);
  EXPECT_EQ(ga.problem, GuestStatus::refused);
  EXPECT_THAT(ga.statusText, HasSubstr("130000"));
  const Attempt old = attempt({"FAKE_CUPTI_VERSION=20"});
  expectUntouched(old);
  EXPECT_EQ(old.problem, GuestStatus::refused);
  EXPECT_THAT(old.statusText, HasSubstr("CUPTI 20 is too old"));
}

TEST(InjectAttach, LibraryWithoutCuptisFunctionsIsRefused) {
  const Attempt a = attempt({"WARPMETER_CUPTI=" + fakeFolder() + "/broken/libcupti.so.13"});
  EXPECT_TRUE(a.result.exited(4));
  EXPECT_EQ(a.problem, GuestStatus::refused);
  EXPECT_EQ(a.statusText, "libcupti has no function cuptiGetVersion");
}

TEST(InjectAttach, MissingLibraryIsNamed) {
  const Attempt a = attempt({"WARPMETER_CUPTI=/nonexistent/libcupti.so.13"});
  EXPECT_TRUE(a.result.exited(4));
  EXPECT_TRUE(a.result.has("cupti none"));
  EXPECT_EQ(a.problem, GuestStatus::refused);
  EXPECT_EQ(a.statusText, "WARPMETER_CUPTI=/nonexistent/libcupti.so.13 cannot be loaded");
}

TEST(InjectAttach, LatencyTimestampsOnlyWhereTheyAreSafeOrForced) {
  const Attempt asked = attempt({"WARPMETER_LAUNCH_LATENCY=1"});
  EXPECT_EQ(asked.result.value("latencyTimestamps"), 0);
  const Attempt forced = attempt({"WARPMETER_LAUNCH_LATENCY=force"});
  EXPECT_EQ(forced.result.value("latencyTimestamps"), 1);
  const Attempt safe = attempt({"WARPMETER_LAUNCH_LATENCY=1", "FAKE_CUPTI_VERSION=130401"});
  EXPECT_EQ(safe.result.value("latencyTimestamps"), 1);
}

TEST(InjectAttach, KindsCanBeSwitchedOffOneByOne) {
  const Attempt a = attempt({"WARPMETER_KINDS=kernel,memcpy"});
  EXPECT_EQ(a.result.value("enabledKinds"), 2);
  EXPECT_EQ(a.result.value("enabledCalls"), 0);
  EXPECT_EQ(a.result.value("enabledCallbacks"), 0);
}

}  // namespace
}  // namespace warpmeter::test
