// SPDX-License-Identifier: Apache-2.0
// The program itself, without a GPU: what it says when there is no CUPTI, and that it ends when it is told
// to.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpmeter/profile/sample_pack.h"
#include "warpmeter/wire/sampler.h"

extern char** environ;

namespace {

using warpmeter::wire::SamplerKind;
using warpmeter::wire::SamplerMessage;

struct Outcome {
  int status = -1;
  std::string out, err;
};

class Program {
 public:
  explicit Program(std::vector<std::string> arguments, std::vector<std::string> environment = {}) {
    int in[2], out[2], err[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    posix_spawn_file_actions_adddup2(&actions, err[1], 2);
    arguments.insert(arguments.begin(), WARPMETER_SAMPLER);
    std::vector<char*> argv;
    for (std::string& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    std::vector<char*> envp;
    for (std::string& e : environment) envp.push_back(e.data());
    for (char** e = environ; *e != nullptr; ++e) {
      if (std::strncmp(*e, "LD_LIBRARY_PATH=", 16) != 0) envp.push_back(*e);
    }
    envp.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, WARPMETER_SAMPLER, &actions, nullptr, argv.data(), envp.data()), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]), close(out[1]), close(err[1]);
    in_ = in[1], out_ = out[0], err_ = err[0];
  }
  ~Program() {
    closeInput();
    close(out_), close(err_);
    if (!waited_) waitpid(pid_, nullptr, 0);
  }
  void closeInput() {
    if (in_ >= 0) close(in_);
    in_ = -1;
  }
  void write(const std::string& text) {
    EXPECT_EQ(::write(in_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  pid_t pid() const { return pid_; }
  std::string readMessage() {  // one message, or what came before the end
    SamplerMessage head;
    std::string text = readBytes(sizeof head);
    if (text.size() < sizeof head) return text;
    std::memcpy(&head, text.data(), sizeof head);
    return text + readBytes(head.bytes);
  }
  Outcome finish() {
    Outcome outcome;
    outcome.out = readBytes(std::string::npos);
    for (char c; ::read(err_, &c, 1) == 1;) outcome.err += c;
    waitpid(pid_, &outcome.status, 0);
    waited_ = true;
    return outcome;
  }

 private:
  std::string readBytes(std::size_t count) {
    std::string text;
    char buffer[65536];
    while (text.size() < count) {
      const ssize_t n = ::read(out_, buffer, std::min(sizeof buffer, count - text.size()));
      if (n <= 0) break;
      text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
  }
  pid_t pid_ = -1;
  bool waited_ = false;
  int in_ = -1, out_ = -1, err_ = -1;
};

SamplerMessage headOf(const std::string& message) {
  SamplerMessage head = {};
  if (message.size() >= sizeof head) std::memcpy(&head, message.data(), sizeof head);
  return head;
}

TEST(SamplerProcess, WithoutCuptiSaysSoAndEnds) {
  Program program({"--cupti", "/nonexistent/libcupti.so.13"});
  const std::string message = program.readMessage();
  const SamplerMessage head = headOf(message);
  EXPECT_EQ(head.magic, warpmeter::wire::kSamplerMagic);
  EXPECT_EQ(head.kind, SamplerKind::unavailable);
  EXPECT_EQ(head.gpu, 0xffffffffu);
  const char* reason = message.c_str() + sizeof head;
  EXPECT_STREQ(reason, "not_recorded");
  EXPECT_NE(std::strstr(reason + std::strlen(reason) + 1, "/nonexistent/libcupti.so.13 cannot be loaded"),
            nullptr);
  EXPECT_EQ(headOf(program.readMessage()).kind, SamplerKind::cost);
  EXPECT_EQ(program.finish().status, 0);
}

TEST(SamplerProcess, EndsAtTheEndOfItsInput) {
  Program program({"--cupti", "/nonexistent/libcupti.so.13"});
  program.closeInput();
  EXPECT_EQ(program.finish().status, 0);
}

TEST(SamplerProcess, OneLineOfJsonWhereNothingCanBeProbed) {
  Program program({"--probe", "--cupti", "/nonexistent/libcupti.so.13"});
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.out.starts_with(
      R"({"uuid":null,"chip":null,"available":false,"reason":"not_recorded","text":"/nonexistent/libcupti.so.13)"))
      << outcome.out;
  EXPECT_TRUE(outcome.out.ends_with(R"("sets":[]})"
                                    "\n"))
      << outcome.out;
}

TEST(SamplerProcess, WrongArgumentsGiveOneLineAndTwo) {
  const Outcome outcome = Program({"--cpu", "much"}).finish();
  EXPECT_EQ(WEXITSTATUS(outcome.status), 2);
  EXPECT_EQ(outcome.err, "warpmeter-sampler: --cpu much: a number of cores from 0.01 to 16 is needed\n");
  EXPECT_TRUE(outcome.out.empty());
}

// With the fake driver and CUPTI. what: FAKE_PM.
class Fake : public Program {
 public:
  explicit Fake(const std::string& what = "", int gpus = 1, std::vector<std::string> arguments = {})
      : Program(withCupti(std::move(arguments)), {"LD_LIBRARY_PATH=" WARPMETER_FAKE_PM, "FAKE_PM=" + what,
                                                  "FAKE_PM_GPUS=" + std::to_string(gpus)}) {}
  // The next message of that kind; others are skipped. Empty at the end.
  std::string next(SamplerKind kind) {
    std::string message;
    do message = readMessage();
    while (message.size() >= sizeof(SamplerMessage) && headOf(message).kind != kind);
    return message;
  }

 private:
  static std::vector<std::string> withCupti(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--cupti", WARPMETER_FAKE_PM "/libcupti.so.13"});
    return arguments;
  }
};

constexpr const char* kFirst = "01010101-0101-0101-0101-010101010101";
constexpr const char* kSecond = "02020202-0202-0202-0202-020202020202";

std::vector<std::string> textsOf(const std::string& message) {
  std::vector<std::string> texts;
  for (std::size_t at = sizeof(SamplerMessage); at < message.size();) {
    texts.emplace_back(message.c_str() + at);
    at += texts.back().size() + 1;
  }
  return texts;
}

void expectSamples(const std::string& message) {
  const SamplerMessage head = headOf(message);
  ASSERT_EQ(head.kind, SamplerKind::batch);
  const auto payload = std::as_bytes(std::span(message).subspan(sizeof head));
  const auto samples = warpmeter::unpackSamples(payload, head.fromNs, head.samples, head.metrics);
  ASSERT_TRUE(samples.has_value());
  ASSERT_GT(head.samples, 0u);
  EXPECT_EQ(head.toNs - head.fromNs, static_cast<std::int64_t>(head.samples) * head.intervalNs);
  for (std::size_t m = 0; m < samples->values.size(); ++m) {
    EXPECT_EQ(samples->values[m].back(), static_cast<std::int64_t>(100 * (m + 1)));
  }
}

TEST(SamplerProcess, SamplesTheOnlyGpuWithoutBeingAsked) {
  Fake program;
  EXPECT_EQ(textsOf(program.next(SamplerKind::gpu)), (std::vector<std::string>{kFirst, "GH100"}));
  const auto metrics = textsOf(program.next(SamplerKind::set));
  ASSERT_EQ(metrics.size(), 6u);
  EXPECT_EQ(metrics[1], "sm__warps_active.sum");
  for (int i = 0; i < 5; ++i) expectSamples(program.next(SamplerKind::batch));
  EXPECT_GT(headOf(program.next(SamplerKind::cost)).fromNs, 0);
  program.write("end\n");
  EXPECT_EQ(program.finish().status, 0);
}

TEST(SamplerProcess, OfSeveralGpusOnlyThoseAskedFor) {
  Fake program("", 2);
  program.write("what is this\ngpu 0abc\ngpu " + std::string(kSecond) + "\n");
  EXPECT_EQ(textsOf(program.next(SamplerKind::gpu)).front(), kSecond);
  expectSamples(program.next(SamplerKind::batch));
  program.write("gpu 0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a\n");
  const std::string unknown = program.next(SamplerKind::gpu);
  EXPECT_EQ(textsOf(unknown).front(), "0a0a0a0a-0a0a-0a0a-0a0a-0a0a0a0a0a0a");
  EXPECT_EQ(headOf(unknown).gpu, 1u);
  const std::string unavailable = program.next(SamplerKind::unavailable);
  EXPECT_EQ(textsOf(unavailable).front(), "unsupported_chip");
  EXPECT_EQ(headOf(unavailable).gpu, 1u);
  program.write("end\n");
  const Outcome outcome = program.finish();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.err.find("not understood: 'what is this'"), std::string::npos);
  EXPECT_EQ(outcome.out.find(kFirst), std::string::npos);
}

TEST(SamplerProcess, PausesAndResumes) {
  Fake program;
  expectSamples(program.next(SamplerKind::batch));
  program.write("pause " + std::string(kFirst) + "\n");
  EXPECT_EQ(headOf(program.next(SamplerKind::paused)).gpu, 0u);
  // While paused nothing comes but what the sampling cost.
  EXPECT_EQ(headOf(program.readMessage()).kind, SamplerKind::cost);
  EXPECT_EQ(headOf(program.readMessage()).kind, SamplerKind::cost);
  program.write("resume " + std::string(kFirst) + "\n");
  expectSamples(program.next(SamplerKind::batch));
  program.closeInput();
  EXPECT_EQ(program.finish().status, 0);
}

// At the first change, since a session keeps its interval.
TEST(SamplerProcess, IntervalsFollowTheKernels) {
  Fake program;
  EXPECT_EQ(headOf(program.next(SamplerKind::batch)).intervalNs, 2'000u);
  program.write("kernel 3000000\n");
  std::uint32_t interval = 0;
  for (int i = 0; i < 5000 && interval != 50'000; ++i) {
    const std::string message = program.next(SamplerKind::batch);
    interval = headOf(message).intervalNs;
    expectSamples(message);
  }
  EXPECT_EQ(interval, 50'000u);
}

TEST(SamplerProcess, NoPermissionNamesTheRemedy) {
  Fake program("denied");
  const auto texts = textsOf(program.next(SamplerKind::unavailable));
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0], "no_permission");
  EXPECT_NE(texts[1].find("35 CUPTI_ERROR_INSUFFICIENT_PRIVILEGES): run as root"), std::string::npos)
      << texts[1];
  // The lease is answered although there is no session.
  program.write("pause " + std::string(kFirst) + "\n");
  EXPECT_EQ(headOf(program.next(SamplerKind::paused)).gpu, 0u);
  program.write("end\n");
  EXPECT_EQ(program.finish().status, 0);
}

TEST(SamplerProcess, EndsAlthoughACallHangs) {
  for (const char* where : {"hang", "hang-load"}) {
    Fake program(where);
    const bool started = where == std::string_view("hang");
    EXPECT_TRUE(!started || !program.next(SamplerKind::set).empty());
    program.write("end\n");
    EXPECT_EQ(program.finish().status, 0) << where;
  }
}

TEST(SamplerProcess, SigtermEndsItInOrder) {
  Fake program;
  expectSamples(program.next(SamplerKind::batch));
  kill(program.pid(), SIGTERM);
  EXPECT_EQ(program.finish().status, 0);
}

TEST(SamplerProcess, RefusesCuptiVersionsByName) {
  for (const auto& [version, text] :
       {std::pair{"version 130000", "CUPTI 130000"}, {"version 23", "CUPTI 23 is too old"}}) {
    Fake program(version);
    const auto texts = textsOf(program.next(SamplerKind::unavailable));
    ASSERT_EQ(texts.size(), 2u);
    EXPECT_TRUE(texts[1].starts_with(text)) << texts[1];
    EXPECT_EQ(program.finish().status, 0);
  }
}

TEST(SamplerProcess, ProbeSaysWhatCanBeSampled) {
  const Outcome good = Fake("", 2, {"--probe"}).finish();
  EXPECT_EQ(good.status, 0);
  EXPECT_TRUE(good.out.starts_with(
      R"({"uuid":"01010101-0101-0101-0101-010101010101","chip":"GH100","available":true,"reason":null,"text":null,"sets":[["sm__cycles_active.sum")"))
      << good.out;
  EXPECT_EQ(std::count(good.out.begin(), good.out.end(), '\n'), 2);
  const Outcome denied = Fake("denied", 1, {"--probe"}).finish();
  EXPECT_NE(denied.out.find(R"("available":false,"reason":"no_permission")"), std::string::npos)
      << denied.out;
}

TEST(SamplerProcess, MeasuresWhatCallsCost) {
  const Outcome good = Fake("", 1, {"--measure"}).finish();
  EXPECT_EQ(good.status, 0);
  EXPECT_NE(good.out.find("SetConfig"), std::string::npos) << good.out;
  // What the fake does like CUPTI 13.0 is found out.
  const std::size_t second = good.out.find("the same counters, 5 us: SetConfig 0");
  ASSERT_NE(second, std::string::npos) << good.out;
  EXPECT_NE(good.out.find("every 20000 ns", second), std::string::npos) << good.out;
  EXPECT_NE(good.out.find("first decoding: 56 samples every 5000 ns, image full"), std::string::npos)
      << good.out;
  EXPECT_NE(good.out.find("second decoding: 0 samples"), std::string::npos) << good.out;
  const Outcome none = Fake("", 0, {"--measure"}).finish();
  EXPECT_EQ(WEXITSTATUS(none.status), 1);
  EXPECT_NE(none.err.find("GPU"), std::string::npos) << none.err;
}

TEST(SamplerProcess, ListsSetsAndKnownChips) {
  const Outcome good = Fake("", 1, {"--list-sets", "GH100"}).finish();
  EXPECT_EQ(good.status, 0);
  EXPECT_TRUE(good.out.starts_with("group 0, 6 counters, from 2 us")) << good.out;
  const Outcome bad = Fake("", 1, {"--list-sets", "XX1"}).finish();
  EXPECT_EQ(WEXITSTATUS(bad.status), 2);
  EXPECT_NE(bad.err.find("'XX1'; it knows GH100"), std::string::npos) << bad.err;
}

}  // namespace
