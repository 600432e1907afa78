// SPDX-License-Identifier: Apache-2.0
// The real recorder and the real injected library, each in processes of their own, under the fake CUPTI.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include "collector/recorder/recorder_process.h"
#include "fake_host.h"

namespace warpmeter::test {
namespace {

using testing::HasSubstr;

std::int64_t nowNs() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

std::set<std::int64_t> upTo(std::int64_t n) {
  std::set<std::int64_t> result;
  for (std::int64_t i = 1; i <= n; ++i) result.insert(i);
  return result;
}

const ProcessInfo* processOf(const Recorded& file, std::int64_t pid) {
  for (const ProcessInfo& p : file.processes) {
    if (p.pid == pid) return &p;
  }
  return nullptr;
}

TEST(RecorderProcess, recordsANormalRun) {
  RecorderProcess recorder;
  ASSERT_TRUE(recorder.ready()) << recorder.firstMessage().text;
  const GuestResult app = recorder.record({"normal", "--threads", "2", "--launches", "1000", "--exit-code", "7"});
  EXPECT_TRUE(app.exited(7));
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  const Recorded file(recorder.output());
  ASSERT_EQ(file.error, "");
  EXPECT_EQ(file.losses.size(), 0u) << file.lossText();
  EXPECT_EQ(file.gridX(), upTo(2000));
  EXPECT_EQ(file.kernels.size(), 2000u);
  for (const KernelRow& row : file.kernels) {
    ASSERT_EQ(file.text(row.shortName), row.gridX % 2 == 1 ? "vecAdd" : "scale");
    ASSERT_EQ(file.text(row.mangledName), row.gridX % 2 == 1 ? "_Z6vecAddPfS_S_i" : "_Z5scalePff");
    ASSERT_EQ(row.launchType, 1);
    ASSERT_GT(row.start, 0);
    ASSERT_GE(row.end, row.start);
  }
  EXPECT_FALSE(file.unfinished);
  EXPECT_EQ(file.session.endedHow, "exited(7)");
  const ProcessInfo* process = processOf(file, app.value("pid"));
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(process->status, "recorded");
  EXPECT_EQ(process->exitHow, "exited(7)");
  EXPECT_EQ(process->name, "fake_host");
  EXPECT_EQ(process->cuptiVersion, 130001);
  EXPECT_THAT(process->argv, testing::Contains("--launches"));
  EXPECT_LT(process->startNs, file.kernels.front().start);
  EXPECT_EQ(summary->complete, 1u) << summary->firstLoss;
  EXPECT_EQ(summary->kernels, 2000);
  EXPECT_EQ(summary->processesRecorded, 1);
  EXPECT_EQ(summary->recordsLost, 0);
  EXPECT_EQ(summary->journalDeleted, 1u);
  EXPECT_GT(summary->firstKernelNs, 0);
  EXPECT_GT(summary->selfCostNs, 0);
  EXPECT_FALSE(std::filesystem::exists(recorder.output() + "-wal"));
  EXPECT_FALSE(std::filesystem::exists(recorder.socketPath()));
}

TEST(RecorderProcess, writesWhatWasMeasuredOnTheGpusThatAreUsed) {
  const auto ceilingsWith = [](const std::vector<std::string>& arguments, std::string& uuid) {
    RecorderProcess recorder({.arguments = arguments});
    recorder.record({"normal", "--launches", "5"});
    EXPECT_TRUE(recorder.finish().has_value());
    const auto reader = ProfileReader::open(recorder.output());
    if (!reader.ok()) throw std::runtime_error(reader.error().message);
    uuid = Recorded(recorder.output()).gpus.at(0).uuid;
    return reader->ceilings().value();
  };
  std::string uuid;
  EXPECT_TRUE(ceilingsWith({}, uuid).empty());
  ASSERT_FALSE(uuid.empty());
  const auto known = ceilingsWith({"--ceilings", "another-gpu:dram=1e12", "--ceilings", uuid + ":dram=4.25e12,fp32=6.5e13"}, uuid);
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(known[0].kind, "dram");
  EXPECT_EQ(known[0].value, 4.25e12);
  EXPECT_EQ(known[0].gpuId, 0);
  EXPECT_EQ(known[0].source, "calibrated");
  EXPECT_EQ(known[1].kind, "fp32");
  EXPECT_EQ(known[1].value, 6.5e13);
}

TEST(RecorderProcess, fillsTheTablesAroundTheKernels) {
  RecorderProcess recorder;
  const GuestResult app = recorder.record({"normal", "--launches", "50"});
  ASSERT_TRUE(recorder.finish().has_value());
  const Recorded file(recorder.output());
  EXPECT_GT(file.copies.size(), 0u);
  EXPECT_GT(file.syncs.size(), 0u);
  EXPECT_GT(file.apis.size(), 0u);
  ASSERT_EQ(file.gpus.size(), 1u);
  EXPECT_EQ(file.gpus[0].id, 0);
  ASSERT_EQ(file.devices.size(), 1u);
  EXPECT_EQ(file.devices[0].pid, app.value("pid"));
  EXPECT_EQ(file.devices[0].uuid, file.gpus[0].uuid);
  ASSERT_EQ(file.contexts.size(), 1u);
  EXPECT_EQ(file.contexts[0].processId, app.value("pid"));
  EXPECT_GT(file.streams.size(), 0u);
  EXPECT_GT(file.clocks.size(), 0u);
  std::set<std::int64_t> kinds;
  for (const MarkRow& mark : file.marks) kinds.insert(mark.kind);
  for (const MarkKind kind : {MarkKind::processStart, MarkKind::injectionEntered, MarkKind::injectionDone,
                              MarkKind::cuInitFinished, MarkKind::contextCreated, MarkKind::moduleLoaded, MarkKind::processExit}) {
    EXPECT_EQ(kinds.count(static_cast<std::int64_t>(kind)), 1u) << static_cast<int>(kind);
  }
  std::set<std::string> costs;
  for (const SelfCostInfo& cost : file.costs) costs.insert(cost.what);
  EXPECT_EQ(costs.count("recorder.cpu"), 1u);
  EXPECT_EQ(costs.count("guest.buffer_request"), 1u);
  std::set<std::int64_t> callers, named;
  for (const ApiRow& row : file.apis) {
    callers.insert(row.globalTid);
    EXPECT_THAT(file.text(row.nameId), testing::StartsWith("cu"));
  }
  for (const ThreadInfo& thread : file.threads) {
    EXPECT_TRUE(named.insert(thread.globalTid.value).second) << "two rows of one thread";
    EXPECT_EQ(thread.name, "fake_host");
  }
  for (const std::int64_t tid : callers) EXPECT_EQ(named.count(tid), 1u);
}

TEST(RecorderProcess, storesADriverCallInsideARuntimeCallOnce) {
  RecorderProcess work;
  work.record({"normal", "--launches", "200", "--runtime"});
  ASSERT_TRUE(work.finish().has_value());
  const Recorded inWork(work.output());
  std::int64_t runtimeLaunches = 0, driverLaunches = 0;
  for (const ApiRow& row : inWork.apis) {
    const std::string name = inWork.text(row.nameId);
    if (name.starts_with("cudaLaunchKernel")) ++runtimeLaunches;
    if (name.starts_with("cuLaunchKernel")) ++driverLaunches;
  }
  EXPECT_EQ(runtimeLaunches, 200);
  EXPECT_EQ(driverLaunches, 0);

  RecorderProcess none({.arguments = {"--api", "none"}});
  none.record({"normal", "--launches", "200", "--runtime"});
  ASSERT_TRUE(none.finish().has_value());
  const Recorded withoutCalls(none.output());
  EXPECT_EQ(withoutCalls.apis.size(), 0u);
  EXPECT_EQ(withoutCalls.kernels.size(), 200u);
  EXPECT_EQ(withoutCalls.session.apiMode, "none");
}

TEST(RecorderProcess, recordsNvtxWithAndWithoutCuda) {
  RecorderProcess recorder({.arguments = {"--nvtx-requested"}});
  const GuestResult app = recorder.record({"nvtx-then-cuda", "--launches", "100"});
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  const Recorded file(recorder.output());
  EXPECT_EQ(file.kernels.size(), 100u);
  std::int64_t ranges = 0;
  for (const NvtxRow& row : file.nvtx) ranges += row.eventType == 59 || row.eventType == 60 ? 1 : 0;
  EXPECT_GT(ranges, 0);
  EXPECT_EQ(summary->nvtxRanges, ranges);
  EXPECT_TRUE(file.session.nvtxRequested);

  RecorderProcess without;
  const GuestResult plain = without.record({"nvtx"});
  ASSERT_TRUE(without.finish().has_value());
  const Recorded noCuda(without.output());
  EXPECT_GT(noCuda.nvtx.size(), 0u);
  const ProcessInfo* process = processOf(noCuda, plain.value("pid"));
  ASSERT_NE(process, nullptr);
  EXPECT_EQ(process->status, "no_gpu_work");
  EXPECT_EQ(noCuda.losses.size(), 0u) << noCuda.lossText();
}

TEST(RecorderProcess, aRunWithoutCudaGivesAValidFileThatSaysSo) {
  RecorderProcess recorder;
  const GuestResult app = recorder.record({"no-cuda"});
  EXPECT_TRUE(app.exited(0));
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->processesRecorded, 0);
  EXPECT_EQ(summary->processes, 1);
  EXPECT_EQ(summary->complete, 1u) << summary->firstLoss;
  const Recorded file(recorder.output());
  ASSERT_EQ(file.error, "");
  EXPECT_EQ(file.kernels.size(), 0u);
  ASSERT_EQ(file.processes.size(), 1u);
  EXPECT_EQ(file.processes[0].pid, app.value("pid"));
  EXPECT_EQ(file.processes[0].status, "no_gpu_work");
  EXPECT_EQ(file.processes[0].exitHow, "exited(0)");
  EXPECT_EQ(file.session.endedHow, "exited(0)");
}

TEST(RecorderProcess, keepsWhatEndedTwoSecondsBeforeAKill) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    RecorderProcess recorder;
    const std::string log = recorder.folder() + "/launches";
    GuestProcess process(recorder.guest({"storm", "--slow-every", "1000", "--log", log}));
    recorder.appStarted(process.pid());
    process.waitForLine("ready 1");
    // Rounds differ in how far the run is; a few are long enough for the two seconds to matter.
    const int ms = round < 16 ? std::uniform_int_distribution<int>(1, 600)(random) : 2200 + 150 * (round - 16);
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    kill(process.pid(), SIGKILL);
    const std::int64_t killedNs = nowNs();
    const GuestResult app = process.wait();
    recorder.appEnded(process.pid(), app.waitStatus);
    ASSERT_TRUE(recorder.finish().has_value()) << "round " << round;
    const Recorded file(recorder.output());
    ASSERT_EQ(file.error, "");
    EXPECT_EQ(file.session.endedHow, "killed(9)");
    ASSERT_EQ(file.processes.size(), 1u);
    EXPECT_EQ(file.processes[0].exitHow, "killed(9)");

    const int fd = open(log.c_str(), O_RDONLY);
    ASSERT_GE(fd, 0);
    const auto* launches = static_cast<const fake::LaunchLog*>(mmap(nullptr, sizeof(fake::LaunchLog), PROT_READ, MAP_SHARED, fd, 0));
    close(fd);
    ASSERT_NE(launches, MAP_FAILED);
    const std::set<std::int64_t> stored = file.gridX();
    const auto count = std::min<std::uint64_t>(launches->count.load(), fake::LaunchLog::kRoom);
    std::int64_t missing = 0, made = 0;
    std::set<std::int64_t> known;
    for (std::uint64_t i = 0; i < count; ++i) {
      const fake::LoggedLaunch& launch = launches->launches[i];
      if (launch.written.load() == 0) continue;
      known.insert(launch.gridX);
      ++made;
      if (launch.endNs <= killedNs - 2'000'000'000 && stored.count(launch.gridX) == 0) ++missing;
    }
    munmap(const_cast<fake::LaunchLog*>(launches), sizeof(fake::LaunchLog));
    EXPECT_EQ(missing, 0) << "of " << made << " in round " << round;
    EXPECT_EQ(file.kernels.size() + file.untimed.size(), stored.size()) << "a launch is stored twice";
    // At most the launch whose log entry was being written when the kill came is not in the log.
    std::int64_t invented = 0;
    for (const std::int64_t id : stored) invented += known.count(id) == 0 ? 1 : 0;
    EXPECT_LE(invented, 1) << "round " << round;
    for (const KernelRow& row : file.kernels) {
      const std::string name = file.text(row.mangledName);
      ASSERT_TRUE(name == (row.gridX % 2 == 1 ? "_Z6vecAddPfS_S_i" : "_Z5scalePff") || name == "(name lost)") << name;
    }
  }
}

TEST(RecorderProcess, aForkedChildLeavesTheParentsRecordsAlone) {
  RecorderProcess recorder;
  const GuestResult app = recorder.record({"fork", "--launches", "20000"});
  ASSERT_TRUE(recorder.finish().has_value());
  const Recorded file(recorder.output());
  EXPECT_TRUE(app.exited(0));
  EXPECT_EQ(file.gridX(), upTo(app.value("launches"))) << file.lossText();
  EXPECT_EQ(file.kernels.size() + file.untimed.size(), static_cast<std::size_t>(app.value("launches")));
  EXPECT_EQ(file.losses.size(), 0u) << file.lossText();
}

TEST(RecorderProcess, putsAChildThatExecsIntoTheSameFile) {
  RecorderProcess recorder;
  const GuestResult app = recorder.record({"exec", "--launches", "300"});
  ASSERT_TRUE(recorder.finish().has_value());
  EXPECT_TRUE(app.exited(0));
  const Recorded file(recorder.output());
  EXPECT_GE(file.processes.size(), 2u);
  std::map<std::int64_t, std::int64_t> perProcess;
  std::set<std::int64_t> correlations;
  for (const KernelRow& row : file.kernels) {
    ++perProcess[row.globalPid];
    EXPECT_TRUE(correlations.insert(row.correlationId).second) << "correlation ids must be unique in the file";
  }
  for (const auto& [pid, kernels] : perProcess) EXPECT_EQ(kernels, 300) << pidOf(GlobalPid{pid});
}

TEST(RecorderProcess, aHostThatClosesAllDescriptorsIsRecorded) {
  RecorderProcess recorder;
  const GuestResult app = recorder.record({"close-fds", "--launches", "500"});
  ASSERT_TRUE(recorder.finish().has_value());
  EXPECT_TRUE(app.exited(0));
  EXPECT_EQ(app.value("foreignBytes"), 0);
  EXPECT_EQ(Recorded(recorder.output()).kernels.size(), 500u);
}

TEST(RecorderProcess, aFileSizeLimitDoesNotKillTheHost) {
  RecorderProcess recorder;
  GuestCommand command = recorder.guest({"normal", "--launches", "2000"});
  command.fileSizeLimit = 1024 * 1024;  // ulimit -f 1024
  GuestProcess process(command);
  recorder.appStarted(process.pid());
  const GuestResult app = process.wait();
  recorder.appEnded(process.pid(), app.waitStatus);
  ASSERT_TRUE(recorder.finish().has_value());
  EXPECT_TRUE(app.exited(0));
  const Recorded file(recorder.output());
  ASSERT_EQ(file.error, "");
  // Little memory fits below the limit: what found none must be counted.
  std::int64_t lost = 0;
  for (const LossInfo& loss : file.losses) lost += isNull(loss.count) ? 0 : loss.count;
  EXPECT_TRUE(file.gridX().size() == 2000 || lost > 0 || file.kernels.empty()) << file.lossText();
}

TEST(RecorderProcess, theApplicationSurvivesTheRecorder) {
  RecorderProcess recorder;
  GuestProcess process(recorder.guest({"normal", "--launches", "200000", "--exit-code", "5"}));
  recorder.appStarted(process.pid());
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  kill(recorder.pid(), SIGKILL);
  EXPECT_FALSE(recorder.finish().has_value());
  EXPECT_TRUE(process.wait().exited(5));
  const Recorded file(recorder.output());
  EXPECT_EQ(file.error, "");
  EXPECT_TRUE(file.unfinished);
}

TEST(RecorderProcess, aFullDiskLeavesAReadableFileAndTheApplicationAlone) {
  RecorderProcess recorder({.fileSizeLimit = 8 << 20});  // the recorder's own file, as a full disk would answer
  ASSERT_TRUE(recorder.ready()) << recorder.firstMessage().text;
  const GuestResult app = recorder.record({"normal", "--launches", "200000", "--exit-code", "3"});
  EXPECT_TRUE(app.exited(3));
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->complete, 0u);
  EXPECT_THAT(std::string(summary->firstLoss), HasSubstr("limit"));
  const Recorded file(recorder.output());
  ASSERT_EQ(file.error, "");
  EXPECT_GT(file.kernels.size(), 0u);
  EXPECT_LT(file.kernels.size(), 200000u);
  EXPECT_EQ(static_cast<std::int64_t>(file.kernels.size()), summary->kernels);
  EXPECT_GE(file.losses.size(), 1u);
}

TEST(RecorderProcess, refusesAnExistingFileUnlessForced) {
  RecorderProcess first;
  ASSERT_TRUE(first.ready());
  RecorderProcess second({.output = first.output()});
  EXPECT_EQ(second.firstMessage().kind, wire::ControlKind::failed);
  EXPECT_EQ(second.firstMessage().exitCode, 125);
  EXPECT_THAT(std::string(second.firstMessage().text), HasSubstr(first.output()));
  EXPECT_FALSE(second.finish().has_value());
  EXPECT_TRUE(WIFEXITED(second.waitStatus()));
  EXPECT_EQ(WEXITSTATUS(second.waitStatus()), 125);
}

TEST(RecorderProcess, namesWhatStandsInTheWay) {
  struct Case {
    std::vector<std::string> environment;
    std::string status, kind;
  };
  const Case cases[] = {
      {{"WARPMETER_CUPTI=/nonexistent/libcupti.so.13"}, "refused: ", "refused"},
      {{"FAKE_CUPTI_VERSION=130000"}, "refused: ", "refused"},
      {{"FAKE_CUPTI_HOLDER=other-tool"}, "blocked: other-tool", "blocked"},
  };
  for (const Case& c : cases) {
    RecorderProcess recorder;
    const GuestResult app = recorder.record({"normal", "--launches", "100", "--exit-code", "4"}, c.environment);
    EXPECT_TRUE(app.exited(4));
    const auto summary = recorder.finish();
    ASSERT_TRUE(summary.has_value());
    const Recorded file(recorder.output());
    EXPECT_EQ(file.kernels.size(), 0u);
    ASSERT_EQ(file.processes.size(), 1u);
    EXPECT_THAT(file.processes[0].status, testing::StartsWith(c.status));
    ASSERT_GE(file.losses.size(), 1u) << c.environment[0];
    EXPECT_EQ(file.losses[0].kind, c.kind);
    EXPECT_TRUE(isNull(file.losses[0].count));
    EXPECT_EQ(summary->complete, 0u);
    EXPECT_EQ(summary->recordsLost, -1);
    EXPECT_EQ(std::string(summary->blocked).find("other-tool") != std::string::npos, c.kind == "blocked");
  }
}

TEST(RecorderProcess, readsTheShorterRecordsOfAnOldCupti) {
  RecorderProcess recorder;
  const GuestResult app = recorder.record({"normal", "--launches", "1000"}, {"WARPMETER_CUPTI=" + fakeFolder() + "/old/libcupti.so.12"});
  EXPECT_TRUE(app.exited(0));
  ASSERT_TRUE(recorder.finish().has_value());
  const Recorded file(recorder.output());
  EXPECT_EQ(file.gridX(), upTo(1000)) << file.lossText();
  ASSERT_EQ(file.processes.size(), 1u);
  EXPECT_EQ(file.processes[0].cuptiVersion, 22);
  for (const KernelRow& row : file.kernels) ASSERT_EQ(file.text(row.shortName), row.gridX % 2 == 1 ? "vecAdd" : "scale");
}

TEST(RecorderProcess, captureRangeStoresTheMiddleThird) {
  RecorderProcess recorder({.arguments = {"--capture-range", "cudaProfilerApi"}});
  const GuestResult app = recorder.record({"capture", "--launches", "1000"});
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->complete, 1u) << summary->firstLoss;
  const Recorded file(recorder.output());
  EXPECT_EQ(app.value("launches"), 3000);
  // Launches run on after their call, so a few of the first third may reach into the window.
  EXPECT_GE(file.kernels.size(), 950u);
  EXPECT_LE(file.kernels.size(), 1100u);
  std::int64_t inside = 0;
  for (const KernelRow& row : file.kernels) inside += row.gridX > 1000 && row.gridX <= 2000 ? 1 : 0;
  EXPECT_GE(inside, 950);
  EXPECT_GT(file.contexts.size(), 0u);
}

TEST(RecorderProcess, endsAfterItsLastGuestWhenTheCliIsGone) {
  RecorderProcess recorder;
  GuestProcess process(recorder.guest({"normal", "--launches", "500"}));
  recorder.appStarted(process.pid());
  recorder.closeControl();
  EXPECT_TRUE(process.wait().exited(0));
  EXPECT_FALSE(recorder.finish().has_value());
  EXPECT_TRUE(WIFEXITED(recorder.waitStatus()));
  const Recorded file(recorder.output());
  EXPECT_EQ(file.kernels.size(), 500u);
  EXPECT_FALSE(file.unfinished);
  EXPECT_EQ(file.session.endedHow, "unknown");
}

TEST(RecorderProcess, namesTheLimitThatLeavesAProcessNoBuffers) {
  RecorderProcess recorder;
  GuestCommand command = recorder.guest({"storm"});
  command.fileSizeLimit = 700 << 10;
  GuestProcess process(command);
  recorder.appStarted(process.pid());
  process.waitForLine("ready 1");  // the application is not hurt
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // it has to live when it is asked for its limits
  kill(process.pid(), SIGKILL);
  recorder.appEnded(process.pid(), process.wait().waitStatus);
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->complete, 0u);
  const Recorded file(recorder.output());
  ASSERT_EQ(file.losses.size(), 1u) << file.lossText();
  EXPECT_EQ(file.losses[0].kind, "not_attached");
  EXPECT_EQ(std::string(summary->firstLoss), file.losses[0].why) << "the process is named once";
  EXPECT_THAT(file.losses[0].why,
              HasSubstr("is not recorded: its file size limit (ulimit -f) of 700 KiB is below the 1024 KiB"));
}

TEST(RecorderProcess, takesTheOpenFilesThatTheSystemAllows) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 40;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  RecorderProcess recorder;
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(recorder.ready());
  rlimit its{};
  ASSERT_EQ(prlimit(recorder.pid(), RLIMIT_NOFILE, nullptr, &its), 0);
  EXPECT_EQ(its.rlim_cur, before.rlim_max);
}

TEST(RecorderProcess, countsProcessesThatOutliveTheRecording) {
  RecorderProcess recorder;
  const std::string command = "WARPMETER_SOCKET=" + recorder.socketPath() +
                              " sh -c 'sleep 61 >/dev/null 2>&1 & a=$!; sleep 62 >/dev/null 2>&1 & echo $$ $a $!'";
  FILE* pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  int app = 0, first = 0, second = 0;
  ASSERT_EQ(fscanf(pipe, "%d %d %d", &app, &first, &second), 3);
  recorder.appStarted(app);
  pclose(pipe);
  recorder.appEnded(app, 0);
  const auto begin = std::chrono::steady_clock::now();
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30)) << "it does not wait for them";
  EXPECT_EQ(kill(first, SIGKILL) + kill(second, SIGKILL), 0);
  const std::string text = "2 processes still ran when the recording ended (" + std::to_string(std::min(first, second)) +
                           " sleep, " + std::to_string(std::max(first, second)) +
                           " sleep): what they do later is not recorded";
  EXPECT_EQ(std::string(summary->leftRunning), text);
  EXPECT_EQ(summary->complete, 1u) << summary->firstLoss;
  EXPECT_EQ(summary->recordsLost, 0);
  const Recorded file(recorder.output());
  ASSERT_EQ(file.losses.size(), 1u) << file.lossText();
  EXPECT_EQ(file.losses[0].kind, "left_running");
  EXPECT_EQ(file.losses[0].why, text);
  EXPECT_EQ(file.losses[0].count, 2);
  EXPECT_FALSE(file.unfinished);
}

TEST(RecorderProcess, sigtermFinishesTheFile) {
  RecorderProcess recorder;
  GuestProcess process(recorder.guest({"storm"}));
  recorder.appStarted(process.pid());
  process.waitForLine("ready 1");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kill(recorder.pid(), SIGTERM);
  ASSERT_TRUE(recorder.finish().has_value());
  const Recorded file(recorder.output());
  EXPECT_GT(file.kernels.size(), 0u);
  EXPECT_FALSE(file.unfinished);
  EXPECT_EQ(file.session.endedHow, "recorder terminated");
  kill(process.pid(), SIGKILL);
  process.wait();
}

}  // namespace
}  // namespace warpmeter::test
