// SPDX-License-Identifier: Apache-2.0
#include "cli/text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "cli/environment.h"
#include "cli/json.h"
#include "cli/output_name.h"
#include "cli/record_summary.h"
#include "cli/report_text.h"
#include "hostile_names.h"
#include "warpmeter/analyzer/metric.h"

namespace warpmeter::cli {
namespace {

TEST(Harmless, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(harmless("plain <4, float>"), "plain <4, float>");
  EXPECT_EQ(harmless("a\x1b[31mred\n\t\x07"), "a\\x1b[31mred\\x0a\\x09\\x07");
  EXPECT_EQ(harmless("\xc2\x9b"
                     "31m"),
            "\\x9b31m");  // CSI as one code point
  EXPECT_EQ(harmless("a\xe2\x80\xae"
                     "cba"),
            "a\\u{202e}cba");  // right-to-left override
  EXPECT_EQ(harmless(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(harmless("größe €😀"), "größe €😀");
}

TEST(Harmless, ReplacesInvalidUtf8) {
  EXPECT_EQ(harmless("a\xff"
                     "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(harmless("\xc0\x80"), "\xef\xbf\xbd\xef\xbf\xbd");                  // overlong
  EXPECT_EQ(harmless("\xed\xa0\x80"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // surrogate
  EXPECT_EQ(harmless("\xe2\x82"), "\xef\xbf\xbd\xef\xbf\xbd");                  // cut off
}

TEST(Harmless, AnyBytesGiveTextWithoutControlBytesAndValidJson) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string name(random() % 40, 0);
    for (char& c : name) c = static_cast<char>(random());
    for (const unsigned char c : harmless(name)) ASSERT_GE(c, 0x20u);
    const auto text = printed(Json{{"name", name}});
    const auto back = Json::parse(text, nullptr, false);
    ASSERT_FALSE(back.is_discarded()) << text;
  }
}

TEST(Harmless, JsonEscapesWhatATerminalWouldObeyAndKeepsItsValue) {
  EXPECT_EQ(printed(Json{{"n", "a\xc2\x9b" "31m\x7f\xe2\x80\xae" "b\xd8\x9c"}}), "{\n  \"n\": \"a\\u009b31m\\u007f\\u202eb\\u061c\"\n}\n");
  EXPECT_EQ(printed(Json{{"n", "größe €😀"}}), "{\n  \"n\": \"größe €😀\"\n}\n");
  std::mt19937 random(2);
  for (int round = 0; round < 5000; ++round) {
    const auto name = testing::hostileName(random);
    const auto text = printed(Json{{name, Json::array({name})}});
    ASSERT_EQ(testing::obeyedIn(text), "") << text;
    ASSERT_EQ(testing::obeyedIn(harmless(name)), "");
    // What JSON says is what it said before: only bytes that are no UTF-8 have changed.
    const auto plain = Json{{name, Json::array({name})}}.dump(-1, ' ', false, Json::error_handler_t::replace);
    ASSERT_EQ(Json::parse(text), Json::parse(plain));
  }
}

TEST(Columns, CountCodePointsNotBytesNorColours) {
  EXPECT_EQ(columnsOf("14.6 ±0.1 —"), 11u);
  EXPECT_EQ(columnsOf("\x1b[1mbold\x1b[0m"), 4u);
  EXPECT_EQ(cutTo("abcdef", 4), "abc…");
  EXPECT_EQ(cutTo("abcd", 4), "abcd");
  EXPECT_EQ(cutTo("ääää", 3), "ää…");
  EXPECT_EQ(cutTo("\x1b[1mabcdef\x1b[0m", 4), "\x1b[1mabc…\x1b[0m");
}

TEST(Table, AlignsAndCutsTheLastColumn) {
  TextTable table({TextTable::Align::right, TextTable::Align::left});
  table.heading({"n", "name"});
  table.row({"1", "a"});
  table.row({"20", "a name that is too long for the line"});
  Style style;
  style.width = 20;
  EXPECT_EQ(table.render(style), "  n  name\n  1  a\n 20  a name that is…\n");
}

TEST(Times, OneUnitForThingsThatBelongTogether) {
  const TimeScale scale(12'500'000'000);
  EXPECT_EQ(scale(1'600'000'000), "1.60 s");
  EXPECT_EQ(scale(0), "0.00 s");
  EXPECT_EQ(TimeScale(250'000'000)(1'500'000), "1.5 ms");
  EXPECT_EQ(runTime(12'500'000'000), "12.50 s");
}

TEST(Shell, QuotesWhatNeedsIt) {
  EXPECT_EQ(shellQuoted("./a.wm.sqlite"), "./a.wm.sqlite");
  EXPECT_EQ(shellQuoted("a b"), "'a b'");
  EXPECT_EQ(shellQuoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shellQuoted(""), "''");
}

TEST(Metric, IsNullWithAReasonOrAValueWithProvenance) {
  const auto missing = toJson(analyzer::Metric::missing(analyzer::Reason::noPermission));
  EXPECT_TRUE(missing["value"].is_null());
  EXPECT_EQ(missing["reason"], "no_permission");
  const auto computed = toJson(analyzer::Metric::of(61.5));
  EXPECT_EQ(computed["value"], 61.5);
  EXPECT_EQ(computed["provenance"], "computed");
  EXPECT_TRUE(computed["reason"].is_null());
}

TEST(OutputName, IsTheApplicationsOrTheScripts) {
  EXPECT_EQ(applicationName({"/opt/x/bin/app", "--size", "4"}), "app");
  EXPECT_EQ(applicationName({"python3.11", "-u", "-W", "ignore", "src/train.py", "--lr", "1"}), "train");
  EXPECT_EQ(applicationTitle({"python", "train.py"}), "train.py");
  EXPECT_EQ(applicationName({"python", "-m", "pkg.mod"}), "pkg.mod");
  EXPECT_EQ(applicationName({"python3", "-c", "print()"}), "python3");
  EXPECT_EQ(applicationName({"python-config", "a.py"}), "python-config");
  EXPECT_EQ(applicationName({"bash", "run.sh"}), "run");
}

TEST(Environment, NamesTheOwnerOfAnInjection) {
  EXPECT_EQ(ownerOf("/opt/nvidia/nsight-systems/2025.3.2/target-linux-x64/libToolsInjection64.so"),
            "NVIDIA Nsight Systems");
  EXPECT_EQ(ownerOf("/usr/local/cuda/compute-sanitizer/libsanitizer-collection.so"),
            "NVIDIA Compute Sanitizer");
  EXPECT_EQ(ownerOf("/x/lib/warpmeter/libwarpmeter_inject.so"), "Warpmeter");
  EXPECT_EQ(ownerOf("/home/me/mine.so"), "/home/me/mine.so");
}

RecordedRun finishedRun() {
  RecordedRun run;
  run.title = "train.py";
  run.end.durationNs = 12'500'000'000;
  run.file = "./train.wm.sqlite";
  wire::Summary s{};
  s.kind = wire::ControlKind::summary;
  s.complete = 1;
  s.processes = s.processesRecorded = 1;
  s.kernels = 85'240;
  s.copies = 2'480;
  s.copyBytes = 4'100'000'000;
  s.apiCalls = 212'904;
  s.nvtxRanges = 9'600;
  s.selfCostNs = 110'000'000;
  s.fileBytes = 24'100'000;
  s.journalDeleted = 1;
  run.summary = s;
  return run;
}

TEST(RecordSummary, SaysWhatWasRecordedAndWhere) {
  EXPECT_EQ(summaryLines(finishedRun()),
            (std::vector<std::string>{
                "train.py exited 0 after 12.50 s; recording cost at least 110 ms (0.9 %)",
                "85 240 launches, 2 480 copies (4.10 GB), 212 904 API calls, 9 600 NVTX ranges; nothing lost",
                "file ./train.wm.sqlite (24.1 MB, complete)   next: warpmeter report train.wm.sqlite"}));
}

TEST(RecordSummary, SaysWhatWasLostAndWhy) {
  auto run = finishedRun();
  run.summary->complete = 0;
  run.summary->recordsLost = 12;
  std::snprintf(run.summary->firstLoss, sizeof run.summary->firstLoss, "--max-size reached");
  EXPECT_EQ(summaryLines(run)[1],
            "85 240 launches, 2 480 copies (4.10 GB), 212 904 API calls, 9 600 NVTX ranges; "
            "12 records lost (--max-size reached)");
  EXPECT_FALSE(isComplete(run));
  run.summary->recordsLost = -1;
  EXPECT_NE(summaryLines(run)[1].find("an unknown number of records lost"), std::string::npos);
}

TEST(RecordSummary, NamesTheReasonWhenThereIsNoGpuWork) {
  auto run = finishedRun();
  run.summary->kernels = run.summary->copies = run.summary->apiCalls = run.summary->nvtxRanges = 0;
  run.summary->processesRecorded = 0;
  EXPECT_EQ(summaryLines(run)[1], "no GPU work recorded: no process of this run loaded the CUDA driver");
  run.driverMissing = true;
  EXPECT_EQ(summaryLines(run)[1], "no GPU work recorded: no CUDA driver found (libcuda.so.1); next: warpmeter doctor");
  run.driverMissing = false;
  std::snprintf(run.summary->blocked, sizeof run.summary->blocked, "nsys holds CUPTI in process 4711");
  EXPECT_EQ(summaryLines(run)[1], "no GPU work recorded: nsys holds CUPTI in process 4711");
  run.summary->blocked[0] = 0;
  run.summary->complete = 0;
  run.summary->recordsLost = -1;
  std::snprintf(run.summary->firstLoss, sizeof run.summary->firstLoss, "process 7: CUPTI 13.0.0 is refused");
  EXPECT_EQ(summaryLines(run)[1], "no GPU work recorded: process 7: CUPTI 13.0.0 is refused");
  EXPECT_EQ(summaryLines(run).size(), 3u);
}

std::string countersLine(const char* id, const char* text, std::int64_t samples = 0) {
  auto run = finishedRun();
  std::snprintf(run.summary->counters, sizeof run.summary->counters, "%s", id);
  std::snprintf(run.summary->countersText, sizeof run.summary->countersText, "%s", text);
  run.summary->samples = samples;
  const auto lines = summaryLines(run);
  return lines.size() == 4 ? lines[2] : fmt::format("{} lines", lines.size());
}

TEST(RecordSummary, SaysHowManySamplesOrWhyNone) {
  EXPECT_EQ(countersLine("", ""), "3 lines");
  EXPECT_EQ(countersLine("not_requested", ""), "3 lines");
  EXPECT_EQ(countersLine("sampled", "", 1'234'567), "counters sampled, 1 234 567 samples");
  EXPECT_EQ(countersLine("sampled", "the sampler was ended by signal 9", 10),
            "counters sampled, 10 samples (the sampler was ended by signal 9)");
  EXPECT_EQ(countersLine("ranged", "exact mode: 24 launches of 4 kernels measured one by one"),
            "exact mode: 24 launches of 4 kernels measured one by one");
  EXPECT_EQ(countersLine("sampled,ranged", "exact mode: 24 launches of 4 kernels measured one by one", 10),
            "counters sampled, 10 samples (exact mode: 24 launches of 4 kernels measured one by one)");
  EXPECT_EQ(countersLine("no_permission", "counters are not permitted for this user (CUPTI 35): run as root"),
            "no counters: counters are not permitted for this user (CUPTI 35): run as root");
  EXPECT_EQ(countersLine("no_permission", ""), "no counters: the counters are not permitted for this user; run as root, "
                                               "or see warpmeter doctor for the driver's option");
  EXPECT_EQ(countersLine("counters_busy", ""),
            "no counters: another tool holds the counters; end the tool that holds them (DCGM, ncu, nsys), or record "
            "with --counters none");
  EXPECT_EQ(countersLine("pc", "PC sampling: 12 samples in 1 function"), "PC sampling: 12 samples in 1 function");
  EXPECT_EQ(countersLine("no_permission", "PC sampling: cuptiPCSamplingEnable failed"),
            "no counters: PC sampling: cuptiPCSamplingEnable failed; run as root, or see warpmeter doctor for the driver's option");
  EXPECT_EQ(countersLine("unsupported_chip", ""), "no counters: this chip is not supported");
  EXPECT_EQ(countersLine("not_recorded", "the sampler failed: \x1b[31m"),
            "no counters: the sampler failed: " + harmless("\x1b[31m"));
  EXPECT_EQ(countersLine("too_few_samples", "the run ended before the first sample"),
            "no counters: the run ended before the first sample");
  EXPECT_EQ(countersLine("of_the_future", ""), "no counters: of_the_future");

  auto idle = finishedRun();
  idle.summary->kernels = idle.summary->copies = 0;
  std::snprintf(idle.summary->counters, sizeof idle.summary->counters, "not_recorded");
  for (const auto& line : summaryLines(idle)) EXPECT_EQ(line.find("counters"), std::string::npos) << line;
}

TEST(RecordSummary, SaysThatTheRecorderDied) {
  auto run = finishedRun();
  run.summary.reset();
  run.end.waitStatus = 9;
  const auto lines = summaryLines(run);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "train.py was killed by SIGKILL (9) after 12.50 s");
  EXPECT_NE(lines[1].find("the recorder died"), std::string::npos);
}

}  // namespace
}  // namespace warpmeter::cli
