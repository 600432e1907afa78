// SPDX-License-Identifier: Apache-2.0
// warpmeter calibrate beside a program that answers in place of the one that measures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/ceilings_file.h"
#include "golden.h"
#include "program.h"
#include "schema_check.h"

namespace warpmeter::cli {
namespace {

using ::testing::HasSubstr;

class CalibrateTest : public ::testing::Test {
 protected:
  // A shell script in place of warpmeter-calibrate; $1 is the GPU.
  void measurer(const std::string& script) {
    const auto path = program_.tree() / "libexec/warpmeter/warpmeter-calibrate";
    std::ofstream(path) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  static std::string answer(const char* uuid, const char* dram) {
    return std::string("echo '{\"gpu\":'$1',\"uuid\":\"") + uuid +
           "\",\"name\":\"NVIDIA H200\",\"copyBytes\":1073741824,\"dramBytesPerSec\":" + dram +
           ",\"fp32PerSec\":59.8e12,\"fp64PerSec\":33.1e12,\"tensorBf16PerSec\":null}'\n";
  }
  Captured run(std::vector<std::string> words) {
    words.insert(words.begin(), "calibrate");
    return program_.run(words, {"XDG_DATA_HOME=" + data().string()});
  }
  std::filesystem::path data() const { return program_.work() / "data"; }
  std::filesystem::path file() const { return data() / "warpmeter/ceilings.json"; }

  testing::Program program_;
};

TEST_F(CalibrateTest, MeasuresEveryGpuAndKeepsItByUuid) {
  measurer("[ -z \"$1\" ] && { echo '{\"gpus\":2}'; exit 0; }\n" + answer("uuid-'$1'", "4.2e12"));
  const auto r = run({"--json"});
  EXPECT_EQ(r.exitCode(), 0) << r.err;
  const auto json = nlohmann::json::parse(r.out);
  testing::SchemaCheck check(
      nlohmann::json::parse(testing::contentOf(WARPMETER_SOURCE_DIR "/docs/calibrate.schema.json")));
  EXPECT_EQ(check.complaints(json), "");
  ASSERT_EQ(json["gpus"].size(), 2u);
  EXPECT_TRUE(json["gpus"][0]["tensorBf16PerSec"].is_null()) << "not measured is not 0";

  // Measured again: replaced, the other one stays.
  measurer(answer("uuid-'$1'", "4.3e12"));
  EXPECT_EQ(run({"--gpu", "1"}).exitCode(), 0);
  auto kept = readCalibrations(file());
  ASSERT_TRUE(kept) << kept.error().message;
  ASSERT_EQ(kept->size(), 2u);
  for (const auto& c : *kept) EXPECT_DOUBLE_EQ(*c.dramBytesPerSec, c.gpu == 1 ? 4.3e12 : 4.2e12);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file().parent_path()), {}), 1)
      << "no half-written file";
}

TEST_F(CalibrateTest, SaysInOneLineWhatEachGpuCanReach) {
  measurer(answer("a", "4.21e12"));
  const auto r = run({"--gpu", "0"});
  EXPECT_EQ(r.exitCode(), 0);
  EXPECT_THAT(r.out, HasSubstr("GPU 0  NVIDIA H200: DRAM 4.21 TB/s, FP32 59.8, FP64 33.1 TFLOP/s\n"));
  EXPECT_THAT(r.out, HasSubstr(file().string()));
}

TEST_F(CalibrateTest, WithoutAGpuItIsImpossibleAndNothingIsWritten) {
  measurer("echo 'no GPU to measure: no CUDA-capable device is detected' >&2; exit 4\n");
  const auto r = run({});
  EXPECT_EQ(r.exitCode(), 4);
  EXPECT_EQ(r.err, "warpmeter: no GPU to measure: no CUDA-capable device is detected\n");
  EXPECT_EQ(r.out, "");
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(CalibrateTest, ABuildWithoutCudaSaysSo) {
  const auto r = run({});
  EXPECT_EQ(r.exitCode(), 4);
  EXPECT_THAT(r.err, HasSubstr("without the CUDA toolkit"));
}

TEST_F(CalibrateTest, FailuresAndNonsenseAreOneLineAndExitTwo) {
  for (const char* script : {"echo 'GPU 0 could not be measured: out of memory' >&2; exit 1\n",
                             "echo 'not json'\n", "echo '{\"uuid\":\"a\"}'\n", "kill -9 $$\n"}) {
    SCOPED_TRACE(script);
    measurer(script);
    const auto r = run({"--gpu", "0"});
    EXPECT_EQ(r.exitCode(), 2);
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_FALSE(std::filesystem::exists(file()));
  }
  const auto r = run({"--gpu", "-1"});
  EXPECT_EQ(r.exitCode(), 2);
}

TEST_F(CalibrateTest, AFileOfANewerVersionIsNotOverwritten) {
  measurer(answer("a", "4e12"));
  std::filesystem::create_directories(file().parent_path());
  const std::string newer = "{\"schema\":\"warpmeter.ceilings\",\"version\":2,\"gpus\":[]}";
  std::ofstream(file()) << newer;
  const auto r = run({"--gpu", "0"});
  EXPECT_EQ(r.exitCode(), 2);
  EXPECT_THAT(r.err, HasSubstr(file().string()));
  EXPECT_EQ(testing::contentOf(file()), newer);
}

}  // namespace
}  // namespace warpmeter::cli
