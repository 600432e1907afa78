// SPDX-License-Identifier: Apache-2.0
// What the report says about counters, bound and ceilings: text, JSON, findings. The counters are made here;
// how they come out of samples is tested with the analyzer.
#include "cli/report_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <sstream>

#include "cli/occupancy_launches.h"
#include "golden.h"
#include "schema_check.h"
#include "support/view_of.h"
#include "warpmeter/analyzer/bound_findings.h"

namespace warpmeter::cli {
namespace {

using analyzer::KernelCounters;
using analyzer::Metric;
using analyzer::Reason;
using support::must;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Metric measured(double value, double half, std::int64_t samples = 812) {
  return {value, value - half, value + half, samples, analyzer::Provenance::sampledExclusive, std::nullopt};
}

KernelCounters quiet(std::uint32_t distinct, double occupancy) {
  KernelCounters c;
  c.distinct = distinct;
  c.occupancyPct = measured(occupancy, 0.1);
  c.smActivePct = measured(99, 0.5);
  c.dramReadBytes = measured(64e6, 1e5);
  c.dramWriteBytes = measured(32e6, 1e5);
  c.dramBytesPerSec = measured(0.4e12, 4e9);
  c.instructions = measured(1.5e6, 1e3);
  for (Metric* m : {&c.issuePct, &c.tensorPct, &c.fp32Pct, &c.fp64Pct, &c.intPct, &c.l2Pct, &c.l1Pct})
    *m = measured(8, 0.2);
  c.l2HitPct = measured(71, 1);
  c.l1HitPct = Metric::missing(Reason::notRecorded);
  c.pcieBytesPerSec = c.nvlinkBytesPerSec = Metric::missing(Reason::notRecorded);
  return c;
}

// train.dsl with counters: a matrix product, an elementwise kernel at DRAM, one that waits, grids too small,
// and short ones that nobody could sample.
ReportData trainWithCounters() {
  const support::TempDir folder;
  const auto file = folder.path() / "train.wm.sqlite";
  must(support::writeProfile(file, testing::contentOf(testing::golden("train.dsl"))));
  auto data = must(gatherReport(file, false));
  data.file = file.filename();
  auto& q = data.counters.quality;
  q = {};
  q.any = true;
  q.samples = 24'000;
  q.sampledNs = 48'000'000;
  q.runNs = 620'000'000;
  q.medianIntervalNs = 2000;
  const auto distinct = data.view.distinctKernels();
  data.counters.kernels.clear();
  for (std::uint32_t d = 0; d < distinct.size(); ++d) {
    const auto name = data.view.name(data.view.functions()[distinct[d].function].shortName);
    KernelCounters c = quiet(d, 10);
    if (name.starts_with("gemm")) {
      c = quiet(d, 14.6);
      c.tensorPct = measured(72, 1);
    } else if (name.starts_with("gelu")) {
      c = quiet(d, 85.7);
      c.dramBytesPerSec = measured(3.7e12, 0.02e12);
    } else if (name.find("layer_norm") != std::string_view::npos) {
      c = quiet(d, 27);
      c.dramBytesPerSec = measured(1.2e12, 0.1e12);
    } else if (name.starts_with("reduce")) {
      c = quiet(d, 12.3);
      c.smActivePct = measured(48, 1);
      c.issuePct = measured(75, 2);
    } else {
      for (Metric* m : {&c.occupancyPct, &c.smActivePct, &c.dramReadBytes, &c.dramWriteBytes,
                        &c.dramBytesPerSec, &c.instructions, &c.issuePct, &c.tensorPct, &c.fp32Pct,
                        &c.fp64Pct, &c.intPct, &c.l2Pct, &c.l1Pct})
        *m = Metric::missing(Reason::tooFewSamples);
    }
    q.measured += c.occupancyPct.value ? 1 : 0;
    data.counters.kernels.push_back(c);
  }
  const std::vector<CeilingInfo> rows{{0, "dram", 4.21e12, "calibrated"},
                                      {0, "fp32", 59.8e12, "calibrated"},
                                      {0, "fp64", 33.1e12, "calibrated"},
                                      {0, "tensor.bf16", 768e12, "calibrated"}};
  const auto ceilings = analyzer::ceilingsFrom(data.view.gpus()[0].info, rows);
  data.bounds = analyzer::boundsOf(data.view, data.kernels, data.counters);
  data.bounds.ceilings = {ceilings};
  for (const auto& f : data.kernels.functions)
    for (const auto& d : f.distinct)
      data.bounds.kernels[d.distinct] = analyzer::boundOf(data.view, data.counters.kernels[d.distinct],
                                                          static_cast<double>(d.time.medianNs), ceilings);
  analyzer::Limits limits;
  limits.boundMinSharePct = 1;
  for (auto& f : analyzer::boundFindings(data.view, data.kernels, data.counters, data.bounds, limits))
    data.findings.push_back(std::move(f));
  analyzer::rank(data.findings);
  return data;
}

void expectLinesFit(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columnsOf(line), 110u) << line;
}

std::string lineWith(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(word) != std::string::npos) return line;
  return "";
}

TEST(ReportCounters, GoldenTexts) {
  const auto data = trainWithCounters();
  const auto text = reportText(data, {}, Style{});
  EXPECT_EQ(text, testing::expected("counters.txt", text));
  expectLinesFit(text);
  ReportOptions kernel;
  kernel.kernel = "gelu";
  const auto detail = reportText(data, kernel, Style{});
  EXPECT_EQ(detail, testing::expected("counters_kernel.txt", detail));
  expectLinesFit(detail);
}

TEST(ReportCounters, HolesOfSamplingStandOnTheCountersLineNotAmongLosses) {
  auto data = trainWithCounters();
  data.run.quality.losses.push_back({"samples", "the hardware buffer overflowed", 2, 100, 200});
  EXPECT_THAT(reportText(data, {}, Style{}), HasSubstr("2 x samples: the hardware buffer overflowed"))
      << "counted nowhere else: told here";
  data.counters.quality.holes = 2;
  data.counters.quality.holesNs = 84'000'000;
  const auto text = reportText(data, {}, Style{});
  EXPECT_THAT(text, Not(HasSubstr("x samples")));
  EXPECT_THAT(lineWith(text, "Counters"), HasSubstr("5 of 8 kernels measured; 2 stretches without samples"));
  EXPECT_THAT(text, HasSubstr("84.0 ms at most"));
}

TEST(ReportCounters, EveryPercentageSaysOfWhat) {
  const auto text = reportText(trainWithCounters(), {}, Style{});
  EXPECT_THAT(text,
              HasSubstr("sampled in 2 us bursts, 5 of 8 kernels measured; ceilings calibrated on this GPU:\n"
                        "           DRAM 4.21 TB/s, FP32 59.8, FP64 33.1, BF16 tensor 768 TFLOP/s\n"));
  EXPECT_THAT(lineWith(text, "<264x384>"), HasSubstr("14.6 ±0.1 / 18.8"));
  EXPECT_THAT(lineWith(text, "<264x384>"), HasSubstr("tensor  71 %"));
  EXPECT_THAT(lineWith(text, "<16384x128>"), HasSubstr("DRAM    88 %"));
  EXPECT_THAT(lineWith(text, "<64x256>"), HasSubstr("launch  64/132 SMs"));
  EXPECT_THAT(lineWith(text, "<1x32>"), HasSubstr("— / 50.0"));
  EXPECT_THAT(text, HasSubstr(" —: too few samples (too_few_samples, 3 kernels)"))
      << "the reason stands once below";
}

TEST(ReportCounters, MoreOccupancyIsNotRecommendedAtTheMemorysCeiling) {
  const support::TempDir folder;
  const auto file = folder.path() / "k.wm.sqlite";
  must(support::writeProfile(file, R"(
    gpu 0 name="NVIDIA H200" cc=9.0 sms=132
    kernel 1 k 0..1ms grid=1000 block=192 regs=40 dynamic=40KiB
  )"));
  auto data = must(gatherReport(file, false));
  ReportOptions kernel;
  kernel.kernel = "k";
  ASSERT_THAT(reportText(data, kernel, Style{}), HasSubstr("instead of 192"))
      << "there is a better block size";
  data.counters.quality.any = true;
  data.counters.kernels = {quiet(0, 60)};
  analyzer::KernelBound bound;
  bound.bound = analyzer::Bound::dram;
  bound.sharePct = 88;
  bound.shareOf = "DRAM 4.21 TB/s";
  data.bounds.kernels = {bound};
  const auto text = reportText(data, kernel, Style{});
  EXPECT_THAT(text, HasSubstr("more occupancy will not help, it runs at 88 % of DRAM 4.21 TB/s"));
  EXPECT_THAT(text, Not(HasSubstr("instead of 192")));
}

TEST(ReportCounters, FindingsSaveNoMoreThanTheirKernelTook) {
  const auto data = trainWithCounters();
  std::map<std::string_view, const analyzer::Finding*> byId;
  for (const auto& f : data.findings) byId[analyzer::named(f.id).id] = &f;
  ASSERT_TRUE(byId.contains("bound.memory") && byId.contains("bound.latency") &&
              byId.contains("occupancy.grid-too-small"));
  EXPECT_EQ(byId["bound.memory"]->recoverableHighNs, 0);
  EXPECT_THAT(byId["bound.memory"]->text, HasSubstr("gelu_elementwise runs at 88 % of DRAM"));
  // 100 ms, most used unit 28.5 % of what begins to bound: 100 - 47.5 ms.
  EXPECT_EQ(byId["bound.latency"]->recoverableLowNs, 0);
  EXPECT_NEAR(static_cast<double>(byId["bound.latency"]->recoverableHighNs), 52.5e6, 0.1e6);
  // 64 of 132 multiprocessors; at least 73 % of the busy ones' time was issuing. One of two shapes: 10 ms.
  const auto& grid = *byId["occupancy.grid-too-small"];
  EXPECT_NEAR(static_cast<double>(grid.recoverableHighNs), 10e6 * 68 / 132, 1e3);
  EXPECT_NEAR(static_cast<double>(grid.recoverableLowNs), 0.73 * 10e6 * 68 / 132, 1e3);
  EXPECT_EQ(grid.advice, "block 256 -> 64 with 256 blocks");
}

TEST(ReportCounters, JsonFollowsItsSchema) {
  auto data = trainWithCounters();
  auto& unmeasured = data.bounds.kernels[data.kernels.functions[5].distinct[0].distinct];
  unmeasured = {};
  unmeasured.reason = Reason::tooFewSamples;
  const auto json = nlohmann::json::parse(printed(reportJson(data, {})));
  testing::SchemaCheck check(
      nlohmann::json::parse(testing::contentOf(WARPMETER_SOURCE_DIR "/docs/report.schema.json")));
  EXPECT_EQ(check.complaints(json), "");
  const auto& gemm = json["kernels"][0]["distinct"][0];
  EXPECT_EQ(gemm["achievedOccupancyPct"],
            nlohmann::json::parse(R"({"value":14.6,"low":14.5,"high":14.7,"samples":812,
    "provenance":"sampled_exclusive","reason":null})"));
  EXPECT_EQ(gemm["bound"]["id"], "tensor");
  EXPECT_NEAR(gemm["bound"]["sharePct"].get<double>(), 71.3, 0.1);
  EXPECT_GT(gemm["bound"]["flopPerByte"].get<double>(), 0);
  EXPECT_EQ(json["gpus"][0]["ceilings"]["source"], "calibrated");
  const auto& tiny = json["kernels"][4]["distinct"][0];
  EXPECT_TRUE(tiny["achievedOccupancyPct"]["value"].is_null());
  EXPECT_EQ(tiny["bound"]["id"], "launch") << "one of 132 multiprocessors needs no samples";
  const auto& none = json["kernels"][5]["distinct"][0]["bound"];
  EXPECT_EQ(none["id"], "not_measured");
  EXPECT_EQ(none["reason"], "too_few_samples");
}

// Every function of the profile, as `occupancy FILE --kernel` finds it.
std::vector<std::size_t> all(const ReportData& data) {
  std::vector<std::size_t> out(data.kernels.functions.size());
  std::iota(out.begin(), out.end(), 0);
  return out;
}

TEST(OccupancyOfAFile, SaysWhatBoundsEachShape) {
  auto data = trainWithCounters();
  std::vector<std::size_t> some = matchingFunctions(data, "gelu");
  for (const auto f : matchingFunctions(data, "layer_norm")) some.push_back(f);
  const auto text = launchesText(data, some, Style{});
  EXPECT_EQ(text, testing::expected("occupancy_file.txt", text));
  expectLinesFit(text);
  auto& gelu = data.bounds.kernels[data.kernels.functions[some[0]].distinct[0].distinct];
  gelu = {};
  gelu.reason = Reason::tooFewSamples;
  EXPECT_THAT(launchesText(data, some, Style{}), HasSubstr("\nbound by: not measured, too few samples\n\nOCCUPANCY"));
}

TEST(OccupancyOfAFile, JsonHasTheBoundOfTheReport) {
  const auto data = trainWithCounters();
  Json json = jsonFor("occupancy");
  json["launches"] = launchesJson(data, all(data));
  const auto occupancy = nlohmann::json::parse(printed(json));
  const auto report = nlohmann::json::parse(printed(reportJson(data, {})));
  const auto schema = [](const std::string& verb) {
    return nlohmann::json::parse(
        testing::contentOf(WARPMETER_SOURCE_DIR "/docs/" + verb + ".schema.json"));
  };
  EXPECT_EQ(testing::SchemaCheck(schema("occupancy")).complaints(occupancy), "");
  for (const char* shared : {"bound", "metric"})
    EXPECT_EQ(schema("occupancy")["definitions"][shared], schema("report")["definitions"][shared]) << shared;
  std::size_t compared = 0, i = 0;
  for (const auto& k : report["kernels"])
    for (const auto& d : k["distinct"]) {
      if (d["occupancy"].is_null()) continue;
      ASSERT_LT(i, occupancy["launches"].size());
      EXPECT_EQ(occupancy["launches"][i++]["bound"], d["bound"]);
      compared += d["bound"]["id"] != "not_measured" ? 1 : 0;
    }
  EXPECT_EQ(i, occupancy["launches"].size());
  EXPECT_GT(compared, 3u);
}

TEST(OccupancyOfAFile, HasNoBoundWithoutCounters) {
  auto data = trainWithCounters();
  data.counters = {};
  EXPECT_THAT(launchesText(data, all(data), Style{}), AllOf(HasSubstr("OCCUPANCY"), Not(HasSubstr("bound"))));
  for (const auto& launch : launchesJson(data, all(data))) EXPECT_TRUE(launch.at("bound").is_null());
}

TEST(ReportCounters, ASharedGpuGivesNoNumbers) {
  auto data = trainWithCounters();
  data.counters.quality.gpuShared = true;
  data.counters.quality.foreignPct = 34;
  const auto text = reportText(data, {}, Style{});
  EXPECT_THAT(text, HasSubstr("other processes used the GPU in 34 % of the samples"));
  EXPECT_TRUE(analyzer::boundFindings(data.view, data.kernels, data.counters, data.bounds, {}).empty());
}

TEST(ReportCounters, NoPermissionStandsInTheFirstLinesWithItsRemedy) {
  auto data = trainWithCounters();
  data.counters = {};
  data.counters.quality.reason = Reason::noPermission;
  data.counters.quality.reasonText = "not permitted for this user: run as root";
  EXPECT_THAT(reportText(data, {}, Style{}),
              HasSubstr("Counters   none: not permitted for this user: run as root\n"));
}

TEST(ReportCounters, NamesAreCutAndShapesAreNot) {
  auto data = trainWithCounters();
  auto& f = data.kernels.functions[0];
  f.shortName = "a_kernel_with_a_name_that_is_longer_than_any_line_of_this_report_could_ever_be_made_to_hold";
  for (const bool counters : {true, false}) {
    data.counters.quality.any = counters;
    const auto text = reportText(data, {}, Style{});
    expectLinesFit(text);
    EXPECT_THAT(lineWith(text, "a_k"), HasSubstr("<264x384>")) << text;
    EXPECT_THAT(lineWith(text, "a_k"), HasSubstr("…"));
  }
  ReportOptions all;
  all.all = true;
  expectLinesFit(reportText(data, all, Style{}));
}

TEST(TextTable, ATailIsNeverCut) {
  TextTable table({TextTable::Align::left, TextTable::Align::left});
  table.row({"first", "abcdefghijklmnopqrstuvwxyz"}, {" <1x2> and 3 more", " <1x2> +3"});
  Style style;
  style.width = 60;
  EXPECT_EQ(table.render(style), " first  abcdefghijklmnopqrstuvwxyz <1x2> and 3 more\n");
  style.width = 45;
  EXPECT_EQ(table.render(style), " first  abcdefghijklmnopqrstuvwxyz <1x2> +3\n")
      << "the short form before any cut";
  style.width = 35;
  EXPECT_EQ(table.render(style), " first  abcdefghi…stuvwxyz <1x2> +3\n");
  style.width = 20;
  EXPECT_EQ(table.render(style), " first  abcdef…vwxyz\n            <1x2> +3\n")
      << "a line of its own before it is cut";
  style.width = 0;
  EXPECT_EQ(table.render(style), " first  abcdefghijklmnopqrstuvwxyz <1x2> and 3 more\n");
}

}  // namespace
}  // namespace warpmeter::cli
