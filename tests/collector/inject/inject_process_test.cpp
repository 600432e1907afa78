// SPDX-License-Identifier: Apache-2.0
// The real library in child processes under the fake CUPTI, with a small recorder on this side.
#include <cupti.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "fake_host.h"
#include "guest_process.h"
#include "test_recorder.h"

namespace warpmeter::test {
namespace {

using testing::HasSubstr;
using wire::GuestStatus;

struct Seen {
  std::map<std::int32_t, std::string> kernels;  // gridX -> name
  std::map<std::uint32_t, std::size_t> kinds;
  std::set<std::uint32_t> apiCalls;             // correlation ids
  std::size_t kernelRows = 0, untimed = 0;
};

Seen look(const Guest& guest) {
  Seen seen;
  for (const Bytes& buffer : guest.cuptiBuffers) {
    forEachRecord(guest, buffer, [&](std::uint32_t kind, const std::uint8_t* record) {
      ++seen.kinds[kind];
      if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        CUpti_ActivityKernel9 kernel;  // as long as the oldest supported one
        std::memcpy(&kernel, record, sizeof kernel);
        seen.kernels[kernel.gridX] = guest.text(reinterpret_cast<std::uint64_t>(kernel.name));
        ++seen.kernelRows;
        if (kernel.end == 0) ++seen.untimed;
      }
      if (kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
        CUpti_ActivityAPI call;
        std::memcpy(&call, record, sizeof call);
        seen.apiCalls.insert(call.correlationId);
      }
    });
  }
  return seen;
}

std::map<std::uint32_t, std::vector<wire::MarkRecord>> marks(const Guest& guest) {
  std::map<std::uint32_t, std::vector<wire::MarkRecord>> found;
  forEachOwn(guest, [&](const wire::OwnHeader& header) {
    if (header.kind != static_cast<std::uint32_t>(wire::OwnKind::mark)) return;
    const auto& mark = reinterpret_cast<const wire::MarkRecord&>(header);
    found[mark.markKind].push_back(mark);
  });
  return found;
}

GuestCommand command(const TestRecorder& recorder, std::vector<std::string> arguments) {
  GuestCommand c;
  c.arguments = std::move(arguments);
  c.socketPath = recorder.socketPath();
  return c;
}

void expectAllLaunches(const Seen& seen, std::int32_t launches) {
  EXPECT_EQ(seen.kernelRows, static_cast<std::size_t>(launches));
  ASSERT_EQ(seen.kernels.size(), static_cast<std::size_t>(launches));
  EXPECT_EQ(seen.kernels.begin()->first, 1);
  EXPECT_EQ(seen.kernels.rbegin()->first, launches);  // all different: none is missing in between
  for (const auto& [gridX, name] : seen.kernels) {
    ASSERT_EQ(name, gridX % 2 == 1 ? "_Z6vecAddPfS_S_i" : "_Z5scalePff") << gridX;
  }
}

TEST(InjectProcess, RecordsEveryLaunchOfManyThreads) {
  TestRecorder recorder;
  const GuestResult result = runGuest(
      command(recorder, {"normal", "--launches", "30000", "--threads", "4", "--exit-code", "7"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(7)) << result.output;
  ASSERT_EQ(recorder.guestCount(), 1u);
  Guest& guest = recorder.guest(0);
  EXPECT_EQ(guest.header().pid, result.value("pid"));
  EXPECT_EQ(guest.peerPid, result.value("pid"));
  EXPECT_EQ(guest.status(), GuestStatus::exiting);
  EXPECT_EQ(guest.header().exitCodeKnown.load(), 1u);
  EXPECT_EQ(guest.header().exitCode.load(), 7);
  EXPECT_EQ(guest.header().cuptiVersion, 130001u) << guest.header().statusText;
  EXPECT_THAT(std::string(guest.header().cuptiPath), HasSubstr("fake_cupti/lib/libcupti.so.13"));
  const Seen seen = look(guest);
  expectAllLaunches(seen, 120000);
  EXPECT_EQ(seen.untimed, 0u);
  EXPECT_GE(seen.apiCalls.size(), 120000u);
  EXPECT_EQ(seen.kinds.at(CUPTI_ACTIVITY_KIND_MEMCPY), 1u);
  EXPECT_EQ(seen.kinds.at(CUPTI_ACTIVITY_KIND_MEMSET), 1u);
  EXPECT_EQ(seen.kinds.at(CUPTI_ACTIVITY_KIND_MEMORY2), 2u);
  EXPECT_EQ(seen.kinds.at(CUPTI_ACTIVITY_KIND_DEVICE), 1u);
  const wire::Header& header = guest.header();
  EXPECT_EQ(header.poolEmpty.load(), 0u);
  EXPECT_EQ(header.droppedByCupti.load(), 0u);
  EXPECT_EQ(header.dropCounterState.load(), 1u);
  EXPECT_EQ(header.faults.load(), 0u);
  EXPECT_EQ(header.invalidRecords.load(), 0u);
  EXPECT_EQ(header.degradedCount.load(), 0u) << header.degradedText;
  std::uint64_t records = 0;
  for (const auto& [kind, count] : seen.kinds) records += count;
  EXPECT_EQ(header.walkRecords.load(), records);
  // What the fake saw of us.
  EXPECT_EQ(result.value("dirtyBuffers"), 0);
  EXPECT_EQ(result.value("launchAttributes"), 1);
  EXPECT_EQ(result.value("latencyTimestamps"), 0);
  EXPECT_EQ(result.value("threadIdType"), CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

TEST(InjectProcess, MemoryIsSealedAndPointersAreReplaced) {
  TestRecorder recorder;
  ASSERT_TRUE(runGuest(command(recorder, {"normal", "--launches", "100"})).exited(0));
  recorder.stop();
  Guest& guest = recorder.guest(0);
  EXPECT_EQ(guest.seals & (F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL), F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  bool device = false, overhead = false, memory = false;
  for (const Bytes& buffer : guest.cuptiBuffers) {
    forEachRecord(guest, buffer, [&](std::uint32_t kind, const std::uint8_t* record) {
      if (kind == CUPTI_ACTIVITY_KIND_DEVICE) {
        const auto* r = reinterpret_cast<const CUpti_ActivityDevice5*>(record);
        device = guest.text(reinterpret_cast<std::uint64_t>(r->name)) == "Fake GPU";
      }
      if (kind == CUPTI_ACTIVITY_KIND_OVERHEAD) {
        overhead = reinterpret_cast<const CUpti_ActivityOverhead3*>(record)->overheadData == nullptr;
      }
      if (kind == CUPTI_ACTIVITY_KIND_MEMORY2) {
        const auto* r = reinterpret_cast<const CUpti_ActivityMemory4*>(record);
        memory = guest.text(reinterpret_cast<std::uint64_t>(r->name)) == "someVariable";
      }
    });
  }
  EXPECT_TRUE(device);
  EXPECT_TRUE(overhead);
  EXPECT_TRUE(memory);
}

TEST(InjectProcess, MarksTellOfContextsAndModules) {
  TestRecorder recorder;
  ASSERT_TRUE(runGuest(command(recorder, {"destroy-context"})).exited(0));
  recorder.stop();
  Guest& guest = recorder.guest(0);
  guest.salvage();
  const auto found = marks(guest);
  ASSERT_EQ(found.count(4), 1u);  // cuInitFinished
  ASSERT_EQ(found.count(5), 1u);  // contextCreated
  ASSERT_EQ(found.count(6), 1u);  // contextDestroyed
  ASSERT_EQ(found.count(7), 1u);  // moduleLoaded
  EXPECT_EQ(found.at(5)[0].contextId, 1u);
  EXPECT_EQ(found.at(7)[0].bytes, std::string("first image").size());
  EXPECT_LE(guest.header().injectionEnteredNs, guest.header().injectionDoneNs);
  EXPECT_LE(guest.header().injectionDoneNs, found.at(4)[0].header.t);
  EXPECT_LE(found.at(4)[0].header.t, found.at(5)[0].header.t);
}

TEST(InjectProcess, ApiNamesAreAnnounced) {
  TestRecorder recorder;
  ASSERT_TRUE(runGuest(command(recorder, {"normal", "--launches", "1"})).exited(0));
  recorder.stop();
  const auto runtime = recorder.guest(0).announced(wire::StringKind::runtimeApi);
  const auto driver = recorder.guest(0).announced(wire::StringKind::driverApi);
  EXPECT_EQ(runtime.size(), static_cast<std::size_t>(CUPTI_RUNTIME_TRACE_CBID_SIZE - 1));
  EXPECT_EQ(runtime.at(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000), "cudaLaunchKernel_v7000");
  EXPECT_EQ(driver.at(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel), "cuLaunchKernel");
}

TEST(InjectProcess, RuntimeCallsWithDriverCallsInside) {
  TestRecorder recorder;
  ASSERT_TRUE(runGuest(command(recorder, {"normal", "--launches", "50", "--runtime"})).exited(0));
  recorder.stop();
  const Seen seen = look(recorder.guest(0));
  expectAllLaunches(seen, 50);
  EXPECT_EQ(seen.kinds.at(CUPTI_ACTIVITY_KIND_RUNTIME), 50u);
}

TEST(InjectProcess, ApiNoneKeepsProfilerMarksOnly) {
  TestRecorder recorder;
  GuestCommand c = command(recorder, {"capture", "--launches", "10"});
  c.environment = {"WARPMETER_API=none"};
  ASSERT_TRUE(runGuest(c).exited(0));
  recorder.stop();
  const Seen seen = look(recorder.guest(0));
  expectAllLaunches(seen, 30);
  EXPECT_EQ(seen.kinds.at(CUPTI_ACTIVITY_KIND_DRIVER), 2u);  // cuProfilerStart and cuProfilerStop
  EXPECT_EQ(static_cast<wire::ApiMode>(recorder.guest(0).header().apiMode), wire::ApiMode::none);
}

TEST(InjectProcess, NoRecorderMeansNothingHappens) {
  GuestCommand c;
  c.arguments = {"normal", "--exit-code", "3"};
  const GuestResult unset = runGuest(c);
  EXPECT_TRUE(unset.exited(3));
  EXPECT_TRUE(unset.has("cupti none"));
  c.socketPath = "/nonexistent/socket";
  EXPECT_TRUE(runGuest(c).has("cupti none"));
  RecorderOptions deaf;
  deaf.listen = false;
  const TestRecorder recorder(deaf);
  c.socketPath = recorder.socketPath();
  const GuestResult refused = runGuest(c);
  EXPECT_TRUE(refused.exited(3));
  EXPECT_TRUE(refused.has("cupti none"));
}

TEST(InjectProcess, EmptyPoolDropsAreCounted) {
  RecorderOptions dead;
  dead.drain = false;
  dead.waitAtExit = false;
  dead.allowedBytes = 2 * wire::kMiB;
  TestRecorder recorder(dead);
  const GuestResult result = runGuest(command(recorder, {"normal", "--launches", "60000"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  const wire::Header& header = recorder.guest(0).header();
  EXPECT_GT(header.poolEmpty.load(), 0u);
  EXPECT_EQ(header.dropCounterState.load(), 1u);
  EXPECT_GT(result.value("recordsDropped"), 0);
  EXPECT_EQ(static_cast<std::int64_t>(header.droppedByCupti.load()), result.value("recordsDropped"));
  EXPECT_LE(header.populatedBytes.load(), 8 * wire::kMiB);
  // Each launch is either there or counted: kernel + API record, and the few of start and end.
  std::size_t records = 0;
  for (const auto& [kind, count] : look(recorder.guest(0)).kinds) records += count;
  EXPECT_EQ(records, static_cast<std::size_t>(result.value("recordsWritten")));
}

TEST(InjectProcess, UnreadableDropCounterIsUnknown) {
  TestRecorder recorder;
  GuestCommand c = command(recorder, {"normal"});
  c.environment = {"FAKE_CUPTI_FAIL=cuptiActivityGetNumDroppedRecords=999"};
  ASSERT_TRUE(runGuest(c).exited(0));
  recorder.stop();
  EXPECT_EQ(recorder.guest(0).header().dropCounterState.load(), 2u);
}

TEST(InjectProcess, ForkWithoutExecLeavesTheParentAlone) {
  TestRecorder recorder;
  const GuestResult result = runGuest(command(recorder, {"fork", "--launches", "20000"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0)) << result.output;
  EXPECT_EQ(result.value("childStatus"), 0);
  ASSERT_EQ(recorder.guestCount(), 1u);
  expectAllLaunches(look(recorder.guest(0)), 40000);  // none with the child's gridX
  recorder.guest(0).salvage();
  forEachOwn(recorder.guest(0), [&](const wire::OwnHeader& header) {
    EXPECT_EQ(header.kind, static_cast<std::uint32_t>(wire::OwnKind::mark)) << "the child's NVTX range";
  });
  EXPECT_EQ(recorder.guest(0).header().invalidRecords.load(), 0u);
}

TEST(InjectProcess, ForkedChildCannotOverwriteItsParentsBuffer) {
  TestRecorder recorder;
  GuestCommand c = command(recorder, {"fork", "--launches", "100"});
  c.environment = {"WARPMETER_FLUSH_MS=20000"};  // the parent's one buffer is still in flight when the child writes
  ASSERT_TRUE(runGuest(c).exited(0));
  recorder.stop();
  expectAllLaunches(look(recorder.guest(0)), 200);
}

TEST(InjectProcess, ExecutedChildIsAGuestOfItsOwn) {
  TestRecorder recorder;
  const GuestResult result = runGuest(command(recorder, {"exec", "--launches", "500"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  ASSERT_EQ(recorder.guestCount(), 2u);
  EXPECT_NE(recorder.guest(0).header().pid, recorder.guest(1).header().pid);
  expectAllLaunches(look(recorder.guest(0)), 500);
  expectAllLaunches(look(recorder.guest(1)), 500);
}

TEST(InjectProcess, ClosedDescriptorsChangeNothing) {
  TestRecorder recorder;
  const GuestResult result = runGuest(command(recorder, {"close-fds", "--launches", "5000"}));
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(result.value("foreignBytes"), 0);
  expectAllLaunches(look(recorder.guest(0)), 5000);
}

TEST(InjectProcess, NamesAtReusedAddressesAreNotMixedUp) {
  TestRecorder recorder;
  GuestCommand c = command(recorder, {"reload", "--launches", "100"});
  c.environment = {"FAKE_CUDA_REUSE_NAMES=1"};
  ASSERT_TRUE(runGuest(c).exited(0));
  recorder.stop();
  const Seen seen = look(recorder.guest(0));
  ASSERT_EQ(seen.kernels.size(), 200u);
  EXPECT_EQ(seen.kernels.at(1), "_Z6vecAddPfS_S_i");
  EXPECT_EQ(seen.kernels.at(101), "_Z6matMulPfS_S_i");
  EXPECT_EQ(seen.kernels.at(200), "_Z7softmaxPfi");
}

TEST(InjectProcess, OlderCuptiWithShorterRecords) {
  TestRecorder recorder;
  GuestCommand c = command(recorder, {"normal", "--launches", "20000"});
  c.environment = {"WARPMETER_CUPTI=" + fakeFolder() + "/old/libcupti.so.12"};
  const GuestResult result = runGuest(c);
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  const Guest& guest = recorder.guest(0);
  EXPECT_EQ(guest.header().cuptiVersion, 22u);
  EXPECT_EQ(guest.header().recordBytes[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL], 208);
  EXPECT_EQ(guest.header().recordBytes[CUPTI_ACTIVITY_KIND_MEMCPY], 88);
  const Seen seen = look(guest);
  expectAllLaunches(seen, 20000);
  EXPECT_GE(seen.apiCalls.size(), 20000u);  // the whole kind, for want of a switch per call
}

TEST(InjectProcess, OlderCuptiIsNeverGivenNullBuffers) {
  RecorderOptions dead;
  dead.drain = false;
  dead.waitAtExit = false;
  dead.allowedBytes = 1 * wire::kMiB;
  TestRecorder recorder(dead);
  GuestCommand c = command(recorder, {"normal", "--launches", "40000"});
  c.environment = {"WARPMETER_CUPTI=" + fakeFolder() + "/old/libcupti.so.12"};
  const GuestResult result = runGuest(c);
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(result.value("buffersRefused"), 0);
  const wire::Header& header = recorder.guest(0).header();
  EXPECT_GT(header.poolEmpty.load(), 0u);
  EXPECT_GT(header.droppedByCupti.load(), 0u);
}

TEST(InjectProcess, SmallFileSizeLimit) {
  TestRecorder recorder;
  GuestCommand c = command(recorder, {"normal", "--launches", "300"});
  c.fileSizeLimit = 1024 * 1024;  // ulimit -f 1024
  const GuestResult result = runGuest(c);
  recorder.stop();
  EXPECT_TRUE(result.exited(0)) << result.waitStatus;
  ASSERT_EQ(recorder.guestCount(), 1u);
  EXPECT_LE(recorder.guest(0).header().totalBytes, 1024u * 1024u);
  expectAllLaunches(look(recorder.guest(0)), 300);
}

TEST(InjectProcess, HopelessFileSizeLimit) {
  TestRecorder recorder;
  GuestCommand c = command(recorder, {"normal", "--launches", "300"});
  c.fileSizeLimit = 64 * 1024;
  EXPECT_TRUE(runGuest(c).exited(0));
  recorder.stop();
  EXPECT_EQ(recorder.guestCount(), 0u);
}

TEST(InjectProcess, HostileHost) {
  TestRecorder recorder;
  GuestCommand c = command(recorder, {"normal", "--launches", "20000", "--threads", "2"});
  c.program = "hostile_host";
  const GuestResult result = runGuest(c);
  recorder.stop();
  EXPECT_TRUE(result.exited(0));
  EXPECT_FALSE(result.has("violation")) << result.output;
  expectAllLaunches(look(recorder.guest(0)), 40000);
}

TEST(InjectProcess, UnderscoreExitAndAbortLeaveTheirBuffers) {
  for (const char* scenario : {"underscore-exit", "abort"}) {
    TestRecorder recorder;
    runGuest(command(recorder, {scenario, "--launches", "1000"}));
    recorder.stop();
    Guest& guest = recorder.guest(0);
    EXPECT_EQ(guest.header().exitCodeKnown.load(), 0u) << scenario;
    guest.salvage();
    for (const Bytes& slot : guest.salvaged) guest.cuptiBuffers.push_back(slot);
    EXPECT_EQ(look(guest).kernels.size(), 1000u) << scenario;
  }
}

void expectOldLaunchesAfterKill(std::vector<std::string> pace, std::size_t atLeast) {
  const std::string log = testing::TempDir() + "warpmeter-kill-" + std::to_string(getpid());
  TestRecorder recorder;
  pace.insert(pace.begin(), {"storm", "--log", log});
  GuestProcess process(command(recorder, pace));
  process.waitForLine("ready 1");
  usleep(2600000);
  const std::int64_t killedNs = std::chrono::system_clock::now().time_since_epoch().count();
  kill(process.pid(), SIGKILL);
  const GuestResult result = process.wait();
  recorder.stop();
  EXPECT_EQ(result.waitStatus, SIGKILL);
  Guest& guest = recorder.guest(0);
  EXPECT_EQ(guest.header().exitCodeKnown.load(), 0u);
  const Seen seen = look(guest);
  const int file = open(log.c_str(), O_RDONLY);
  ASSERT_GE(file, 0);
  void* memory = mmap(nullptr, sizeof(fake::LaunchLog), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  unlink(log.c_str());
  ASSERT_NE(memory, MAP_FAILED);
  const auto* launches = static_cast<const fake::LaunchLog*>(memory);
  std::size_t old = 0, missing = 0;
  for (std::uint64_t i = 0; i < std::min(launches->count.load(), fake::LaunchLog::kRoom); ++i) {
    const fake::LoggedLaunch& launch = launches->launches[i];
    if (launch.written.load() == 0 || launch.endNs > killedNs - 2000000000) continue;
    ++old;
    if (seen.kernels.count(static_cast<std::int32_t>(launch.gridX)) == 0) ++missing;
  }
  munmap(memory, sizeof(fake::LaunchLog));
  EXPECT_GT(old, atLeast);
  EXPECT_EQ(missing, 0u);
}

TEST(InjectProcess, KilledStormHasDeliveredWhatIsTwoSecondsOld) {
  expectOldLaunchesAfterKill({"--slow-every", "2000"}, 1000);
}
// Its buffer never fills: only our thread's flushes deliver anything.
TEST(InjectProcess, KilledIdlerHasDeliveredWhatIsTwoSecondsOld) {
  expectOldLaunchesAfterKill({"--pause-us", "10000"}, 5);
}

TEST(InjectProcess, ProcessThatOnlyInitializesCuda) {
  TestRecorder recorder;
  EXPECT_TRUE(runGuest(command(recorder, {"init-only", "--exit-code", "5"})).exited(5));
  recorder.stop();
  ASSERT_EQ(recorder.guestCount(), 1u);
  EXPECT_EQ(recorder.guest(0).status(), GuestStatus::exiting);
  EXPECT_EQ(recorder.guest(0).header().exitCode.load(), 5);
  EXPECT_TRUE(look(recorder.guest(0)).kernels.empty());
}

TEST(InjectProcess, DeadRecorderDoesNotHoldTheExitLong) {
  RecorderOptions dead;
  dead.drain = false;  // asks to be waited for and never says "committed"
  TestRecorder recorder(dead);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(runGuest(command(recorder, {"normal", "--launches", "10", "--exit-code", "9"})).exited(9));
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, std::chrono::milliseconds(1900));  // it did wait
  EXPECT_LT(took, std::chrono::seconds(20));         // and not for ever
}

}  // namespace
}  // namespace warpmeter::test
