// SPDX-License-Identifier: Apache-2.0
// What the report says about why warps wait; the arithmetic is tested with the analyzer.
#include "cli/report_stalls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "golden.h"
#include "schema_check.h"
#include "support/view_of.h"

namespace warpmeter::cli {
namespace {

using support::must;
using ::testing::HasSubstr;
using ::testing::Not;

ReportData reportOf(const std::string& text) {
  const support::TempDir folder;
  const auto file = folder.path() / "train.wm.sqlite";
  must(support::writeProfile(file, text));
  auto data = must(gatherReport(file, false));
  data.file = file.filename();
  return data;
}
std::string pcRun() { return testing::contentOf(testing::golden("pc.dsl")); }

void expectLinesFit(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columnsOf(line), 110u) << line;
}

ReportOptions only(const std::string& kernel) {
  ReportOptions options;
  options.kernel = kernel;
  return options;
}

TEST(ReportStalls, GoldenTexts) {
  const auto data = reportOf(pcRun());
  const auto text = reportText(data, {}, Style{});
  EXPECT_EQ(text, testing::expected("pc.txt", text));
  expectLinesFit(text);
  const auto detail = reportText(data, only("gemm"), Style{});
  EXPECT_EQ(detail, testing::expected("pc_kernel.txt", detail));
  expectLinesFit(detail);
  const auto norm = reportText(data, only("layer_norm"), Style{});
  EXPECT_THAT(norm, HasSubstr("compile with -lineinfo")) << norm;
  EXPECT_THAT(norm, HasSubstr("+0x10"));
}

TEST(ReportStalls, TooFewSamplesAreSaidNotShown) {
  const auto data = reportOf(pcRun());
  EXPECT_THAT(
      reportText(data, only("tiny"), Style{}),
      HasSubstr("why its warps wait: —, 12 PC samples of the 400 that shares need (too_few_samples)"));
  EXPECT_THAT(reportText(data, {}, Style{}), HasSubstr(" tiny: —, 12 PC samples of the 400"));
}

TEST(ReportStalls, WithoutPcSamplesTheReportIsQuietAndTheDetailsSayHow) {
  auto text = pcRun();
  text = text.substr(0, text.find("pcrun 4711"));
  text.replace(text.find("counters=pc"), 11, "counters=not_requested");
  const auto data = reportOf(text);
  EXPECT_THAT(reportText(data, {}, Style{}), Not(HasSubstr("WARPS WAIT")));
  EXPECT_THAT(reportText(data, {}, Style{}), Not(HasSubstr("counters pc")));
  EXPECT_THAT(reportText(data, only("gemm"), Style{}),
              HasSubstr("  why its warps wait: —, it was not asked for; record with --counters pc\n"));
  EXPECT_TRUE(reportJson(data, {})["kernels"][0]["stalls"].is_null());
  text.replace(text.find("counters=not_requested"), 22, "counters=no_permission");
  EXPECT_THAT(reportText(reportOf(text), only("gemm"), Style{}),
              HasSubstr("why its warps wait: —, the counters are not permitted for this user\n"));
}

TEST(ReportStalls, JsonFollowsItsSchema) {
  const auto json = nlohmann::json::parse(printed(reportJson(reportOf(pcRun()), {})));
  testing::SchemaCheck check(
      nlohmann::json::parse(testing::contentOf(WARPMETER_SOURCE_DIR "/docs/report.schema.json")));
  EXPECT_EQ(check.complaints(json), "");
  EXPECT_EQ(
      json["pcSamples"],
      nlohmann::json::parse(
          R"({"any":true,"reason":null,"samples":10456,"elsewhere":44,"dropped":70,"otherKernels":50,"periodCycles":32768,"measuredFunctions":2})"));
  const auto& gemm = json["kernels"][0]["stalls"];
  EXPECT_EQ(gemm["samples"], 10'000);
  EXPECT_EQ(gemm["reasons"][0]["id"], "long_scoreboard");
  EXPECT_EQ(gemm["reasons"][0]["noIssueSamples"], 5700);
  EXPECT_EQ(gemm["reasons"][0]["sharePct"]["value"], 61.0);
  EXPECT_EQ(gemm["reasons"][0]["sharePct"]["provenance"], "pc_sampled");
  EXPECT_TRUE(gemm["reasons"][4]["waitsFor"].is_null()) << "tmem_wait: not known";
  EXPECT_EQ(gemm["places"][0]["line"], 17);
  EXPECT_EQ(gemm["places"][0]["file"], "/home/someone/src/gemm.cu");
  EXPECT_TRUE(gemm["places"][0]["pcOffset"].is_null());
  EXPECT_EQ(gemm["allPlaces"], 4);
  const auto& tiny = json["kernels"][2]["stalls"];
  EXPECT_EQ(tiny["reason"], "too_few_samples");
  EXPECT_TRUE(tiny["reasons"][0]["sharePct"]["value"].is_null());
}

TEST(ReportStalls, NamesFromTheFileCannotReachTheTerminal) {
  auto text = pcRun();
  text += "pc 4711 _Z4gemmv 0 \"\x1b[31mred\" 9000 file=\"/a/\x1b]0;title\x07.cu\" line=1\n";
  const auto data = reportOf(text);
  for (const auto& out : {reportText(data, {}, Style{}), reportText(data, only("gemm"), Style{})}) {
    EXPECT_EQ(out.find('\x1b'), std::string::npos);
    EXPECT_THAT(out, HasSubstr("\\x1b[31mred"));
  }
}

}  // namespace
}  // namespace warpmeter::cli
