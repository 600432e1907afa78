// SPDX-License-Identifier: Apache-2.0
// Text and JSON of `report`, from profiles written as text and from public nsys files.
#include "cli/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/occupancy_text.h"
#include "golden.h"
#include "hostile_names.h"
#include "schema_check.h"
#include "support/profile_builder.h"

namespace warpmeter::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ReportTest : public ::testing::Test {
 protected:
  // The golden profile `name`, or the text itself when it has several lines.
  ReportData gathered(const std::string& source, bool nvtx = false) {
    const bool isText = source.find('\n') != std::string::npos;
    const auto file = folder_.path() / (isText ? "text.wm.sqlite" : source + ".wm.sqlite");
    auto written =
        support::writeProfile(file, isText ? source : testing::contentOf(testing::golden(source + ".dsl")));
    EXPECT_TRUE(written) << (written ? "" : written.error().message);
    return opened(file, nvtx);
  }
  static ReportData opened(const std::filesystem::path& file, bool nvtx = false) {
    auto data = gatherReport(file, nvtx);
    EXPECT_TRUE(data) << data.error().message;
    if (!data) std::abort();
    // The folder changes from run to run.
    data->file = file.filename();
    return std::move(*data);
  }
  support::TempDir folder_;
};

void expectLinesFit(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columnsOf(line), 110u) << line;
}

nlohmann::json asPrinted(const Json& json) { return nlohmann::json::parse(printed(json)); }

std::string schemaComplaints(const std::string& verb, const Json& json) {
  testing::SchemaCheck check(
      nlohmann::json::parse(testing::contentOf(WARPMETER_SOURCE_DIR "/docs/" + verb + ".schema.json")));
  return check.complaints(asPrinted(json));
}

TEST_F(ReportTest, GoldenTexts) {
  struct Case {
    const char* profile;
    const char* text;
    ReportOptions options;
    bool nvtx = false;
  };
  ReportOptions all;
  all.all = true;
  ReportOptions kernel;
  kernel.kernel = "reduce";
  ReportOptions nvtx;
  nvtx.nvtx = true;
  const Case cases[] = {{"train", "train.txt", {}},
                        {"train", "train_all.txt", all},
                        {"train", "train_kernel.txt", kernel},
                        {"train", "train_nvtx.txt", nvtx, true},
                        {"losses", "losses.txt", {}},
                        {"nothing", "nothing.txt", {}}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto text = reportText(gathered(c.profile, c.nvtx), c.options, Style{});
    EXPECT_EQ(text, testing::expected(c.text, text));
    expectLinesFit(text);
  }
}

TEST_F(ReportTest, QualityComesBeforeAnyNumberOfTheRun) {
  const auto text = reportText(gathered("losses"), {}, Style{});
  EXPECT_LT(text.find("INCOMPLETE"), text.find("TIME"));
  EXPECT_LT(text.find("--max-size reached"), text.find("TIME"));
  EXPECT_THAT(text, HasSubstr("1 of 3 launches timed"));
  EXPECT_THAT(text, HasSubstr("blocked: nsys holds CUPTI"));
}

TEST_F(ReportTest, HostileNamesGiveHarmlessTextAndValidJson) {
  const std::string hostile = "evil\x1b[2J\xff\\name'";
  const auto data = gathered(
      "session started=0 ended=1s how=exited(0)\nprocess 1 name=app start=0 exit=1s how=exited(0)\n"
      "kernel 1 " +
      hostile + " 1ms..2ms grid=1 block=32 regs=16\n");
  ReportOptions full;
  full.fullNames = full.all = true;
  const auto text = reportText(data, full, Style{});
  for (const unsigned char c : text) ASSERT_TRUE(c >= 0x20 || c == '\n');
  EXPECT_THAT(text, HasSubstr("evil\\x1b[2J"));
  const auto json = printed(reportJson(data, {}));
  EXPECT_FALSE(nlohmann::json::parse(json, nullptr, false).is_discarded());
  EXPECT_EQ(schemaComplaints("report", reportJson(data, {})), "");
}

TEST_F(ReportTest, NamesFromAnywhereReachNoTerminalUnescaped) {
  std::mt19937 random(3);
  for (int round = 0; round < 25; ++round) {
    const auto name = [&] { return testing::hostileName(random); };
    const auto profile = "session started=0 ended=1s how=" + name() + "\nprocess 1 name=" + name() +
                         " start=0 exit=1s how=" + name() + " status=blocked:" + name() + "\ngpu 0 name=" + name() +
                         " cc=9.0 sms=132\nkernel 1 " + name() + " 1ms..2ms grid=1 block=32 regs=16\nnvtx 1 " + name() +
                         " 0..3ms\nloss " + name() + " count=1 why=" + name() + "\n";
    SCOPED_TRACE(profile);
    const auto data = gathered(profile, true);
    ReportOptions full;
    full.fullNames = full.all = full.nvtx = true;
    ASSERT_EQ(testing::obeyedIn(reportText(data, full, Style{})), "");
    ReportOptions detail;
    detail.kernel = "k";
    ASSERT_EQ(testing::obeyedIn(reportText(data, detail, Style{})), "");
    const auto json = printed(reportJson(data, full));
    ASSERT_EQ(testing::obeyedIn(json), "");
    ASSERT_FALSE(nlohmann::json::parse(json, nullptr, false).is_discarded());
  }
}

TEST_F(ReportTest, JsonFollowsItsSchemaAndAddsUp) {
  for (const char* profile : {"train", "losses", "nothing"}) {
    SCOPED_TRACE(profile);
    const auto json = reportJson(gathered(profile, true), {});
    EXPECT_EQ(schemaComplaints("report", json), "");
    EXPECT_EQ(json.begin().key(), "schema");
    const auto& t = json["time"];
    EXPECT_EQ(t["wallNs"], t["startUpNs"].get<std::int64_t>() + t["busyNs"].get<std::int64_t>() +
                               t["idleNs"].get<std::int64_t>() + t["shutDownNs"].get<std::int64_t>());
    double share = 0;
    for (const auto& k : json["kernels"]) share += k["sharePct"].get<double>();
    if (!json["kernels"].empty()) {
      EXPECT_NEAR(share, 100, 1e-6);
    }
  }
}

TEST_F(ReportTest, UnmeasuredIsNullWithAReason) {
  const auto json = reportJson(gathered("losses"), {});
  const auto& achieved = json["kernels"][0]["distinct"][0]["achievedOccupancyPct"];
  EXPECT_TRUE(achieved["value"].is_null());
  EXPECT_EQ(achieved["reason"], "no_permission");
  EXPECT_TRUE(json["quality"]["losses"][1]["count"].is_null()) << "an unknown loss is not 0";
}

TEST_F(ReportTest, OptionsChooseWhatIsListed) {
  const auto data = gathered("train");
  EXPECT_THAT(reportText(data, {}, Style{}), HasSubstr("2 more, each below"));
  ReportOptions top;
  top.top = 1;
  EXPECT_THAT(reportText(data, top, Style{}), Not(HasSubstr("gelu_elementwise")));
  ReportOptions all;
  all.all = true;
  EXPECT_THAT(reportText(data, all, Style{}), HasSubstr("tiny3"));
  EXPECT_THAT(reportText(data, {}, Style{}), Not(HasSubstr("ns::layer_norm_fwd")));
  ReportOptions full;
  full.fullNames = true;
  EXPECT_THAT(reportText(data, full, Style{}), HasSubstr("void ns::layer_norm_fwd<float, 4>"));
}

TEST_F(ReportTest, MatchingPrefersTheExactName) {
  const auto data = gathered("train");
  EXPECT_EQ(matchingFunctions(data, "tiny").size(), 1u);
  EXPECT_EQ(matchingFunctions(data, "TIN").size(), 3u);
  EXPECT_TRUE(matchingFunctions(data, "nothing-like-this").empty());
}

TEST_F(ReportTest, SmallTimesBesideLargeOnesKeepTheirDigits) {
  const auto data = gathered(
      "session started=0 ended=100s how=exited(0)\nprocess 1 name=app start=0 exit=100s how=exited(0)\n"
      "memcpy 1 HtoD 10s..12s bytes=1000 src=pinned dst=device\n"
      "kernel 1 k 50s..50000012us grid=1 block=32 regs=16\ncost 1 guest.callbacks ns=250ms count=9\n");
  const auto text = reportText(data, {}, Style{});
  EXPECT_THAT(text, ::testing::ContainsRegex("GPU busy +12.0 us +0.0 %"));
  EXPECT_THAT(text, HasSubstr("until the first kernel, see COLD START; copies 2.0 s\n"));
  EXPECT_THAT(text, HasSubstr("own cost at least 250 ms (0.2 %)"));
  EXPECT_EQ(asPrinted(reportJson(data, {}))["time"]["startUpCopyNs"], 2'000'000'000);
}

TEST_F(ReportTest, NamesThatSeveralKernelsShareAreToldApart) {
  const auto data = gathered(
      "process 1 name=app start=0 exit=1s\n"
      "kernel 1 \"void gemm<float>(float*)\" 1ms..9ms grid=1 block=32 regs=16\n"
      "kernel 1 \"void gemm<half>(half*)\" 11ms..12ms grid=1 block=32 regs=16\n"
      "kernel 1 gemm_splitK 13ms..14ms grid=1 block=32 regs=16\n");
  ASSERT_EQ(data.kernels.functions.size(), 3u);
  EXPECT_EQ(matchingFunctions(data, "gemm").size(), 2u) << "the exact short name";
  EXPECT_EQ(matchingFunctions(data, "void gemm<half>(half*)").size(), 1u) << "the exact whole name";
  EXPECT_THAT(reportText(data, {}, Style{}),
              HasSubstr("next: warpmeter report text.wm.sqlite --kernel 'void gemm<float>(float*)'\n"));
  ReportOptions several;
  several.kernel = "gemm";
  EXPECT_THAT(reportText(data, several, Style{}), HasSubstr("2 kernels match gemm; one alone: warpmeter report "
                                                            "text.wm.sqlite --kernel 'void gemm<float>(float*)'\n"));
  ReportOptions one;
  one.kernel = "splitk";
  EXPECT_THAT(reportText(data, one, Style{}), Not(HasSubstr("kernels match")));
}

TEST_F(ReportTest, NsysFilesReadAsTheirReadmeSays) {
  struct File {
    const char* name;
    std::int64_t kernels, totalNs;
  };
  const File files[] = {{"h100_2gpu_1s", 3442, 44829522},
                        {"a100_cloverleaf", 1312, 294404540},
                        {"rtx4060ti_streams", 4, 536542},
                        {"unversioned_2021", 12, 6128761}};
  for (const auto& f : files) {
    const auto path = std::filesystem::path(WARPMETER_DATA_DIR) / "nsys" / (std::string(f.name) + ".sqlite");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not here";
    SCOPED_TRACE(f.name);
    const auto data = opened(path, true);
    const auto json = reportJson(data, {});
    EXPECT_EQ(schemaComplaints("report", json), "");
    EXPECT_EQ(json["file"]["kind"], "nsys");
    std::int64_t launches = 0, total = 0;
    for (const auto& k : json["kernels"])
      launches += k["launches"].get<std::int64_t>(), total += k["totalNs"].get<std::int64_t>();
    EXPECT_EQ(launches, f.kernels);
    EXPECT_EQ(total, f.totalNs);
    ReportOptions options;
    options.nvtx = options.all = true;
    expectLinesFit(reportText(data, options, Style{}));
    expectLinesFit(reportText(data, {}, Style{}));
    EXPECT_THAT(reportText(data, {}, Style{}), HasSubstr("nsys export"));
  }
}

TEST(Occupancy, GoldenTextAndSchema) {
  auto device = analyzer::deviceLimits(9, 0, 132);
  ASSERT_TRUE(device);
  analyzer::KernelResources kernel;
  kernel.blockThreads = 192;
  kernel.registersPerThread = 40;
  kernel.dynamicShared = 40 << 10;
  kernel.gridBlocks = 1000;
  auto occupancy = analyzer::occupancyOf(*device, kernel);
  ASSERT_TRUE(occupancy) << occupancy.error().message;
  const auto text = occupancyText(*device, kernel, *occupancy, Style{});
  EXPECT_EQ(text, testing::expected("occupancy.txt", text));
  expectLinesFit(text);
  Json json = jsonFor("occupancy");
  json["launches"] = Json::array({occupancyAnswerJson(*device, kernel, *occupancy)});
  EXPECT_EQ(schemaComplaints("occupancy", json), "");
}

TEST(Schema, CheckFindsWhatIsWrong) {
  testing::SchemaCheck check(
      nlohmann::json::parse(testing::contentOf(WARPMETER_SOURCE_DIR "/docs/occupancy.schema.json")));
  EXPECT_NE(check.complaints(
                {{"schema", "warpmeter.report"}, {"version", 1}, {"launches", nlohmann::json::array()}}),
            "");
  EXPECT_NE(check.complaints({{"schema", "warpmeter.occupancy"}, {"version", 1}}), "");
  EXPECT_NE(
      check.complaints({{"schema", "warpmeter.occupancy"}, {"version", 1}, {"launches", {{{"name", 1}}}}}),
      "");
  EXPECT_EQ(check.complaints(
                {{"schema", "warpmeter.occupancy"}, {"version", 1}, {"launches", nlohmann::json::array()}}),
            "");
}

}  // namespace
}  // namespace warpmeter::cli
