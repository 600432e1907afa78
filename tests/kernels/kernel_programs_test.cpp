// SPDX-License-Identifier: Apache-2.0
// The built programs, without a GPU: CUDA_VISIBLE_DEVICES hides the ones that this machine may have.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

using nlohmann::json;

struct Ended {
  int exitCode;
  std::string text;
};

// stream: "2>&1 >/dev/null" for stderr alone, "2>/dev/null" for stdout alone.
Ended run(const std::string& program, const std::string& arguments, const std::string& stream) {
  const std::string command =
      "CUDA_VISIBLE_DEVICES= '" WARPMETER_KERNEL_FOLDER "/" + program + "' " + arguments + " " + stream;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part;
  for (std::size_t size; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    text.append(part.data(), size);
  }
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

Ended standardOut(const std::string& program, const std::string& arguments) {
  return run(program, arguments, "2>/dev/null");
}
Ended standardError(const std::string& program, const std::string& arguments) {
  return run(program, arguments, "2>&1 >/dev/null");
}

void expectOneLine(const std::string& program, const Ended& ended, int exitCode) {
  EXPECT_EQ(ended.exitCode, exitCode) << ended.text;
  EXPECT_EQ(std::count(ended.text.begin(), ended.text.end(), '\n'), 1) << ended.text;
  EXPECT_EQ(ended.text.find(program + ": "), 0u) << ended.text;
}

class KernelProgram : public testing::TestWithParam<std::string> {};

TEST_P(KernelProgram, DescribesItselfInTheNamesOfTheProject) {
  const Ended ended = standardOut(GetParam(), "--describe --json");
  ASSERT_EQ(ended.exitCode, 0);
  const json about = json::parse(ended.text);
  EXPECT_EQ(about["schema"], "warpmeter.kernel");
  EXPECT_EQ(about["version"], 1);
  EXPECT_EQ(about["name"], GetParam());
  EXPECT_GT(about["lesson"].get<std::string>().size(), 20u);
  const std::set<std::string> limiters{"warps",    "registers", "shared_memory", "blocks",
                                       "barriers", "cluster",   "grid"};
  const std::set<std::string> bounds{"dram", "l2",     "l1",    "fp32",    "fp64",
                                     "int",  "tensor", "issue", "latency", "launch"};
  ASSERT_GE(about["variants"].size(), 2u);
  for (const json& variant : about["variants"]) {
    EXPECT_TRUE(variant["limiter"].is_null() || limiters.count(variant["limiter"])) << variant;
    EXPECT_TRUE(variant["bound"].is_null() || bounds.count(variant["bound"])) << variant;
  }
}

TEST_P(KernelProgram, DefaultsLieInTheirOwnRanges) {
  const json about = json::parse(standardOut(GetParam(), "--describe --json").text);
  for (const json& option : about["options"]) {
    EXPECT_GE(option["default"], option["min"]) << option;
    EXPECT_LE(option["default"], option["max"]) << option;
  }
}

TEST_P(KernelProgram, HelpNamesEveryVariantAndOption) {
  const Ended help = standardOut(GetParam(), "--help");
  ASSERT_EQ(help.exitCode, 0);
  const json about = json::parse(standardOut(GetParam(), "--describe --json").text);
  for (const char* list : {"variants", "options"}) {
    for (const json& entry : about[list]) {
      EXPECT_NE(help.text.find("  " + entry["name"].get<std::string>() + " "), std::string::npos) << entry;
    }
  }
}

TEST_P(KernelProgram, WithoutAGpuSaysSoInOneLine) {
  const Ended ended = standardError(GetParam(), "");
  expectOneLine(GetParam(), ended, 4);
  EXPECT_NE(ended.text.find("no GPU to run on"), std::string::npos) << ended.text;
  EXPECT_EQ(standardOut(GetParam(), "--json").text, "");
}

TEST_P(KernelProgram, RefusesWhatIsOutsideEachOptionsRange) {
  const json about = json::parse(standardOut(GetParam(), "--describe --json").text);
  for (const json& option : about["options"]) {
    const std::string name = option["name"];
    for (const std::string& value :
         {std::string("-1"), std::string("99999999999999999999"), std::string("many")}) {
      expectOneLine(GetParam(), standardError(GetParam(), name + " " + value), 2);
    }
    if (option["min"] > 0) {
      expectOneLine(GetParam(), standardError(GetParam(), name + "=0"), 2);
    }
  }
  expectOneLine(GetParam(), standardError(GetParam(), "--variant nothing"), 2);
}

// The names of all programs that the build knows, so that none is forgotten here.
std::vector<std::string> programNames() {
  std::istringstream names(WARPMETER_KERNEL_PROGRAMS);
  return {std::istream_iterator<std::string>(names), {}};
}

INSTANTIATE_TEST_SUITE_P(All, KernelProgram, testing::ValuesIn(programNames()),
                         [](const auto& program) { return program.param; });

TEST(KernelRefusal, TooLargeForTheHostsMemory) {
  for (const auto& [program, arguments] :
       {std::pair{"saxpy", "--n 1099511627776"}, std::pair{"driver_nvrtc", "--n 1099511627776"},
        std::pair{"copies", "--bytes 1099511627776"}, std::pair{"copy", "--bytes 1099511627776"},
        std::pair{"copy_strided", "--bytes 1099511627776"}, std::pair{"reduce", "--n 1099511627776"},
        std::pair{"small_grid", "--n 1099511627776"}}) {
    const Ended ended = standardError(program, arguments);
    expectOneLine(program, ended, 2);
    EXPECT_NE(ended.text.find("1099511627776 is too large"), std::string::npos) << ended.text;
  }
}

TEST(KernelRefusal, BlocksThatAKernelCannotHave) {
  const Ended tile = standardError("matmul", "--variant tiled --block 13");
  expectOneLine("matmul", tile, 2);
  EXPECT_NE(tile.text.find("8, 16 or 32"), std::string::npos) << tile.text;
  expectOneLine("saxpy", standardError("saxpy", "--block 1025"), 2);
}

TEST(KernelRefusal, SizesThatAKernelCannotTake) {
  struct Case {
    const char *program, *arguments, *why;
  };
  for (const auto& [program, arguments, why] : {
           Case{"copy", "--bytes 100", "--bytes 100 is not allowed, it must be a multiple of 16"},
           Case{"copy_strided", "--bytes 6", "it must be a multiple of 4 and more than 0"},
           Case{"copy_strided", "--variant misaligned --bytes 400 --offset 100",
                "a multiple of 4 and more than 400"},
           Case{"latency", "--bytes 1000", "--bytes 1000 is not allowed, it must be a multiple of 512"},
           Case{"latency", "--variant many-warps --block 48",
                "--block 48 is not allowed, it must be a multiple of 32"},
           Case{"reduce", "--block 96", "--block 96 is not allowed, it must be a power of two"},
           Case{"tensor", "--n 300", "--n 300 is not allowed, it must be a multiple of 256"},
           Case{"transpose", "--block 384", "--block 384 is not allowed, there is: 256, 512, 1024"},
           Case{"convolution", "--filters 6", "--filters 6 is not allowed, it must be a multiple of 4"},
           Case{"convolution", "--images 4096 --height 1024 --width 1024", "at most 2147483647 are allowed"},
           Case{"training", "--hidden 12", "--hidden 12 is not allowed, it must be a multiple of 8"},
       }) {
    const Ended ended = standardError(program, arguments);
    expectOneLine(program, ended, 2);
    EXPECT_NE(ended.text.find(why), std::string::npos) << ended.text;
  }
}

// Recordings of these are compared with what they say: the report must find the bound that they name. Not of
// a library's kernels, and not where half of a unit is busy.
TEST(KernelDescription, ProgramsMadeForCountersNameEveryBound) {
  for (const char* program : {"saxpy", "matmul", "copy", "copy_strided", "transpose", "fma", "tensor",
                              "reduce", "latency", "small_grid"}) {
    const json about = json::parse(standardOut(program, "--describe --json").text);
    for (const json& variant : about["variants"]) {
      const bool excepted =
          variant["name"] == "cublas" || (variant["name"] == "int32" && program == std::string("fma"));
      EXPECT_TRUE(excepted || (variant["bound"].is_string() && variant["limiter"].is_string()))
          << program << ": " << variant;
    }
    std::set<std::string> options;
    for (const json& option : about["options"]) {
      options.insert(option["name"]);
    }
    EXPECT_TRUE(options.count("--seconds") && options.count("--repetitions")) << program;
  }
}

TEST(KernelRefusal, GridsBeyondTheLargestOne) {
  // 4 G elements fit the memory of few machines; where they do not, that is what is said.
  const Ended ended = standardError("saxpy", "--n 4294967296 --block 1");
  expectOneLine("saxpy", ended, 2);
  EXPECT_TRUE(ended.text.find("a grid of 4294967296 blocks is not allowed") != std::string::npos ||
              ended.text.find("--n 4294967296 is too large") != std::string::npos)
      << ended.text;
}

}  // namespace
