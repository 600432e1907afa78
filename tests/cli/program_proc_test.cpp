// SPDX-License-Identifier: Apache-2.0
// The other verbs as a process: exit codes, bad input, output for pipes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "golden.h"
#include "program.h"
#include "schema_check.h"

namespace warpmeter::cli {
namespace {

using ::testing::HasSubstr;

class ProgramTest : public ::testing::Test {
 protected:
  void profile(const std::string& name) {
    auto written =
        support::writeProfile(program_.work() / name, testing::contentOf(testing::golden("train.dsl")));
    ASSERT_TRUE(written) << written.error().message;
  }
  void sql(const std::string& name, const char* statement) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open((program_.work() / name).c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, statement, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
  // One clear line that names the file, exit code 2, nothing on stdout, nothing written beside the file.
  void expectRefused(const std::string& name, const std::string& what) {
    SCOPED_TRACE(name);
    const auto before = std::distance(std::filesystem::directory_iterator(program_.work()), {});
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"report", name}, {"occupancy", name, "--kernel", "x"}}) {
      const auto r = program_.run(words);
      EXPECT_EQ(r.exitCode(), 2);
      EXPECT_EQ(r.out, "");
      EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
      EXPECT_THAT(r.err, ::testing::StartsWith("warpmeter: "));
      EXPECT_THAT(r.err, HasSubstr(name));
      EXPECT_THAT(r.err, HasSubstr(what));
    }
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(program_.work()), {}), before);
  }
  testing::Program program_;
};

TEST_F(ProgramTest, RefusesEveryKindOfBadInputInOneLine) {
  expectRefused("missing.wm.sqlite", "no such file");
  std::filesystem::create_directory(program_.work() / "folder");
  expectRefused("folder", "directory");
  program_.write("empty.wm.sqlite", "");
  expectRefused("empty.wm.sqlite", "empty");
  program_.write("foreign.txt", "this is a text file and no profile at all\n");
  expectRefused("foreign.txt", "");
  program_.write("trace.json", "{\"schemaVersion\": 1, \"traceEvents\": []}\n");
  expectRefused("trace.json", "Kineto");
  sql("other.sqlite", "create table t(x)");
  expectRefused("other.sqlite", "");
  profile("newer.wm.sqlite");
  sql("newer.wm.sqlite", "pragma user_version=999000000");
  expectRefused("newer.wm.sqlite", "newer");
  profile("cut.wm.sqlite");
  std::filesystem::resize_file(program_.work() / "cut.wm.sqlite", 5000);
  expectRefused("cut.wm.sqlite", "");
  if (geteuid() != 0) {  // root may read everything
    profile("closed.wm.sqlite");
    std::filesystem::permissions(program_.work() / "closed.wm.sqlite", std::filesystem::perms::none);
    expectRefused("closed.wm.sqlite", "permission");
  }
}

TEST_F(ProgramTest, ReportPrintsForPipesWithoutColours) {
  profile("t.wm.sqlite");
  const auto r = program_.run({"report", "t.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 0);
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(r.out, testing::contentOf(testing::golden("train.txt"))
                       .replace(testing::contentOf(testing::golden("train.txt")).find("train.wm.sqlite"),
                                std::string("train.wm.sqlite").size(), "t.wm.sqlite"));
}

TEST_F(ProgramTest, StrictSaysThreeForAnIncompleteRecording) {
  auto written = support::writeProfile(program_.work() / "l.wm.sqlite",
                                       testing::contentOf(testing::golden("losses.dsl")));
  ASSERT_TRUE(written);
  EXPECT_EQ(program_.run({"report", "l.wm.sqlite"}).exitCode(), 0);
  EXPECT_EQ(program_.run({"report", "l.wm.sqlite", "--strict"}).exitCode(), 3);
  profile("t.wm.sqlite");
  EXPECT_EQ(program_.run({"report", "t.wm.sqlite", "--strict"}).exitCode(), 0);
}

TEST_F(ProgramTest, UnknownKernelNamesTheOnesThereAre) {
  profile("t.wm.sqlite");
  const auto r = program_.run({"report", "t.wm.sqlite", "--kernel", "nothing"});
  EXPECT_EQ(r.exitCode(), 2);
  EXPECT_THAT(r.err, HasSubstr("gemm_bf16_128x256"));
}

TEST_F(ProgramTest, OccupancyFromNumbersAndFromAFile) {
  auto r = program_.run({"occupancy", "--cc", "9.0", "--registers", "40", "--block", "256"});
  EXPECT_EQ(r.exitCode(), 0);
  EXPECT_THAT(r.out,
              HasSubstr("OCCUPANCY  75.0 %: 6 blocks of 8 warps = 48 of 64 warps per SM, held by registers"));
  r = program_.run({"occupancy", "--cc", "9.0", "--registers", "40", "--block", "256", "--grid", "528"});
  EXPECT_THAT(r.out, HasSubstr("132 SMs as H100"));
  EXPECT_THAT(r.out, HasSubstr("WAVES      528 blocks on 132 SMs: 0.67 waves"));
  profile("t.wm.sqlite");
  r = program_.run({"occupancy", "t.wm.sqlite", "--kernel", "layer_norm", "--json"});
  EXPECT_EQ(r.exitCode(), 0);
  testing::SchemaCheck check(
      nlohmann::json::parse(testing::contentOf(WARPMETER_SOURCE_DIR "/docs/occupancy.schema.json")));
  EXPECT_EQ(check.complaints(nlohmann::json::parse(r.out)), "");
  EXPECT_TRUE(nlohmann::json::parse(r.out)["launches"].at(0).at("bound").is_null()) << "the file has no counters";
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"occupancy"},
        {"occupancy", "--cc", "9.0"},
        {"occupancy", "--cc", "3.5", "--registers", "32", "--block", "64"},
        {"occupancy", "--cc", "9.0", "--registers", "32", "--block", "2048"},
        {"occupancy", "--cc", "9.0", "--registers", "32", "--block", "1x1x65"},
        {"occupancy", "--cc", "9.0", "--registers", "32", "--block", "64", "--grid", "1x65536"},
        {"occupancy", "t.wm.sqlite"}}) {
    r = program_.run(bad);
    EXPECT_EQ(r.exitCode(), 2) << bad.back();
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
}

TEST_F(ProgramTest, OccupancyTakesTheLargestBlockAndGridThatThereAre) {
  for (const char* block : {"1x1x64", "64", "1024"}) {
    const auto r = program_.run(
        {"occupancy", "--cc", "9.0", "--registers", "32", "--block", block, "--grid", "2147483647x65535x65535"});
    EXPECT_EQ(r.exitCode(), 0) << r.err;
    EXPECT_THAT(r.out, HasSubstr("9 223 090 559 730 712 575 blocks on 132 SMs")) << block;
    EXPECT_EQ(r.out.find("-9"), std::string::npos) << "no sum has overflown";
  }
}

TEST_F(ProgramTest, DoctorAnswersInTheSchemaAndWithFourWhereNothingCanBeRecorded) {
  const auto r = program_.run({"doctor", "--json"}, {"CUDA_VISIBLE_DEVICES=-1"});
  EXPECT_EQ(r.exitCode(), 4);
  testing::SchemaCheck check(
      nlohmann::json::parse(testing::contentOf(WARPMETER_SOURCE_DIR "/docs/doctor.schema.json")));
  const auto json = nlohmann::json::parse(r.out);
  EXPECT_EQ(check.complaints(json), "");
  EXPECT_EQ(json["exitCode"], 4);
  const auto text =
      program_.run({"doctor"}, {"CUDA_VISIBLE_DEVICES=-1", "CUDA_INJECTION64_PATH=/x/nsight-systems/y.so"});
  EXPECT_THAT(text.out, HasSubstr("CUDA_INJECTION64_PATH is set by NVIDIA Nsight Systems"));
  EXPECT_THAT(text.out, HasSubstr("Nothing can be recorded here. Exit code 4."));
}

TEST_F(ProgramTest, KernelsListAndRunTheBundledPrograms) {
  EXPECT_EQ(program_.run({"kernels", "list"}).exitCode(), 2) << "a build without them says so";
  const auto folder = program_.tree() / "lib/warpmeter/kernels";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "demo")
      << "#!/bin/sh\n[ \"$1\" = --describe ] && echo "
         "'{\"schema\":\"warpmeter.kernel\",\"version\":1,\"name\":\"demo\","
         "\"lesson\":\"a "
         "lesson\",\"kernels\":[\"k\"],\"smallArguments\":[],\"variants\":[{\"name\":\"v\",\"lesson\":\"w\",\"limiter\":\"grid\","
         "\"bound\":\"launch\"}],"
         "\"options\":[{\"name\":\"--n\",\"help\":\"h\"}]}' && exit 0\necho \"ran $*\"; exit 3\n";
  std::filesystem::permissions(folder / "demo", std::filesystem::perms::owner_all);
  auto r = program_.run({"kernels", "list"});
  EXPECT_EQ(r.exitCode(), 0);
  EXPECT_THAT(r.out, HasSubstr("demo  a lesson"));
  EXPECT_THAT(r.out, HasSubstr("bound by launch, occupancy held by grid"));
  // As bash completes it, with the program's own answers.
  const auto completed = [&](const std::string& words) {
    const auto script = "eval \"$(\"$0\" --completion-bash)\"; COMP_WORDS=(\"$0\" " + words +
                        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _warpmeter; echo \"${COMPREPLY[*]}\"";
    auto run = capture({"/bin/bash", "-c", script, program_.self()}, {"PATH=/usr/bin:/bin"}, 20'000);
    return run ? run->out + run->err : run.error().message;
  };
  EXPECT_EQ(completed("kernels run ''"), "demo\n");
  EXPECT_EQ(completed("kernels run x"), "\n");
  EXPECT_EQ(completed("kernels run demo --variant ''"), "v\n");
  EXPECT_EQ(completed("kernels run --var"), "--variant\n");
  r = program_.run({"kernels", "run", "demo", "--variant", "v", "--", "--n", "5"});
  EXPECT_EQ(r.exitCode(), 3);
  EXPECT_EQ(r.out, "ran --variant v --n 5\n");
  testing::SchemaCheck check(
      nlohmann::json::parse(testing::contentOf(WARPMETER_SOURCE_DIR "/docs/kernels.schema.json")));
  EXPECT_EQ(check.complaints(nlohmann::json::parse(program_.run({"kernels", "list", "--json"}).out)), "");
  EXPECT_EQ(program_.run({"kernels", "run", "other"}).exitCode(), 2);
  r = program_.run({"kernels", "run", "demo", "--record"});
  EXPECT_EQ(r.exitCode(), 3);
  EXPECT_TRUE(program_.exists("demo.wm.sqlite"));
}

TEST_F(ProgramTest, VersionAndHelpGoToStdout) {
  for (const char* word : {"--version", "--help"}) {
    const auto r = program_.run({word});
    EXPECT_EQ(r.exitCode(), 0);
    EXPECT_THAT(r.out, ::testing::StartsWith("warpmeter "));
    EXPECT_EQ(r.err, "");
  }
}

}  // namespace
}  // namespace warpmeter::cli
