// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/ceilings.h"
#include "common/matrix_check.h"
#include "common/optional_library.h"
#include "common/program.h"
#include "common/random.h"
#include "common/report.h"

namespace warpmeter::kernels {
namespace {

using nlohmann::json;

const Program kProgram{"tool",
                       "a \"lesson\"",
                       {"k"},
                       {{"one", "", "", ""}, {"two", "", "grid", "l1"}},
                       {{"n", 5, 1, 100, "items"}}};

Arguments parse(std::vector<const char*> words) {
  words.insert(words.begin(), "tool");
  return Arguments::parse(kProgram, static_cast<int>(words.size()), words.data());
}

std::string refusal(std::vector<const char*> words) {
  try {
    parse(std::move(words));
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exitCode, 2);
    return failure.message;
  }
  return "accepted";
}

json written(const LaunchLog& log) {
  JsonWriter writer;
  log.write(writer);
  return json::parse(writer.text());
}

TEST(KernelJson, EscapesWhatJsonForbidsInStrings) {
  JsonWriter writer;
  writer.beginObject();
  writer.member("text", "quote \" backslash \\ newline \n bell \x07");
  writer.member("number", 0.1);
  writer.member("none", std::numeric_limits<double>::infinity());
  writer.endObject();
  const json parsed = json::parse(writer.text());
  EXPECT_EQ(parsed["text"], "quote \" backslash \\ newline \n bell \x07");
  EXPECT_EQ(parsed["number"], 0.1);
  EXPECT_TRUE(parsed["none"].is_null());
}

TEST(KernelLaunchLog, FoldsEqualNeighboursOnly) {
  LaunchLog log;
  log.add({"a", 3, 32});
  log.add({"a", 3, 32}, 4);
  log.add({"a", 3, 32, 1});
  log.add({"a", 3, 32});
  const json launches = written(log);
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(log.total(), 7);
  EXPECT_EQ(launches[0]["repeat"], 5);
  EXPECT_EQ(launches[1]["stream"], 1);
  EXPECT_FALSE(launches[2].contains("repeat"));
}

TEST(KernelLaunchLog, EveryFieldKeepsLaunchesApart) {
  LaunchLog log;
  log.add({"a", dim3(1, 2, 3), dim3(4, 5, 6), 0, 0, false});
  log.add({"b", dim3(1, 2, 3), dim3(4, 5, 6), 0, 0, false});
  log.add({"b", dim3(1, 2, 4), dim3(4, 5, 6), 0, 0, false});
  log.add({"b", dim3(1, 2, 4), dim3(4, 5, 7), 0, 0, false});
  log.add({"b", dim3(1, 2, 4), dim3(4, 5, 7), 0, 8, false});
  log.add({"b", dim3(1, 2, 4), dim3(4, 5, 7), 0, 8, true});
  const json launches = written(log);
  ASSERT_EQ(launches.size(), 6u);
  EXPECT_EQ(launches[0]["grid"], json({1, 2, 3}));
  EXPECT_EQ(launches[0]["block"], json({4, 5, 6}));
  EXPECT_EQ(launches[5]["dynamicShared"], 8);
  EXPECT_EQ(launches[5]["graph"], true);
}

TEST(KernelLaunchLog, WritesSequencesOnceWithTheirRepetitions) {
  LaunchLog log;
  log.addSequence({{"a", 1, 1}, {"b", 2, 2}}, 1000);
  log.addSequence({{"c", 1, 1}}, 3);
  const json launches = written(log);
  EXPECT_EQ(log.total(), 2003);
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0]["repeat"], 1000);
  EXPECT_EQ(launches[0]["sequence"][1]["kernel"], "b");
  EXPECT_EQ(launches[1]["kernel"], "c");
  EXPECT_EQ(launches[1]["repeat"], 3);
}

TEST(KernelReport, OneDocumentHoldsWhatWasAskedFor) {
  Report report;
  report.device = "GPU";
  report.value("launchNs", "one launch", 12.5, Unit::nanoseconds);
  report.launches.add({"a", 1, 1}, 2);
  report.copy({"h2d", "pageable", 4}, 2);
  report.copy({"h2d", "pageable", 4});
  report.events({"a", 1, 4, 100.0});
  const json result = json::parse(report.json(kProgram, parse({"--json"}), Nvtx(false)));
  EXPECT_EQ(result["schema"], "warpmeter.kernel_run");
  EXPECT_EQ(result["version"], 1);
  EXPECT_EQ(result["launchCount"], 2);
  EXPECT_EQ(result["values"]["launchNs"], 12.5);
  EXPECT_EQ(result["nvtx"]["total"], 0);
  EXPECT_FALSE(result.contains("launches"));

  const json lists = json::parse(
      report.json(kProgram, parse({"--print-launches", "json", "--print-events=json"}), Nvtx(false)));
  EXPECT_EQ(lists["schema"], "warpmeter.kernel_launches");
  EXPECT_EQ(lists["copies"][0]["repeat"], 3);
  EXPECT_EQ(lists["events"][0]["meanNs"], 25.0);
  EXPECT_FALSE(lists.contains("values"));
}

TEST(KernelNvtx, CountsWhatItMarked) {
  Nvtx nvtx(true);
  nvtx.pushPlain("whole");
  const std::uint64_t id = nvtx.start("run");
  for (int i = 0; i < 3; ++i) {
    Phase phase(nvtx, "step");
  }
  nvtx.mark("done");
  nvtx.end(id);
  nvtx.popPlain();
  JsonWriter writer;
  nvtx.write(writer);
  const json counts = json::parse(writer.text());
  EXPECT_EQ(counts["total"], 6);
  EXPECT_EQ(counts["registeredStrings"], 3);
  ASSERT_EQ(counts["ranges"].size(), 4u);
  EXPECT_EQ(counts["ranges"][0], json::parse(R"({"name":"whole","kind":"pushPop","domain":null,"count":1})"));
  EXPECT_EQ(counts["ranges"][2]["count"], 3);
  EXPECT_EQ(counts["ranges"][3]["kind"], "mark");
}

TEST(KernelArguments, TakeValuesInOneWordOrTwo) {
  EXPECT_EQ(parse({})["n"], 5);
  EXPECT_EQ(parse({"--n", "7"})["n"], 7);
  EXPECT_EQ(parse({"--n=100", "--seed=3"})["n"], 100);
  EXPECT_EQ(parse({"--seed=3"})["seed"], 3);
  EXPECT_EQ(parse({}).variant(), "one");
  EXPECT_EQ(parse({"--variant", "two"}).variant(), "two");
  EXPECT_FALSE(parse({"--nvtx", "off"}).nvtx());
}

TEST(KernelArguments, RefuseInOneLineThatNamesTheOption) {
  for (const char* bad : {"0", "-1", "101", "x", "", "5x", " 5", "1e3", "99999999999999999999"}) {
    EXPECT_EQ(refusal({"--n", bad}), std::string("--n '") + bad +
                                         "' is not a whole number from 1 to 100 (--help lists the options)");
  }
  EXPECT_NE(refusal({"--n"}).find("--n needs a value"), std::string::npos);
  EXPECT_NE(refusal({"--variant", "three"}).find("there is: one, two"), std::string::npos);
  EXPECT_NE(refusal({"--print-launches", "text"}).find("there is: json"), std::string::npos);
  EXPECT_NE(refusal({"--unknown"}).find("unknown option '--unknown'"), std::string::npos);
  EXPECT_NE(refusal({"stray"}).find("unexpected argument 'stray'"), std::string::npos);
  EXPECT_NE(refusal({"--json=yes"}).find("unknown option"), std::string::npos);
}

TEST(KernelHostMemory, RefusesMoreThanThereIs) {
  try {
    requireHostMemory(std::int64_t{1} << 60, "--n 7");
    FAIL() << "an exbibyte was granted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exitCode, 2);
    EXPECT_EQ(failure.message.find("--n 7 is too large: it needs 1153 PB of host memory, "), 0u)
        << failure.message;
  }
  requireHostMemory(1, "--n");
}

TEST(KernelRandom, IsTheSameEverywhereAndWithinRange) {
  Random random(1);
  EXPECT_EQ(random.next(), 0x910a2dec89025cc1u);  // first value of SplitMix64 with seed 1
  for (const float value : Random(7).vector(10000)) {
    ASSERT_GE(value, -1.0f);
    ASSERT_LT(value, 1.0f);
  }
  EXPECT_NE(Random(1).vector(4), Random(2).vector(4));
}

TEST(KernelRandom, WholeNumbersReachBothLimitsAndNoFurther) {
  std::vector<int> count(7);
  for (const float value : Random(1).wholeNumbers(70000, 3)) {
    ++count.at(static_cast<std::size_t>(static_cast<int>(value) + 3));
    ASSERT_EQ(value, std::trunc(value));
  }
  for (const int times : count) {
    EXPECT_NEAR(times, 10000, 500);  // 5 sigma
  }
}

TEST(KernelRandom, BitsFillStructuresOfAnySize) {
  const std::vector<std::uint32_t> odd = Random(1).bits<std::uint32_t>(3);
  Random random(1);
  const std::uint64_t first = random.next();
  const std::uint64_t second = random.next();
  EXPECT_EQ(odd, (std::vector<std::uint32_t>{static_cast<std::uint32_t>(first),
                                             static_cast<std::uint32_t>(first >> 32),
                                             static_cast<std::uint32_t>(second)}));
}

TEST(KernelCeilings, OfAnH200AreThoseOfItsDataSheet) {
  const Ceilings h200 = ceilingsOf({9, 0, 132, 1.98e9, 3.134e9, 6144});
  EXPECT_NEAR(h200.dramBytesPerSec, 4.8e12, 0.02e12);
  EXPECT_NEAR(h200.fp32PerSec, 67e12, 0.2e12);
  EXPECT_NEAR(h200.fp64PerSec, 33.5e12, 0.1e12);
  // The data sheet's 989 and 495 TFLOP/s are at 1.83 GHz.
  EXPECT_NEAR(h200.bf16PerSec, 989.4e12 * 1.98 / 1.83, 1e12);
  EXPECT_EQ(h200.tf32PerSec, h200.bf16PerSec / 2);
}

TEST(KernelCeilings, OfUnknownChipsAreNotGuessed) {
  const Ceilings unknown = ceilingsOf({99, 0, 100, 2e9, 1e9, 1024});
  EXPECT_EQ(unknown.dramBytesPerSec, 256e9);
  EXPECT_EQ(unknown.fp32PerSec, 0);
  EXPECT_EQ(unknown.fp64PerSec, 0);
  EXPECT_EQ(unknown.bf16PerSec, 0);
}

TEST(KernelMatrixCheck, FindsOneWrongElementInEitherOrderOfB) {
  const std::vector<float> a{1, 2, 3, 4};
  const std::vector<float> b{5, 6, 7, 8};
  Random random(1);
  EXPECT_EQ(checkProduct(2, a, b, Stored::byRows, {19, 22, 43, 50}, random, 0), 4);
  EXPECT_EQ(checkProduct(2, a, b, Stored::byColumns, {17, 23, 39, 53}, random, 0), 4);
  try {
    checkProduct(2, a, b, Stored::byRows, {19, 22, 44, 50}, random, 1e-3);
    FAIL() << "44 was taken for 43";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exitCode, 1);
    EXPECT_EQ(failure.message, "C[1][0] is 44.000000, not 43.000000");
  }
}

TEST(KernelReport, PercentHasItsSign) {
  Report report;
  report.value("sharePct", "share of it", 87.654, Unit::percent);
  EXPECT_NE(report.text(kProgram, parse({})).find("share of it             87.7 %"), std::string::npos)
      << report.text(kProgram, parse({}));
}

TEST(KernelOptionalLibrary, GivesFunctionsOrSaysWhatItLookedFor) {
  const OptionalLibrary math("maths", {"libno_such_thing.so.1", "libm.so.6"});
  ASSERT_TRUE(math);
  double (*cosine)(double) = nullptr;
  math.load(cosine, "cos");
  EXPECT_EQ(cosine(0.0), 1.0);
  EXPECT_THROW(math.load(cosine, "no_such_function"), Failure);

  const OptionalLibrary none("nothing", {"libno_such_thing.so.2", "libno_such_thing.so.1"});
  EXPECT_FALSE(none);
  kernels::Run run{kProgram, parse({"--json"}), Nvtx(false), {}};
  none.reportAbsence(run);
  const std::string said =
      "nothing: not found (libno_such_thing.so.2, libno_such_thing.so.1), nothing measured";
  EXPECT_NE(run.report.text(kProgram, run.arguments).find(said), std::string::npos);
  EXPECT_EQ(json::parse(run.report.json(kProgram, run.arguments, run.nvtx))["notices"], json::array({said}));
}

}  // namespace
}  // namespace warpmeter::kernels
