// SPDX-License-Identifier: Apache-2.0
// `warpmeter record` as a process: exit codes, signals, environment, files. The recorder is a fake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>
#include <thread>

#include "cli/ceilings_file.h"
#include "cli/environment.h"
#include "program.h"

namespace warpmeter::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RecordTest : public ::testing::Test {
 protected:
  Captured sh(const std::string& script, std::vector<std::string> options = {},
              std::vector<std::string> variables = {}) {
    options.insert(options.begin(), "record");
    options.insert(options.end(), {"--", "/bin/sh", "-c", script});
    return program_.run(options, variables);
  }
  testing::Program program_;
};

TEST_F(RecordTest, GivesTheApplicationsExitCodeAndLeavesItsOutputAlone) {
  auto r = sh("echo out; echo err >&2; exit 7");
  EXPECT_EQ(r.exitCode(), 7);
  EXPECT_EQ(r.out, "out\n");
  EXPECT_THAT(r.err, HasSubstr("err\n"));
  EXPECT_THAT(r.err, HasSubstr("warpmeter: sh exited 7 after "));
  EXPECT_TRUE(program_.exists("sh.wm.sqlite"));
}

TEST_F(RecordTest, EveryLineOfOursHasThePrefixAndTheLastNamesTheNextStep) {
  auto r = sh("exit 0");
  EXPECT_EQ(r.exitCode(), 0);
  std::size_t begin = 0;
  while (begin < r.err.size()) {
    const auto end = r.err.find('\n', begin);
    EXPECT_THAT(r.err.substr(begin, end - begin), ::testing::StartsWith("warpmeter: "));
    begin = end + 1;
  }
  EXPECT_THAT(r.err, HasSubstr("1 launch; nothing lost"));
  EXPECT_THAT(r.err, HasSubstr("GPU 0 H200 "));
  EXPECT_THAT(r.err, HasSubstr("most time: saxpy 100 % of kernel time"));
  EXPECT_THAT(r.err, HasSubstr("next: warpmeter report sh.wm.sqlite\n"));
}

TEST_F(RecordTest, SaysNothingWhenQuiet) {
  auto r = sh("exit 3", {"--quiet"}, {"CUDA_INJECTION64_PATH=/x/nsight-systems/libToolsInjection64.so"});
  EXPECT_EQ(r.exitCode(), 3);
  EXPECT_EQ(r.out + r.err, "");
}

TEST_F(RecordTest, MapsDeathBySignal) {
  auto r = sh("kill -9 $$");
  EXPECT_EQ(r.exitCode(), 137);
  EXPECT_THAT(r.err, HasSubstr("was killed by SIGKILL (9)"));
  EXPECT_THAT(program_.text("sh.wm.sqlite.log"), HasSubstr("4 9\n")) << "the recorder gets the wait status";
}

TEST_F(RecordTest, TellsTheProgramsThatCannotRunApartAndWritesNothing) {
  program_.write("plain", "echo\n");
  program_.write("textfile", "just text\n", true);
  EXPECT_EQ(program_.run({"record", "--", "no-such-program"}).exitCode(), 127);
  EXPECT_EQ(program_.run({"record", "--", "./no-such-file"}).exitCode(), 127);
  EXPECT_EQ(program_.run({"record", "--", "./plain"}).exitCode(), 126);
  EXPECT_EQ(program_.run({"record", "--", "/tmp"}).exitCode(), 126);
  const auto notAScript = program_.run({"record", "--", "./textfile"});
  EXPECT_EQ(notAScript.exitCode(), 126);
  EXPECT_THAT(notAScript.err, HasSubstr("#!"));
  program_.write("lost", "#!/no/such/interpreter\n", true);
  EXPECT_EQ(program_.run({"record", "--", "./lost"}).exitCode(), 127);
  for (const auto& entry : std::filesystem::directory_iterator(program_.work()))
    EXPECT_THAT(entry.path().filename().string(), Not(::testing::EndsWith(".sqlite")));
}

TEST_F(RecordTest, NumbersDefaultNamesAndRefusesToOverwrite) {
  EXPECT_EQ(sh("exit 0").exitCode(), 0);
  EXPECT_EQ(sh("exit 0").exitCode(), 0);
  EXPECT_TRUE(program_.exists("sh.2.wm.sqlite"));
  program_.write("mine.wm.sqlite", "precious");
  auto r = sh("touch ran", {"-o", "mine.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 125);
  EXPECT_THAT(r.err, HasSubstr("mine.wm.sqlite exists; choose another name or add --force"));
  EXPECT_FALSE(program_.exists("ran")) << "the application must not run";
  EXPECT_EQ(program_.text("mine.wm.sqlite"), "precious");
  EXPECT_EQ(sh("exit 0", {"-o", "."}).exitCode(), 125);
}

TEST_F(RecordTest, ReportsWhatTheRecorderRefuses) {
  auto r = sh("touch ran", {"-o", "refuse.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 125);
  EXPECT_EQ(r.err, "warpmeter: the disk is full\n");
  EXPECT_FALSE(program_.exists("ran"));
  r = sh("touch ran", {"-o", "mute.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 125);
  EXPECT_THAT(r.err, HasSubstr("ended before it was ready (exit code 7)"));
}

TEST_F(RecordTest, ApplicationRunsOnWhenTheRecorderDies) {
  auto r = sh("sleep 0.2; exit 5", {"-o", "die.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 5);
  EXPECT_THAT(r.err, HasSubstr("the recorder died during the run"));
  EXPECT_EQ(sh("exit 0", {"--strict", "-o", "die2.wm.sqlite"}).exitCode(), 3);
}

TEST_F(RecordTest, StrictTurnsAnIncompleteSuccessIntoThreeOnly) {
  EXPECT_EQ(sh("exit 0", {"-o", "incomplete1.wm.sqlite"}).exitCode(), 0);
  auto r = sh("exit 0", {"--strict", "-o", "incomplete2.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 3);
  EXPECT_THAT(r.err, HasSubstr("7 records lost (--max-size reached)"));
  EXPECT_EQ(sh("exit 9", {"--strict", "-o", "incomplete3.wm.sqlite"}).exitCode(), 9);
  EXPECT_EQ(sh("exit 0", {"--strict", "-o", "fine.wm.sqlite"}).exitCode(), 0);
}

TEST_F(RecordTest, TellsOfProcessesThatRunOn) {
  auto r = sh("exit 0", {"--strict", "-o", "left.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 0) << "they make nothing incomplete";
  EXPECT_THAT(r.err, HasSubstr("warpmeter: 1 process still ran (7 x\\x1b[31m)\n"));
}

TEST_F(RecordTest, TellsTheRecorderAboutCounters) {
  EXPECT_EQ(sh("true", {"--sampler-cpu", "0.25", "-o", "c.wm.sqlite"}).exitCode(), 0);
  EXPECT_THAT(program_.text("c.wm.sqlite.log"), HasSubstr("--counters\nsample\n--sampler-cpu\n0.25\n"));
  EXPECT_EQ(sh("true", {"--counters=none", "-o", "d.wm.sqlite"}).exitCode(), 0);
  EXPECT_THAT(program_.text("d.wm.sqlite.log"), HasSubstr("--counters\nnone\n"));
  EXPECT_EQ(sh("true", {"-o", "e.wm.sqlite"}, {"WARPMETER_COUNTERS=none"}).exitCode(), 0);
  EXPECT_THAT(program_.text("e.wm.sqlite.log"), HasSubstr("--counters\nnone\n"));
}

TEST_F(RecordTest, GivesTheRecorderWhatCalibrateKept) {
  const auto data = program_.work() / "data";
  const auto file = data / "warpmeter/ceilings.json";
  const auto recorded = [&](const std::string& name) {
    return sh("true", {"-o", name}, {"XDG_DATA_HOME=" + data.string()});
  };
  EXPECT_EQ(recorded("none.wm.sqlite").exitCode(), 0);
  EXPECT_THAT(program_.text("none.wm.sqlite.log"), Not(HasSubstr("--ceilings")));

  Calibration known, broken;
  known.uuid = "ab12-cd";
  known.dramBytesPerSec = 4.257e12;
  known.tensorBf16PerSec = 979e12;
  broken.uuid = "no:uuid";
  broken.dramBytesPerSec = 1e12;
  ASSERT_TRUE(keepCalibrations(file, {known, broken}));
  EXPECT_EQ(recorded("kept.wm.sqlite").exitCode(), 0);
  const auto told = program_.text("kept.wm.sqlite.log");
  EXPECT_THAT(told, HasSubstr("--ceilings\nab12-cd:dram=4257000000000,tensor.bf16=979000000000000\n"));
  EXPECT_THAT(told, Not(HasSubstr("no:uuid"))) << "the recorder would refuse it";

  std::ofstream(file) << "{";
  const auto r = recorded("damaged.wm.sqlite");
  EXPECT_EQ(r.exitCode(), 0);
  EXPECT_THAT(r.err, HasSubstr("ceilings.json is not a file of `warpmeter calibrate`"));
  EXPECT_THAT(program_.text("damaged.wm.sqlite.log"), Not(HasSubstr("--ceilings")));
}

TEST_F(RecordTest, ExactModeIsToldToBothSidesAndPricedBefore) {
  auto r = sh("env", {"--counters", "exact", "-o", "x1.wm.sqlite"});
  EXPECT_THAT(r.out, HasSubstr("WARPMETER_EXACT=3\n"));
  EXPECT_THAT(r.err, HasSubstr("at most 3 configurations, 3 launches of each kernel for each; about 11 ms per distinct kernel"));
  EXPECT_THAT(program_.text("x1.wm.sqlite.log"), HasSubstr("--counters\nexact\n"));
  r = sh("env", {"--counters", "sample,exact", "--metrics", "full", "--launches-per-kernel", "5", "-o", "x2.wm.sqlite"});
  EXPECT_THAT(r.out, HasSubstr("WARPMETER_EXACT=5\n"));
  EXPECT_THAT(r.err, HasSubstr("about 12 configurations, 5 launches"));
  EXPECT_THAT(program_.text("x2.wm.sqlite.log"), HasSubstr("--counters\nsample,exact\n--metrics\nfull\n"));
  r = sh("env", {"--quiet", "-o", "x3.wm.sqlite"}, {"WARPMETER_EXACT=9"});
  EXPECT_THAT(r.out, ::testing::Not(HasSubstr("WARPMETER_EXACT"))) << "only what this run asks for";
}

TEST_F(RecordTest, ExactModesOptionsMeanNothingWithoutIt) {
  for (const char* option : {"--metrics=full", "--launches-per-kernel=2"}) {
    auto r = sh("echo ran", {option, "-o", "y.wm.sqlite"});
    EXPECT_EQ(r.exitCode(), 2) << option;
    EXPECT_THAT(r.err, HasSubstr("needs --counters exact"));
    EXPECT_EQ(r.out, "");
  }
  auto r = sh("echo ran", {"--counters=exact", "--launches-per-kernel=101", "-o", "y.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 2);
  EXPECT_THAT(r.err, HasSubstr("at most 100"));
}

TEST_F(RecordTest, PcSamplingIsToldToBothSides) {
  auto r = sh("env", {"--counters", "pc", "-o", "p1.wm.sqlite"});
  EXPECT_THAT(r.out, HasSubstr("WARPMETER_PC=auto\n"));
  EXPECT_THAT(program_.text("p1.wm.sqlite.log"), HasSubstr("--counters\npc\n"));
  r = sh("env", {"--counters", "pc", "--pc-period", "9", "-o", "p2.wm.sqlite"}, {"WARPMETER_PC=7"});
  EXPECT_THAT(r.out, HasSubstr("WARPMETER_PC=9\n"));
  r = sh("env", {"-o", "p3.wm.sqlite"}, {"WARPMETER_PC=7"});
  EXPECT_THAT(r.out, ::testing::Not(HasSubstr("WARPMETER_PC="))) << "only what this run asks for";
  for (const auto& [period, why] : std::map<std::string, std::string>{{"4", "takes 5 to 31"}, {"32", "takes 5 to 31"}}) {
    r = sh("echo ran", {"--counters", "pc", "--pc-period", period, "-o", "p4.wm.sqlite"});
    EXPECT_EQ(r.exitCode(), 2);
    EXPECT_THAT(r.err, HasSubstr(why));
    EXPECT_EQ(r.out, "");
  }
  r = sh("echo ran", {"--pc-period", "9", "-o", "p5.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 2);
  EXPECT_THAT(r.err, HasSubstr("--pc-period needs --counters pc"));
}

TEST_F(RecordTest, TimeAndRangeExcludeEachOther) {
  for (const char* option : {"--delay=1", "--duration=2"}) {
    auto r = sh("echo ran", {option, "--capture-range", "nvtx:step", "-o", "y.wm.sqlite"});
    EXPECT_EQ(r.exitCode(), 2) << option;
    EXPECT_THAT(r.err, HasSubstr("and --capture-range exclude each other"));
    EXPECT_EQ(r.out, "");
    EXPECT_FALSE(program_.exists("y.wm.sqlite"));
  }
}

TEST_F(RecordTest, SetsTheApplicationsEnvironmentOnly) {
  auto r = sh("env", {"--api", "all", "--flush-ms", "50", "--launch-latency=force", "-o", "e.wm.sqlite"},
              {"KEPT=1"});
  const auto library = program_.injectLibrary().string();
  EXPECT_THAT(r.out, HasSubstr("CUDA_INJECTION64_PATH=" + library + "\n"));
  EXPECT_THAT(r.out, HasSubstr("NVTX_INJECTION64_PATH=" + library + "\n"));
  EXPECT_THAT(r.out, HasSubstr("WARPMETER_API=all\n"));
  EXPECT_THAT(r.out, HasSubstr("WARPMETER_FLUSH_MS=50\n"));
  EXPECT_THAT(r.out, HasSubstr("WARPMETER_LAUNCH_LATENCY=force\n"));
  EXPECT_THAT(r.out, ::testing::ContainsRegex("WARPMETER_RUN=[0-9a-f]{32}\n"));
  EXPECT_THAT(r.out, HasSubstr("KEPT=1\n"));
  const auto log = program_.text("e.wm.sqlite.log");
  EXPECT_THAT(log, HasSubstr("--api\nall\n--flush-ms\n50\n"));
  EXPECT_THAT(log, HasSubstr("--nvtx-requested\n"));
  EXPECT_THAT(log, HasSubstr("--counters\nsample\n")) << "the default";
  EXPECT_THAT(log, ::testing::Not(HasSubstr("--sampler-cpu")));
  EXPECT_THAT(log, HasSubstr("session leader 1\n")) << "Ctrl-C must not reach the recorder";
}

TEST_F(RecordTest, WithoutNvtxThatLibraryIsNotSet) {
  auto r = sh("env", {"--no-nvtx", "-o", "n.wm.sqlite"});
  EXPECT_THAT(r.out, Not(HasSubstr("NVTX_INJECTION64_PATH")));
  EXPECT_THAT(program_.text("n.wm.sqlite.log"), Not(HasSubstr("--nvtx-requested")));
}

TEST_F(RecordTest, BuildsTheRecordersEnvironment) {
  sh("exit 0", {"-o", "b.wm.sqlite"},
     {"CUDA_INJECTION64_PATH=/x.so", "NVTX_INJECTION64_PATH=/x.so", "CUDA_VISIBLE_DEVICES=1",
      "CUDA_MPS_PIPE_DIRECTORY=/x", "SECRET=1", "LANG=C"});
  const auto environment = program_.text("b.wm.sqlite.env");
  EXPECT_THAT(environment, HasSubstr("LANG=C\n"));
  for (const char* name : {"CUDA_", "NVTX_", "SECRET", "LD_PRELOAD"})
    EXPECT_THAT(environment, Not(HasSubstr(name)));
}

TEST_F(RecordTest, SaysWhoseInjectionItReplaces) {
  auto r =
      sh("exit 0", {}, {"CUDA_INJECTION64_PATH=/opt/nvidia/nsight-systems/2025.3.2/libToolsInjection64.so"});
  EXPECT_THAT(r.err,
              HasSubstr("CUDA_INJECTION64_PATH belongs to NVIDIA Nsight Systems; replaced for this run"));
}

TEST_F(RecordTest, RefusesASocketFolderThatOthersCanEnter) {
  const auto folder = program_.work() / "run";
  std::filesystem::create_directories(folder / "warpmeter");
  std::filesystem::permissions(folder / "warpmeter", std::filesystem::perms::all);
  auto r =
      capture({"/usr/bin/env", "XDG_RUNTIME_DIR=" + folder.string(), "PATH=/usr/bin:/bin", program_.self(),
               "record", "-o", (program_.work() / "x.wm.sqlite").string(), "--", "true"},
              {}, 20'000);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->exitCode(), 125);
  EXPECT_THAT(r->err, HasSubstr("mode 0700"));
}

TEST_F(RecordTest, RefusesToRecordInsideARecordingAndNamesIt) {
  const std::string inner = "'" + program_.self().string() + "' record -o inner.wm.sqlite -- touch ran";
  auto r = sh(inner, {"-o", "outer.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 125) << r.err;
  EXPECT_THAT(r.err, HasSubstr("already runs inside a recording (" + (program_.work() / "outer.wm.sqlite").string() +
                               ") by process "));
  EXPECT_THAT(r.err, HasSubstr("env -u WARPMETER_SOCKET"));
  EXPECT_FALSE(program_.exists("ran"));
  EXPECT_FALSE(program_.exists("inner.wm.sqlite"));
  EXPECT_THAT(program_.text("outer.wm.sqlite.log"), Not(HasSubstr("a guest connected"))) << "asking must not disturb it";
  r = sh("env -u WARPMETER_SOCKET " + inner, {"-o", "outer2.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 0) << "what it told to do works: " << r.err;
  EXPECT_TRUE(program_.exists("ran"));
}

TEST_F(RecordTest, AnOuterRecordingThatIsOverIsNoReasonToRefuse) {
  EXPECT_EQ(sh("exit 4", {"-o", "a.wm.sqlite"}, {"WARPMETER_SOCKET=" + (program_.work() / "gone.sock").string()}).exitCode(), 4);
  program_.write("plain", "no socket");
  EXPECT_EQ(sh("exit 4", {"-o", "b.wm.sqlite"}, {"WARPMETER_SOCKET=" + (program_.work() / "plain").string()}).exitCode(), 4);
}

TEST_F(RecordTest, WorksWhereProcIsHidden) {
  const auto script = "mount -t tmpfs none /proc && cd '" + program_.work().string() + "' && exec '" +
                      program_.self().string() + "' record -o hidden.wm.sqlite -- /bin/sh -c 'exit 6'";
  auto r = capture({"/usr/bin/unshare", "-rm", "/bin/sh", "-c", script},
                   {"PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + program_.work().string()}, 20'000);
  ASSERT_TRUE(r) << r.error().message;
  if (r->err.find("warpmeter: ") == std::string::npos) GTEST_SKIP() << "no namespaces here: " << r->err;
  EXPECT_EQ(r->exitCode(), 6) << r->err;
  EXPECT_TRUE(program_.exists("hidden.wm.sqlite"));
}

TEST_F(RecordTest, SaysThatABuildWithoutTheRecordingPartsCannotRecord) {
  std::filesystem::remove(program_.injectLibrary());
  auto r = sh("touch ran");
  EXPECT_EQ(r.exitCode(), 125);
  EXPECT_THAT(r.err, HasSubstr("cannot record"));
  EXPECT_FALSE(program_.exists("ran"));
}

// Starts `record` in a process group of its own and sends `signal` to that group or to `record` alone as soon
// as the application says that it is ready.
int exitAfterSignal(const testing::Program& program, const std::string& script, int signal, bool toGroup) {
  std::vector<std::string> words{"/bin/sh",      "-c",           "cd \"$0\" && exec \"$@\"",
                                 program.work(), program.self(), "record",
                                 "--quiet",      "--",           "/bin/sh",
                                 "-c",           script};
  auto argv = pointersTo(words);
  auto environment = changedEnvironment({{"XDG_RUNTIME_DIR", (program.work()).string()}});
  auto envp = pointersTo(environment);
  std::filesystem::remove(program.work() / "ready");
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = -1;
  if (posix_spawn(&pid, argv[0], nullptr, &attributes, argv.data(), envp.data()) != 0) return -1;
  posix_spawnattr_destroy(&attributes);
  for (int i = 0; i < 1000 && !program.exists("ready"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  kill(toGroup ? -pid : pid, signal);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(RecordTest, CtrlCReachesTheApplicationAndWeStay) {
  EXPECT_EQ(
      exitAfterSignal(program_, "trap 'exit 5' INT; touch ready; while :; do sleep 0.05; done", SIGINT, true),
      5);
  EXPECT_TRUE(program_.exists("sh.wm.sqlite.log"));
}

TEST_F(RecordTest, ApplicationWithoutHandlerDiesByCtrlC) {
  // exec: a program of its own, so that nothing but the default disposition decides.
  EXPECT_EQ(exitAfterSignal(program_, "touch ready; exec sleep 30", SIGINT, true), 130);
}

TEST_F(RecordTest, ForwardsTermination) {
  EXPECT_EQ(exitAfterSignal(program_, "trap 'exit 6' TERM; touch ready; while :; do sleep 0.05; done",
                            SIGTERM, false),
            6);
  EXPECT_EQ(exitAfterSignal(program_, "touch ready; exec sleep 30", SIGTERM, false), 143);
}

}  // namespace
}  // namespace warpmeter::cli
