// SPDX-License-Identifier: Apache-2.0
// PC sampling from end to end: the real recorder, sampler program and injected library under the fake CUPTI;
// what it samples is in tests/fake_cupti/fake_pc.h. Source lines of real code by the real CUPTI, which needs
// no GPU for them.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <tuple>

#include "collector/recorder/recorder_process.h"
#include "fake_pc.h"
#include "warpmeter/wire/pc.h"

namespace warpmeter::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kFirst[] = "_Z6vecAddPfS_S_i", kSecond[] = "_Z5scalePff";

RecorderCommand pc() {
  RecorderCommand command;
  command.arguments = {"--counters", "pc", "--sampler", WARPMETER_SAMPLER};
  return command;
}

struct PcFile {
  explicit PcFile(const std::string& path) {
    auto reader = ProfileReader::open(path);
    if (!reader) return;
    if (auto s = reader->pcSamples()) samples = *s;
    if (auto r = reader->pcRuns()) runs = *r;
  }
  std::vector<PcSamples> samples;
  std::vector<PcRun> runs;
};

using Key = std::tuple<std::string, std::int64_t, std::string>;  // function, offset, reason
std::map<Key, std::int64_t> samplesOf(const std::vector<PcSamples>& rows) {
  std::map<Key, std::int64_t> all;
  for (const PcSamples& row : rows) all[{row.function, row.pcOffset, row.stallReason}] += row.samples;
  return all;
}
void addLaunches(std::map<Key, std::int64_t>& samples, const std::string& function, std::int64_t launches) {
  for (std::uint32_t i = 0; i < fake::kPcOffsets; ++i) {
    samples[{function, (i + 1) * 0x10, fake::kPcReasonNames[i % fake::kPcReasons]}] += launches * (i + 1);
    if (i % fake::kPcReasons == 0 && i > 0)
      samples[{function, (i + 1) * 0x10, fake::kPcTwinName}] += launches * i;
  }
}
std::map<Key, std::int64_t> expected(std::int64_t launches) {
  std::map<Key, std::int64_t> samples;
  addLaunches(samples, kFirst, (launches + 1) / 2);
  addLaunches(samples, kSecond, launches / 2);
  return samples;
}

TEST(PcProcess, SamplesArriveAsRows) {
  RecorderProcess recorder(pc());
  ASSERT_TRUE(recorder.ready()) << recorder.firstMessage().text;
  const GuestResult app =
      recorder.record({"normal", "--launches", "500", "--threads", "2"}, {"WARPMETER_PC=auto"});
  EXPECT_TRUE(app.exited(0));
  const auto summary = recorder.finish();
  ASSERT_TRUE(summary.has_value());
  const Recorded file(recorder.output());
  ASSERT_EQ(file.error, "");
  EXPECT_EQ(file.kernels.size(), 1000u);
  EXPECT_EQ(file.losses.size(), 0u) << file.lossText();
  EXPECT_EQ(file.session.counters, "pc");
  EXPECT_STREQ(summary->counters, "pc");
  EXPECT_EQ(summary->complete, 1u);
  EXPECT_THAT(file.session.countersText,
              HasSubstr("PC sampling: 10000 samples in 2 functions, one every 262144 cycles"));
  EXPECT_THAT(file.session.countersText, HasSubstr("no source lines"));
  const PcFile found(recorder.output());
  EXPECT_EQ(samplesOf(found.samples), expected(1000));
  EXPECT_EQ(found.samples.size(), expected(1000).size());  // one row for each
  std::set<std::string> mangled;
  for (const KernelRow& row : file.kernels) mangled.insert(file.text(row.mangledName));
  for (const PcSamples& row : found.samples) {
    EXPECT_TRUE(mangled.contains(row.function)) << row.function;  // what kernels are joined by
    EXPECT_EQ(row.globalPid, file.kernels.front().globalPid);
    EXPECT_TRUE(isNull(row.line));
  }
  ASSERT_EQ(found.runs.size(), 1u);
  EXPECT_EQ(found.runs[0].chip, "GH100");
  EXPECT_EQ(found.runs[0].periodCycles, 262144);
  EXPECT_EQ(found.runs[0].samples, 11000);
  EXPECT_EQ(found.runs[0].otherKernels, 1000);
  EXPECT_EQ(found.runs[0].dropped, 0);
  std::map<std::string, std::int64_t> costs;
  for (const SelfCostInfo& cost : file.costs) costs[cost.what] = cost.count;
  EXPECT_EQ(costs["guest.pc_setup"], 1);
  EXPECT_EQ(costs["guest.pc_names"], 2);
  EXPECT_TRUE(costs.contains("guest.pc_read"));
}

TEST(PcProcess, LinesAreThereWhereTheCodeHasThem) {
  RecorderProcess recorder(pc());
  const GuestResult app = recorder.record({"normal", "--launches", "100", "--line-info"}, {"WARPMETER_PC=9"});
  EXPECT_TRUE(app.exited(0));
  recorder.finish();
  const Recorded file(recorder.output());
  EXPECT_EQ(file.losses.size(), 0u) << file.lossText();
  EXPECT_THAT(file.session.countersText, HasSubstr("one every 512 cycles; with source lines"));
  const PcFile found(recorder.output());
  EXPECT_EQ(samplesOf(found.samples), expected(100));
  for (const PcSamples& row : found.samples) {
    EXPECT_EQ(row.file, "/src/kernels.cu");
    EXPECT_EQ(row.line, 10 + row.pcOffset / 16);
  }
}

TEST(PcProcess, ReloadedCodeKeepsItsNamesAndLines) {
  RecorderProcess recorder(pc());
  recorder.record({"reload", "--launches", "50", "--line-info"},
                  {"WARPMETER_PC=auto", "FAKE_CUDA_REUSE_NAMES=1"});
  recorder.finish();
  std::map<Key, std::int64_t> all = expected(50);
  addLaunches(all, "_Z6matMulPfS_S_i", 25);
  addLaunches(all, "_Z7softmaxPfi", 25);
  const PcFile found(recorder.output());
  EXPECT_EQ(samplesOf(found.samples), all);
  for (const PcSamples& row : found.samples) EXPECT_EQ(row.file, "/src/kernels.cu") << row.function;
}

TEST(PcProcess, LossesAreTold) {
  RecorderProcess recorder(pc());
  recorder.record({"two-contexts", "--launches", "100"}, {"WARPMETER_PC=auto", "FAKE_CUPTI_PC_DROP=2"});
  const auto summary = recorder.finish();
  const Recorded file(recorder.output());
  std::map<std::string, std::int64_t> losses;
  for (const LossInfo& loss : file.losses) {
    EXPECT_EQ(loss.kind, "pc_samples");
    losses[loss.why] = loss.count;
  }
  EXPECT_EQ(losses["the hardware dropped samples of instructions"], 200);
  EXPECT_EQ(losses["contexts beside the first one of their GPU were not sampled"], 1);
  EXPECT_EQ(losses.size(), 2u) << file.lossText();
  EXPECT_THAT(file.session.countersText, HasSubstr("15.4 % dropped by the hardware"));  // 2 of 13
  ASSERT_TRUE(summary.has_value());
  EXPECT_EQ(summary->complete, 1u);  // samples are some of many in any case
}

TEST(PcProcess, FullBufferIsALossOfUnknownSize) {
  RecorderProcess recorder(pc());
  recorder.record({"normal", "--launches", "500", "--pause-us", "1000"},
                  {"WARPMETER_PC=auto", "WARPMETER_FLUSH_MS=50", "FAKE_CUPTI_PC_FULL=4"});
  recorder.finish();
  const Recorded file(recorder.output());
  ASSERT_EQ(file.losses.size(), 1u) << file.lossText();
  EXPECT_EQ(file.losses[0].kind, "pc_samples");
  EXPECT_TRUE(isNull(file.losses[0].count));
  EXPECT_THAT(file.losses[0].why, HasSubstr("--pc-period"));
  EXPECT_EQ(file.session.counters, "pc");
}

TEST(PcProcess, KilledProgramKeepsWhatWasDelivered) {
  RecorderProcess recorder(pc());
  GuestProcess guest(recorder.guest({"storm", "--kernels", "2", "--pause-us", "200"}, {"WARPMETER_PC=auto"}));
  recorder.appStarted(guest.pid());
  guest.waitForLine("ready 1");
  usleep(1500000);
  kill(guest.pid(), SIGKILL);
  const GuestResult result = guest.wait();
  recorder.appEnded(guest.pid(), result.waitStatus);
  ASSERT_TRUE(recorder.finish().has_value());
  const Recorded file(recorder.output());
  EXPECT_EQ(file.session.endedHow, "killed(9)");
  EXPECT_EQ(file.session.counters, "pc");
  const PcFile found(recorder.output());
  std::int64_t sampled = 0;
  for (const PcSamples& row : found.samples)
    sampled += row.stallReason == fake::kPcTwinName ? 0 : row.samples;
  const auto launches = static_cast<std::int64_t>(file.kernels.size() + file.untimed.size());
  EXPECT_GT(sampled, launches * fake::kPcPerLaunch / 2);  // 1.5 s, read every 0.25 s
  EXPECT_EQ(sampled % fake::kPcPerLaunch, 0);
}

TEST(PcProcess, EachProcessHasItsRows) {
  RecorderProcess recorder(pc());
  recorder.record({"exec", "--launches", "100"}, {"WARPMETER_PC=auto"});
  recorder.finish();
  const PcFile found(recorder.output());
  std::map<std::int64_t, std::vector<PcSamples>> byProcess;
  for (const PcSamples& row : found.samples) byProcess[row.globalPid].push_back(row);
  ASSERT_EQ(byProcess.size(), 2u);
  for (const auto& [pid, rows] : byProcess) EXPECT_EQ(samplesOf(rows), expected(100));
  EXPECT_EQ(found.runs.size(), 2u);
}

TEST(PcProcess, OnlyTheCapturedPartIsCounted) {
  RecorderCommand command = pc();
  command.arguments.insert(command.arguments.end(), {"--capture-range", "cudaProfilerApi"});
  RecorderProcess recorder(command);
  recorder.record({"capture", "--launches", "300", "--pause-us", "1000"},
                  {"WARPMETER_PC=auto", "WARPMETER_FLUSH_MS=20"});
  recorder.finish();
  const PcFile found(recorder.output());
  std::int64_t sampled = 0;
  for (const PcSamples& row : found.samples)
    sampled += row.stallReason == fake::kPcTwinName ? 0 : row.samples;
  EXPECT_GT(sampled, 300 * fake::kPcPerLaunch / 2);
  EXPECT_LT(sampled, 300 * fake::kPcPerLaunch * 3 / 2);
}

TEST(PcProcess, WithoutIt) {
  RecorderProcess recorder;
  const GuestResult app = recorder.record({"normal", "--launches", "100"});
  recorder.finish();
  EXPECT_EQ(app.value("pcCalls"), 0);
  EXPECT_TRUE(PcFile(recorder.output()).samples.empty());
}

struct Refusal {
  const char* environment;
  const char* reason;
  const char* text;
};
class PcRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(PcRefusal, ReasonIsInTheFile) {
  RecorderProcess recorder(pc());
  const GuestResult app = recorder.record({"normal", "--launches", "100", "--exit-code", "3"},
                                          {"WARPMETER_PC=auto", GetParam().environment});
  EXPECT_TRUE(app.exited(3));
  ASSERT_TRUE(recorder.finish().has_value());
  const Recorded file(recorder.output());
  EXPECT_EQ(file.kernels.size(), 100u);
  EXPECT_EQ(file.losses.size(), 0u) << file.lossText();
  EXPECT_EQ(file.session.counters, GetParam().reason);
  EXPECT_THAT(file.session.countersText, HasSubstr(GetParam().text));
  EXPECT_TRUE(PcFile(recorder.output()).samples.empty());
}
INSTANTIATE_TEST_SUITE_P(
    Each, PcRefusal,
    testing::Values(Refusal{"FAKE_CUPTI_FAIL=cuptiPCSamplingEnable=35", "no_permission",
                            "cuptiPCSamplingEnable"},
                    Refusal{"FAKE_CUPTI_FAIL=cuptiPCSamplingEnable=26", "counters_busy", "error 26"},
                    Refusal{"FAKE_CUPTI_FAIL=cuptiPCSamplingEnable=27", "unsupported_chip", "error 27"},
                    Refusal{"FAKE_CUPTI_VERSION=24", "not_recorded", "12.8"}));

TEST(PcProcess, MissingSamplerProgramCostsTheLinesOnly) {
  RecorderCommand command = pc();
  command.arguments.back() = "/nonexistent/warpmeter-sampler";
  RecorderProcess recorder(command);
  recorder.record({"normal", "--launches", "100", "--line-info"}, {"WARPMETER_PC=auto"});
  recorder.finish();
  const Recorded file(recorder.output());
  EXPECT_EQ(file.session.counters, "pc");
  EXPECT_THAT(file.session.countersText, HasSubstr("/nonexistent/warpmeter-sampler"));
  EXPECT_EQ(samplesOf(PcFile(recorder.output()).samples), expected(100));
}

TEST(PcProcess, OtherCombinationsAreRefused) {
  for (const char* value : {"pc,pc", "pc,sample", "sample,pc", "exact,pc", "none,pc", "pc,"}) {
    RecorderCommand command;
    command.arguments = {"--counters", value};
    EXPECT_FALSE(RecorderProcess(command).ready()) << value;
  }
}

// The real CUPTI on a cubin that nvcc made with -lineinfo, and on one without.
class SourceLines : public testing::Test {
 protected:
  static std::string bytesOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // (file, line) of each offset in the kernel.
  static std::vector<std::pair<std::string, std::uint32_t>> ask(const std::string& cubin,
                                                                const std::string& function,
                                                                const std::vector<std::uint64_t>& offsets, int exitCode = 0) {
    const std::string image = bytesOf(cubin),
                      names = "unused" + std::string(1, '\0') + function + std::string(1, '\0');
    EXPECT_FALSE(image.empty()) << cubin;
    const wire::LineRequest request{wire::kLineRequestMagic, static_cast<std::uint32_t>(offsets.size()),
                                    names.size(), image.size(), 77};
    std::string input(reinterpret_cast<const char*>(&request), sizeof request);
    input += names;
    for (const std::uint64_t offset : offsets) {
      const wire::LineQuery query{offset, 7, 0};
      input.append(reinterpret_cast<const char*>(&query), sizeof query);
    }
    input += image;
    const std::string folder = testing::TempDir(), in = folder + "/lines.in", out = folder + "/lines.out";
    std::ofstream(in, std::ios::binary) << input;
    // libcupti 13.0 keeps memory of its answers, which is what a leak checker ends the sampler for.
    const std::string command = "ASAN_OPTIONS=detect_leaks=0 " WARPMETER_SAMPLER " --source-lines <" + in + " >" + out;
    EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), exitCode);
    const std::string output = bytesOf(out);
    std::vector<std::pair<std::string, std::uint32_t>> lines;
    wire::LineReply reply{};
    if (output.size() < sizeof reply) return lines;
    std::memcpy(&reply, output.data(), sizeof reply);
    EXPECT_EQ(reply.magic, wire::kLineReplyMagic);
    EXPECT_EQ(reply.tag, 77u);
    EXPECT_EQ(reply.answers, offsets.size());
    const char* answers = output.data() + sizeof reply;
    const char* texts = answers + reply.answers * sizeof(wire::LineAnswer);
    EXPECT_EQ(output.size(), sizeof reply + reply.answers * sizeof(wire::LineAnswer) + reply.textBytes);
    for (std::uint32_t i = 0; i < reply.answers; ++i) {
      wire::LineAnswer answer{};
      std::memcpy(&answer, answers + i * sizeof answer, sizeof answer);
      lines.emplace_back(texts + answer.file, answer.line);
    }
    return lines;
  }
};

TEST_F(SourceLines, AreThoseOfTheSource) {
  const auto lines = ask(WARPMETER_CUBIN_LINES, "square", {0, 0x20, 0x40, 0x60, 0x80, 0xa0, 0xc0});
  ASSERT_EQ(lines.size(), 7u);
  std::set<std::uint32_t> seen;
  for (const auto& [file, line] : lines) {
    EXPECT_EQ(file, WARPMETER_CUBIN_SOURCE);
    seen.insert(line);
  }
  EXPECT_THAT(seen, testing::IsSubsetOf({4u, 5u, 6u, 7u, 8u}));  // the kernel's and the inlined function's
  EXPECT_GE(seen.size(), 3u);
}

TEST_F(SourceLines, AreNotMadeUp) {
  for (const auto& [file, line] : ask(WARPMETER_CUBIN_PLAIN, "square", {0, 0x20})) {
    EXPECT_EQ(file, "");
    EXPECT_EQ(line, 0u);
  }
  for (const auto& [file, line] : ask(WARPMETER_CUBIN_LINES, "noSuchFunction", {0, 0x20}, 1)) {
    EXPECT_EQ(file, "");
    EXPECT_EQ(line, 0u);
  }
}

}  // namespace
}  // namespace warpmeter::test
