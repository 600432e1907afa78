// SPDX-License-Identifier: Apache-2.0
// The option table and everything made from it.
#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "cli/arguments.h"
#include "cli/exit_codes.h"
#include "cli/help.h"
#include "cli/subprocess.h"

namespace warpmeter::cli {
namespace {

using testing::HasSubstr;

std::string fileText(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

Arguments parsed(const std::vector<std::string>& words) {
  auto result = parseArguments(words);
  EXPECT_TRUE(result) << (result ? "" : result.error().message);
  return result ? result->arguments : Arguments{};
}

std::string complaint(const std::vector<std::string>& words) {
  auto result = parseArguments(words);
  if (result) return "(accepted)";
  EXPECT_EQ(result.error().kind, ErrorKind::usage);
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << "one line";
  return result.error().message;
}

TEST(OptionTable, IdsNamesAndLettersAreUniqueWithinEachVerb) {
  std::set<Opt> ids;
  for (const auto& o : optionTable()) EXPECT_TRUE(ids.insert(o.id).second) << o.name;
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(Opt::count));
  for (const auto& verb : verbTable()) {
    std::set<std::string_view> names;
    std::set<char> letters;
    for (const auto& o : optionTable()) {
      if (!takes(o, verb.id)) continue;
      EXPECT_TRUE(names.insert(o.name).second) << verb.name << " " << o.name;
      if (o.letter) {
        EXPECT_TRUE(letters.insert(o.letter).second) << verb.name << " -" << o.letter;
      }
    }
  }
}

TEST(OptionTable, EveryDefaultThatIsAChoiceIsOneOfThem) {
  for (const auto& o : optionTable())
    if (o.kind == ValueKind::choice && !o.fallback.empty()) {
      EXPECT_EQ(complaintAbout(o, std::string(o.fallback)), "") << o.name;
    }
}

TEST(Help, NamesEveryOptionAndExampleOfTheVerb) {
  for (const auto& verb : verbTable()) {
    const auto help = verbHelp(verb);
    for (const auto& o : optionTable()) {
      if (takes(o, verb.id)) {
        EXPECT_THAT(help, HasSubstr(std::string(o.name))) << verb.name;
      } else {
        EXPECT_THAT(help, testing::Not(HasSubstr("  " + std::string(o.name) + " "))) << verb.name;
      }
    }
    EXPECT_FALSE(verb.examples.empty()) << verb.name;
    for (const auto& example : verb.examples) EXPECT_THAT(help, HasSubstr(std::string(example.command)));
  }
}

TEST(Help, LinesFitATerminal) {
  std::string all = overviewHelp();
  for (const auto& verb : verbTable()) all += verbHelp(verb);
  std::size_t begin = 0;
  while (begin < all.size()) {
    const auto end = all.find('\n', begin);
    EXPECT_LE(end - begin, 110u) << all.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(Help, EveryExampleIsACommandLineThatParses) {
  for (const auto& verb : verbTable())
    for (const auto& example : verb.examples) {
      std::string command(example.command);
      command.resize(command.find(" | ") == std::string::npos ? command.size() : command.find(" | "));
      std::vector<std::string> words;
      for (std::size_t at = 0; at < command.size();) {
        const auto end = std::min(command.find(' ', at), command.size());
        words.push_back(command.substr(at, end - at));
        at = end + 1;
      }
      words.erase(words.begin());
      EXPECT_TRUE(parseArguments(words)) << example.command;
    }
}

TEST(Docs, CliMdIsWhatTheTableSays) {
  EXPECT_EQ(fileText(WARPMETER_SOURCE_DIR "/docs/cli.md"), markdownHelp())
      << "write it again: cmake --build BUILD --target cli-docs";
}

TEST(Completion, IsBashAndOffersVerbsOptionsAndChoices) {
  const auto script =
      bashCompletion() +
      "\ntry() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _warpmeter; echo \"${COMPREPLY[*]}\"; }\n"
      "try warpmeter re\ntry warpmeter report --fu\ntry warpmeter record --api w\ntry warpmeter kernels l\n";
  auto run = capture({"/bin/bash", "-c", script}, {"PATH=/usr/bin:/bin"}, 20'000);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->err, "");
  EXPECT_EQ(run->out, "record report\n--full-names\nwork\nlist\n");
}

TEST(Parse, RecordLeavesTheProgramsOwnOptionsAlone) {
  const auto a = parsed(
      {"record", "-o", "x.wm.sqlite", "--delay", "0.5", "--", "./app", "--json", "-o", "y", "--", "z"});
  EXPECT_EQ(a.text(Opt::output), "x.wm.sqlite");
  EXPECT_EQ(a.number(Opt::delay), 0.5);
  EXPECT_THAT(a.command, testing::ElementsAre("./app", "--json", "-o", "y", "--", "z"));
}

TEST(Parse, RecordTakesTheFirstWordThatIsNoOptionAsTheProgram) {
  const auto a =
      parsed({"record", "--quiet", "--api=all", "--launch-latency", "python", "train.py", "--force"});
  EXPECT_TRUE(a.has(Opt::quiet));
  EXPECT_EQ(a.text(Opt::api), "all");
  EXPECT_EQ(a.text(Opt::launchLatency), "on");
  EXPECT_FALSE(a.has(Opt::force));
  EXPECT_THAT(a.command, testing::ElementsAre("python", "train.py", "--force"));
}

TEST(Parse, OptionsMayFollowTheFile) {
  const auto a = parsed({"report", "f.sqlite", "--top", "3", "--json"});
  EXPECT_THAT(a.positionals, testing::ElementsAre("f.sqlite"));
  EXPECT_EQ(a.whole(Opt::top), 3);
  EXPECT_TRUE(a.has(Opt::json));
}

TEST(Parse, EnvironmentGivesTheValueAndTheOptionWins) {
  setenv("WARPMETER_API", "none", 1);
  EXPECT_EQ(parsed({"record", "--", "x"}).text(Opt::api), "none");
  EXPECT_EQ(parsed({"record", "--api", "all", "--", "x"}).text(Opt::api), "all");
  setenv("WARPMETER_API", "everything", 1);
  EXPECT_THAT(complaint({"record", "--", "x"}),
              HasSubstr("--api wants one of work|all|none, not 'everything'"));
  unsetenv("WARPMETER_API");
}

TEST(Parse, ComplainsInOneLineAndSaysWhatWouldBeRight) {
  EXPECT_THAT(complaint({}), HasSubstr("needs a verb"));
  EXPECT_THAT(complaint({"reprot", "x"}), HasSubstr("unknown verb 'reprot'; did you mean report?"));
  EXPECT_THAT(complaint({"report"}), HasSubstr("report needs FILE"));
  EXPECT_THAT(complaint({"report", "a", "b"}), HasSubstr("'b' is one argument too many"));
  EXPECT_THAT(complaint({"report", "a", "--josn"}), HasSubstr("unknown option --josn; did you mean --json?"));
  EXPECT_THAT(complaint({"report", "a", "--top", "0"}), HasSubstr("--top wants a whole number"));
  EXPECT_THAT(complaint({"report", "a", "--top", "1e3"}), HasSubstr("--top wants a whole number"));
  EXPECT_THAT(complaint({"record"}), HasSubstr("record needs a program"));
  EXPECT_THAT(complaint({"record", "--capture-range", "nvtx:", "--", "x"}),
              HasSubstr("cudaProfilerApi or nvtx:NAME"));
  EXPECT_THAT(complaint({"record", "--delay", "-1", "--", "x"}), HasSubstr("--delay"));
  EXPECT_THAT(complaint({"record", "--delay", "nan", "--", "x"}), HasSubstr("--delay wants seconds"));
  EXPECT_THAT(complaint({"occupancy", "--cc", "nine"}), HasSubstr("compute capability"));
  EXPECT_THAT(complaint({"occupancy", "--block", "0"}), HasSubstr("--block"));
  EXPECT_THAT(complaint({"doctor", "--require", "gpu"}), HasSubstr("counters"));
  EXPECT_THAT(complaint({"kernels"}), HasSubstr("list, run"));
}

TEST(Parse, ValuesThatWouldMeanNothingAreRefused) {
  EXPECT_THAT(complaint({"record", "--force=1", "--", "x"}), HasSubstr("--force takes no value: '--force=1'"));
  EXPECT_THAT(complaint({"record", "-q=0", "--", "x"}), HasSubstr("--quiet takes no value"));
  EXPECT_THAT(complaint({"report", "f", "--all=false"}), HasSubstr("--all takes no value"));
  EXPECT_EQ(parsed({"report", "f", "--kernel", "--all=false"}).text(Opt::kernel), "--all=false") << "a value of another";
  for (const char* none : {"0", "0.0004"})
    EXPECT_THAT(complaint({"record", "--duration", none, "--", "x"}), HasSubstr("nothing would be kept"));
  EXPECT_EQ(parsed({"record", "--delay", "0", "--duration", "0.001", "--", "x"}).number(Opt::duration), 0.001);
  EXPECT_THAT(complaint({"record", "--max-memory", "0", "--", "x"}), HasSubstr("--max-memory wants a size from 4M on"));
  EXPECT_THAT(complaint({"record", "--max-memory", "1M", "--", "x"}), HasSubstr("--max-memory wants a size from 4M on"));
  EXPECT_THAT(complaint({"record", "--max-size", "0", "--", "x"}), HasSubstr("without the option there is no limit"));
  EXPECT_EQ(parsed({"record", "--max-memory=4M", "--", "x"}).bytes(Opt::maxMemory), 4 << 20);
}

TEST(Parse, TwoDashesEndTheOptions) {
  EXPECT_THAT(parsed({"report", "--", "f.sqlite"}).positionals, testing::ElementsAre("f.sqlite"));
  const auto a = parsed({"report", "--top", "3", "--", "--json"});
  EXPECT_THAT(a.positionals, testing::ElementsAre("--json"));
  EXPECT_FALSE(a.has(Opt::json));
  EXPECT_THAT(complaint({"report", "a", "--", "b"}), HasSubstr("'b' is one argument too many"));
  EXPECT_THAT(complaint({"report", "--"}), HasSubstr("report needs FILE"));
  EXPECT_THAT(complaint({"doctor", "--", "x"}), HasSubstr("'x' is one argument too many"));
}

TEST(Parse, CountersTakeWhatCanBeRecordedAndSayWhyNotTheRest) {
  for (const char* good : {"sample", "exact", "sample,exact", "pc", "none"}) EXPECT_EQ(parsed({"record", "--counters", good, "--", "x"}).text(Opt::counters), good);
  const auto with = [](const std::string& value) { return complaint({"record", "--counters", value, "--", "x"}); };
  EXPECT_THAT(with("sample,pc"), HasSubstr("PM sampling and PC sampling end each other's sessions"));
  EXPECT_THAT(with("pc,sample"), HasSubstr("PM sampling and PC sampling end each other's sessions"));
  EXPECT_THAT(with("exact,pc"), HasSubstr("cannot hold the counters at one moment"));
  EXPECT_THAT(with("none,sample"), HasSubstr("none goes with nothing else"));
  EXPECT_THAT(with("exact,sample"), HasSubstr("sample,exact"));
  EXPECT_THAT(with("sample,sample"), HasSubstr("at most once"));
  EXPECT_THAT(with("all"), HasSubstr("--counters wants one of sample|exact|sample,exact|pc|none, not 'all'"));
  EXPECT_THAT(with("sample,"), HasSubstr("not 'sample,'"));
  EXPECT_THAT(with(","), HasSubstr("one of"));
}

TEST(Parse, TheSamplersShareOfTheCpuHasLimits) {
  for (const char* good : {"0.05", "8", "1.5"}) parsed({"record", "--sampler-cpu", good, "--", "x"});
  for (const char* bad : {"0", "0.04", "8.1", "-1", "nan", "inf", "1e99", "half"}) {
    EXPECT_THAT(complaint({"record", "--sampler-cpu", bad, "--", "x"}), HasSubstr("CPU cores from 0.05 to 8")) << bad;
  }
}

TEST(Parse, HelpWinsOverWhatIsMissing) {
  auto result = parseArguments({"report", "--help"});
  ASSERT_TRUE(result);
  ASSERT_TRUE(result->print);
  EXPECT_THAT(*result->print, HasSubstr("Usage: warpmeter report"));
}

TEST(Values, BytesExtentsAndTheirLimits) {
  EXPECT_EQ(parseBytes("4096"), 4096);
  EXPECT_EQ(parseBytes("48K"), 48 * 1024);
  EXPECT_EQ(parseBytes("48KiB"), 48 * 1024);
  EXPECT_EQ(parseBytes("1.5G"), std::int64_t{3} << 29);
  for (const char* bad : {"", "K", "-1", "1Q", "1e400", "nan", "9999999999999T"})
    EXPECT_FALSE(parseBytes(bad)) << bad;
  EXPECT_EQ(parseExtent("16x8x2")->count(), 256);
  EXPECT_EQ(parseExtent("528")->count(), 528);
  EXPECT_EQ(parseExtent("2147483647x65535x65535")->count(), std::int64_t{2147483647} * 65535 * 65535) << "the largest grid";
  for (const char* bad :
       {"", "x", "0", "1x", "1x2x3x4", "-1", "4294967296", "2147483647x2147483647x2147483647"})
    EXPECT_FALSE(parseExtent(bad)) << bad;
}

TEST(ExitCodes, FollowTheVerb) {
  EXPECT_EQ(exitCodeOf(ErrorKind::usage, Verb::record), 2);
  EXPECT_EQ(exitCodeOf(ErrorKind::exists, Verb::record), 125);
  EXPECT_EQ(exitCodeOf(ErrorKind::diskFull, Verb::record), 125);
  for (const auto kind :
       {ErrorKind::notFound, ErrorKind::isDirectory, ErrorKind::noPermission, ErrorKind::empty,
        ErrorKind::foreign, ErrorKind::newerMajor, ErrorKind::truncated, ErrorKind::unsupported})
    EXPECT_EQ(exitCodeOf(kind, Verb::report), 2);
}

}  // namespace
}  // namespace warpmeter::cli
