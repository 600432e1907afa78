// SPDX-License-Identifier: Apache-2.0
// The program itself, without a GPU: what it says when there is no CUPTI, and that it ends when it is told
// to.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

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
  explicit Program(std::vector<std::string> arguments) {
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
    EXPECT_EQ(posix_spawn(&pid_, WARPMETER_SAMPLER, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(in[0]), close(out[1]), close(err[1]);
    in_ = in[1], out_ = out[0], err_ = err[0];
  }
  ~Program() {
    closeInput();
    close(out_), close(err_);
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
    return outcome;
  }

 private:
  std::string readBytes(std::size_t count) {
    std::string text;
    for (char c; text.size() < count && ::read(out_, &c, 1) == 1;) text += c;
    return text;
  }
  pid_t pid_ = -1;
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

}  // namespace
