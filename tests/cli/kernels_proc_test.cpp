// SPDX-License-Identifier: Apache-2.0
// warpmeter kernels run, tune and compare beside shell scripts in place of the bundled programs and a driver
// that names one GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/references_file.h"
#include "golden.h"
#include "program.h"
#include "schema_check.h"
#include "support/bound_profile.h"

namespace warpmeter::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

constexpr const char* kUuid = "abababab-abab-abab-abab-abababababab";

class KernelsTest : public ::testing::Test {
 protected:
  // A program that describes itself with these variants and options, and otherwise does `script`; $2 is the
  // variant.
  void kernel(const std::string& name, const std::string& variants, const std::string& options,
              const std::string& script) {
    const auto folder = program_.tree() / "lib/warpmeter/kernels";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / name)
        << "#!/bin/sh\nif [ \"$1\" = --describe ]; then echo '{\"schema\":\"warpmeter.kernel\","
        << "\"version\":1,\"name\":\"" << name << "\",\"lesson\":\"a lesson\",\"kernels\":"
        << "[\"saxpy\"],\"smallArguments\":[],\"variants\":[" << variants << "],\"options\":[" << options
        << "]}'; exit 0; fi\n"
        << "echo \"" << name << " $*\" >> '" << (program_.work() / "calls").string() << "'\n"
        << script;
    std::filesystem::permissions(folder / name, std::filesystem::perms::owner_all);
  }
  static std::string variant(const std::string& name, const std::string& bound,
                             const std::string& access = "mixed") {
    return R"({"name":")" + name + R"(","lesson":"w","limiter":"warps","bound":")" + bound +
           R"(","precision":"fp32","access":")" + access + R"("})";
  }
  static std::string option(const std::string& name, int min, int max, int fallback) {
    return R"({"name":")" + name + R"(","default":)" + std::to_string(fallback) + R"(,"min":)" +
           std::to_string(min) + R"(,"max":)" + std::to_string(max) + R"(,"help":"h"})";
  }
  static std::string answer(const std::string& values, const std::string& more = "") {
    return "echo '{\"schema\":\"warpmeter.kernel_run\",\"version\":1,\"values\":{" + values + "}" + more +
           "}'\n";
  }
  Captured run(std::vector<std::string> words) {
    words.insert(words.begin(), "kernels");
    std::vector<std::string> variables{"XDG_DATA_HOME=" + data().string()};
    if (gpu_) variables.push_back("LD_LIBRARY_PATH=" WARPMETER_FAKE_GPU_FOLDER);
    return program_.run(words, variables);
  }
  std::filesystem::path data() const { return program_.work() / "data"; }
  std::filesystem::path file() const { return data() / "warpmeter/references.json"; }
  static std::string complaints(const std::string& schema, const Json& json) {
    testing::SchemaCheck check(
        Json::parse(testing::contentOf(WARPMETER_SOURCE_DIR "/docs/" + schema + ".schema.json")));
    return check.complaints(json);
  }
  static std::string lineWith(const std::string& text, const std::string& word) {
    const auto at = text.find(word);
    if (at == std::string::npos) return "";
    const auto begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  }
  void theSet() {
    kernel(
        "copy", variant("vector", "dram") + "," + variant("scalar", "dram"), option("--seconds", 0, 9, 1),
        "[ $2 = vector ] && " +
            answer("\"launchNs\":131072,\"bandwidthBytesPerSec\":4.2174e12,\"ceilingBytesPerSec\":4.8e12") +
            "[ $2 = scalar ] && { echo 'copy: y[3] is 1, not 2' >&2; exit 1; }\nexit 0\n");
    kernel("fma", variant("int8", "tensor"), "",
           answer("\"launchNs\":2e6,\"flopPerSec\":1e15,\"ceilingFlopPerSec\":2e15"));
    kernel("matmul", variant("cublas", "fp32"), "", answer("", ",\"notices\":[\"cublas: not found\"]"));
    kernel("streams", R"({"name":"serial","lesson":"w","limiter":null,"bound":null})", "",
           answer("\"elapsedNs\":5e6"));
  }

  bool gpu_ = true;
  testing::Program program_;
};

TEST_F(KernelsTest, RunMeasuresTheSetAndKeepsWhatHasARate) {
  theSet();
  const auto r = run({"run"});
  EXPECT_EQ(r.exitCode(), 1) << "one failed, the others ran: " << r.err;
  EXPECT_THAT(lineWith(r.out, "vector"), HasSubstr("131 us     4.22 TB/s  dram    99.0 % of DRAM 4.26 TB/s"));
  EXPECT_THAT(lineWith(r.out, "scalar"), HasSubstr("FAILED: exit code 1: copy: y[3] is 1, not 2"));
  EXPECT_THAT(lineWith(r.out, "int8"), HasSubstr("50.0 % of FP32 2000 TFLOP/s (theoretical)"))
      << "no ceiling of ours: the program's own";
  EXPECT_THAT(lineWith(r.out, "cublas"), HasSubstr("not available: cublas: not found"));
  EXPECT_THAT(lineWith(r.out, "serial"), HasSubstr("5.00 ms"));
  EXPECT_THAT(r.out, HasSubstr("GPU 0 NVIDIA H200; ceilings shipped for H200: DRAM 4.26 TB/s"));
  EXPECT_THAT(r.out, HasSubstr("3 variants measured in"));
  EXPECT_THAT(r.out, HasSubstr("1 failed, 1 not available here\n"));
  EXPECT_THAT(program_.text("calls"),
              HasSubstr("copy --variant vector --json --device 0 --nvtx off --seconds 0\n"));

  EXPECT_EQ(complaints("references", Json::parse(testing::contentOf(file()))), "");
  auto kept = readReferences(file());
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_EQ(kept->size(), 1u);
  EXPECT_EQ(kept->front().uuid, kUuid) << "as recordings name it";
  ASSERT_EQ(kept->front().results.size(), 2u) << "no rate, no reference";
  EXPECT_EQ(kept->front().results[0].program, "copy");
  EXPECT_DOUBLE_EQ(*kept->front().results[0].bytesPerSec, 4.2174e12);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file().parent_path()), {}), 1)
      << "no half-written file";
}

TEST_F(KernelsTest, RunAgainReplacesWhatItMeasuredAndForgetsWhatIsGone) {
  theSet();
  (void)run({"run"});
  kernel("copy", variant("vector", "dram"), "", answer("\"launchNs\":1e5,\"bandwidthBytesPerSec\":4e12"));
  kernel("fma", variant("int8", "tensor"), "", "exit 1\n");
  EXPECT_EQ(run({"run"}).exitCode(), 1);
  auto kept = readReferences(file());
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->front().results.size(), 2u) << "fma failed this time: its older result stays";
  EXPECT_DOUBLE_EQ(*kept->front().results[0].bytesPerSec, 4e12);
  std::filesystem::remove(program_.tree() / "lib/warpmeter/kernels/fma");
  EXPECT_EQ(run({"run"}).exitCode(), 0);
  kept = readReferences(file());
  ASSERT_EQ(kept->front().results.size(), 1u);
}

TEST_F(KernelsTest, AProgramThatDoesNotDescribeItselfFailsAndKeepsWhatItHad) {
  theSet();
  (void)run({"run"});
  const auto broken = program_.tree() / "lib/warpmeter/kernels/fma";
  std::ofstream(broken) << "#!/bin/sh\nexit 127\n";
  std::filesystem::remove(program_.tree() / "lib/warpmeter/kernels/copy");
  const auto r = run({"run"});
  EXPECT_EQ(r.exitCode(), 1);
  EXPECT_THAT(lineWith(r.out, "fma"), HasSubstr("FAILED: does not say what it is"));
  const auto kept = readReferences(file());
  ASSERT_TRUE(kept);
  ASSERT_EQ(kept->front().results.size(), 1u);
  EXPECT_EQ(kept->front().results[0].program, "fma");
  EXPECT_EQ(complaints("kernels_run", Json::parse(run({"run", "--json"}).out)), "");
  EXPECT_THAT(run({"list"}).err, HasSubstr("warpmeter: fma does not say what it is"));
}

TEST_F(KernelsTest, AFolderOrAPipeInPlaceOfTheResultsIsOneLine) {
  theSet();
  const auto complains = [&] {
    const auto r = run({"run"});
    EXPECT_EQ(r.exitCode(), 2);
    EXPECT_EQ(r.err, "warpmeter: " + file().string() + " is not a file that Warpmeter wrote; remove it\n");
    EXPECT_EQ(program_.text("calls"), "") << "before anything ran";
  };
  std::filesystem::create_directories(file());
  complains();
  std::filesystem::remove(file());
  ASSERT_EQ(mkfifo(file().c_str(), 0600), 0);
  complains();
}

TEST_F(KernelsTest, NumbersThatCannotHaveBeenMeasuredAreNoAnswer) {
  for (const char* values :
       {"\"launchNs\":-1e5,\"bandwidthBytesPerSec\":1e12", "\"launchNs\":1e5,\"flopPerSec\":1e300",
        "\"launchNs\":0", "\"launchNs\":18446744073709551615"}) {
    kernel("fma", variant("fp32", "fp32"), "", answer(values));
    const auto r = run({"run"});
    EXPECT_EQ(r.exitCode(), 1) << values;
    EXPECT_THAT(lineWith(r.out, "fma"), HasSubstr("FAILED: an answer that cannot be understood")) << values;
  }
  kernel("fma", variant("fp32", "fp32"), "", answer("\"warmupNs\":1e300"));
  EXPECT_THAT(lineWith(run({"run"}).out, "fma"), HasSubstr("fp32        —     —  fp32"));
}

TEST_F(KernelsTest, TuneTakesAnyDescriptionOfABlockSize) {
  for (const char* range : {R"("min":"a","max":[])", R"("min":9223372036854775807,"max":9223372036854775807)",
                            R"("min":1e300,"max":-1e300)"}) {
    kernel("saxpy", variant("fp32", "dram"),
           std::string(R"({"name":"--block","default":"x","help":"h",)") + range + "}", "exit 2\n");
    EXPECT_EQ(run({"tune", "saxpy"}).exitCode(), 2) << range;
  }
}

TEST_F(KernelsTest, RunAsJsonFollowsItsSchema) {
  theSet();
  const auto r = run({"run", "--json"});
  const auto json = Json::parse(r.out);
  EXPECT_EQ(complaints("kernels_run", json), "");
  ASSERT_EQ(json["results"].size(), 5u);
  EXPECT_EQ(json["results"][0]["status"], "measured");
  EXPECT_NEAR(json["results"][0]["sharePct"].get<double>(), 99, 0.01);
  EXPECT_EQ(json["results"][1]["status"], "failed");
  EXPECT_TRUE(json["results"][1]["timeNs"].is_null());
  EXPECT_EQ(json["results"][3]["status"], "not_available");
}

TEST_F(KernelsTest, WhatDoesNotFitIntoTheTimeIsSaid) {
  kernel("aaa", R"({"name":"slow","lesson":"w","limiter":null,"bound":null})", "", "sleep 30\n");
  kernel("bbb", R"({"name":"last","lesson":"w","limiter":null,"bound":null})", "", answer("\"launchNs\":1"));
  kernel("yyy", variant("first", "dram") + "," + variant("second", "dram"), "", answer("\"launchNs\":1e5"));
  kernel("zzz", variant("first", "dram"), "", answer("\"launchNs\":1e5,\"bandwidthBytesPerSec\":4e12"));
  const auto r = run({"run", "--limit", "2"});
  EXPECT_EQ(r.exitCode(), 1);
  EXPECT_THAT(lineWith(r.out, "zzz"), HasSubstr("93.9 % of DRAM")) << "what a comparison can use comes first";
  EXPECT_THAT(lineWith(r.out, "slow"), HasSubstr("FAILED: did not end within"));
  EXPECT_THAT(lineWith(r.out, "last"), HasSubstr("not run: did not fit into 2 s"));
  EXPECT_THAT(r.out, HasSubstr("1 did not fit into 2 s (--limit gives more)"));
  const auto calls = program_.text("calls");
  EXPECT_LT(calls.find("zzz"), calls.find("--variant second")) << "every program's first before any second";
  EXPECT_LT(calls.find("--variant second"), calls.find("aaa"));
}

TEST_F(KernelsTest, WithoutAGpuItIsImpossibleAndNothingIsWritten) {
  theSet();
  gpu_ = false;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run"}, {"tune", "blocks"}}) {
    kernel("blocks", variant("v", "dram"), option("--block", 64, 96, 64), "");
    const auto r = run(words);
    EXPECT_EQ(r.exitCode(), 4);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_THAT(r.err, HasSubstr("no GPU to run on"));
  }
  EXPECT_FALSE(std::filesystem::exists(file()));
  EXPECT_FALSE(program_.exists("calls"));
}

TEST_F(KernelsTest, WrongInputIsOneLineAndExitTwo) {
  theSet();
  for (const std::vector<std::string>& words : {std::vector<std::string>{"run", "--variant", "x"},
                                                {"run", "--record"},
                                                {"run", "--gpu", "1"},
                                                {"run", "--", "--n"},
                                                {"run", "copy", "--limit", "5"},
                                                {"run", "--limit", "0"},
                                                {"tune"},
                                                {"tune", "nothing"},
                                                {"tune", "copy"},
                                                {"compare"},
                                                {"compare", "missing.wm.sqlite"},
                                                {"nothing"}}) {
    const auto r = run(words);
    EXPECT_EQ(r.exitCode(), 2) << words.back();
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
  EXPECT_THAT(run({"tune", "copy"}).err, HasSubstr("copy has no option --block"));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(KernelsTest, AKeptFileOfANewerVersionIsNotOverwritten) {
  theSet();
  std::filesystem::create_directories(file().parent_path());
  const std::string newer = "{\"schema\":\"warpmeter.references\",\"version\":2,\"gpus\":[]}";
  std::ofstream(file()) << newer;
  const auto r = run({"run"});
  EXPECT_EQ(r.exitCode(), 2);
  EXPECT_THAT(r.err, HasSubstr(file().string()));
  EXPECT_EQ(testing::contentOf(file()), newer);
  EXPECT_FALSE(program_.exists("calls")) << "said before a minute is spent";
}

TEST_F(KernelsTest, TuneShowsEveryBlockSizeWithItsOccupancy) {
  kernel("saxpy", variant("element", "dram"),
         option("--block", 1, 1024, 256) + "," + option("--seconds", 0, 9, 1),
         "while [ $1 != --block ]; do shift; done\n"
         "[ $2 -gt 160 ] && { echo \"saxpy: --block $2 is not allowed, there is: 32 to 160\" >&2; exit 2; }\n"
         "[ $2 = 96 ] && { echo 'saxpy: crashed' >&2; exit 1; }\n"
         "echo '{\"values\":{\"launchNs\":'$((200000 - $2 * 100 + ($2 > 128) * 50000))',"
         "\"bandwidthBytesPerSec\":3e12}}'\n");
  const auto r = run({"tune", "saxpy"});
  EXPECT_EQ(r.exitCode(), 1) << "block 96 failed; " << r.err;
  EXPECT_THAT(r.out, HasSubstr("saxpy, element, on GPU 0 NVIDIA H200"));
  EXPECT_THAT(lineWith(r.out, " 128 "),
              HasSubstr("187 us  3.00 TB/s      100 %  -               16  <- fastest"))
      << "registers and limiter of the recording";
  EXPECT_THAT(lineWith(r.out, " 160 "), Not(HasSubstr("fastest")));
  EXPECT_THAT(lineWith(r.out, " 96 "), HasSubstr("FAILED: exit code 1: saxpy: crashed"));
  EXPECT_THAT(lineWith(r.out, "not allowed"), HasSubstr("192, 224, 256"));
  EXPECT_THAT(r.out, HasSubstr("saxpy: --block 192 is not allowed"));
  const auto json = Json::parse(run({"tune", "saxpy", "--json"}).out);
  EXPECT_EQ(complaints("kernels_tune", json), "");
  ASSERT_EQ(json["blocks"].size(), 32u);
  EXPECT_EQ(json["blocks"][3]["fastest"], true);
  EXPECT_EQ(json["blocks"][3]["theoreticalOccupancyPct"], 100);
  EXPECT_EQ(json["blocks"][31]["status"], "not_allowed");
  EXPECT_TRUE(json["blocks"][31]["theoreticalOccupancyPct"].is_null());
}

TEST_F(KernelsTest, TuneSaysWhereOccupancyIsNotKnown) {
  kernel("saxpy", variant("element", "dram"), option("--block", 32, 32, 32), answer("\"launchNs\":1e5"));
  std::filesystem::remove(program_.tree() / "libexec/warpmeter/warpmeter-recorder");
  const auto r = run({"tune", "saxpy"});
  EXPECT_EQ(r.exitCode(), 0) << r.err;
  EXPECT_THAT(lineWith(r.out, " 32 "), HasSubstr("100 us"));
  EXPECT_THAT(r.out, HasSubstr("\n occupancy —: its launches could not be recorded\n"));
}

TEST_F(KernelsTest, CompareHoldsKernelsAgainstOwnResultsThenShippedOnes) {
  const auto written =
      support::writeProfile(program_.work() / "t.wm.sqlite", support::dramBoundProfile("my_kernel", kUuid));
  ASSERT_TRUE(written) << written.error().message;
  auto r = run({"compare", "t.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("no results of NVIDIA H200; `warpmeter kernels run` on it measures them"));

  const auto shipped = program_.tree() / "share/warpmeter/references";
  std::filesystem::create_directories(shipped);
  std::ofstream(shipped / "h200.json")
      << R"({"schema":"warpmeter.references","version":1,"gpus":[{"uuid":"","name":"NVIDIA H200",)"
      << R"("measured":"2026-12-01T00:00:00Z","results":[{"program":"copy","variant":"good","bound":"dram",)"
      << R"("precision":"fp32","access":"mixed","launchNs":1e5,"bytesPerSec":4.26e12,"flopPerSec":null,)"
      << R"("ownCeilingPerSec":null}]}]})";
  r = run({"compare", "t.wm.sqlite"});
  EXPECT_THAT(r.out, HasSubstr("results shipped for H200, measured on 2026-12-01"));
  EXPECT_THAT(lineWith(r.out, "my_kernel"),
              HasSubstr("DRAM 94 %, mixed     94 %  copy good: 100 % of DRAM 4.26 TB/s"));
  EXPECT_THAT(program_.run({"report", "t.wm.sqlite"}).out, HasSubstr("copy good: 100 % of DRAM 4.26 TB/s"));
  EXPECT_THAT(program_.run({"report", "t.wm.sqlite", "--kernel", "my_kernel"}).out,
              HasSubstr("reference copy good: 100 % of DRAM 4.26 TB/s; this kernel reaches 94 % of that"));

  kernel("own", variant("best", "dram"), "", answer("\"launchNs\":1e5,\"bandwidthBytesPerSec\":4.2e12"));
  EXPECT_EQ(run({"run"}).exitCode(), 0);
  r = run({"compare", "t.wm.sqlite", "--json"});
  const auto json = Json::parse(r.out);
  EXPECT_EQ(complaints("kernels_compare", json), "");
  ASSERT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["reference"]["program"], "own");
  EXPECT_NEAR(json["kernels"][0]["reference"]["reachedPct"].get<double>(), 100 * 4.0 / 4.2, 0.1);
  EXPECT_EQ(json["withoutBound"], 0);
  const auto report = Json::parse(program_.run({"report", "t.wm.sqlite", "--json"}).out);
  EXPECT_EQ(complaints("report", report), "");
  EXPECT_EQ(report["kernels"][0]["distinct"][0]["reference"]["program"], "copy") << "no data folder: shipped";
}

TEST_F(KernelsTest, NoBoundNoComparison) {
  const auto written = support::writeProfile(program_.work() / "t.wm.sqlite",
                                             testing::contentOf(testing::golden("train.dsl")));
  ASSERT_TRUE(written);
  const auto r = run({"compare", "t.wm.sqlite"});
  EXPECT_EQ(r.exitCode(), 0);
  EXPECT_THAT(r.out, HasSubstr("no kernel of this file has a bound"));
  EXPECT_THAT(r.out, HasSubstr("no bound, no comparison: "));
  EXPECT_THAT(program_.run({"report", "t.wm.sqlite"}).out, Not(HasSubstr("REFERENCES")));
}

}  // namespace
}  // namespace warpmeter::cli
