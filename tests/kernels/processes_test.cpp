// SPDX-License-Identifier: Apache-2.0
// What kernels/processes/many_processes needs beside a GPU: its children and their lines, and a daemon of
// MPS, which a script plays here.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "common/program.h"
#include "processes/child.h"
#include "processes/mps.h"

namespace warpmeter::kernels {
namespace {

Child shell(const std::string& script) { return Child("/bin/sh", {"-c", script}, "/pipes of mps"); }

Failure failureOf(const Child& child) {
  try {
    return {0, "answered " + child.answer()};
  } catch (const Failure& failure) {
    return failure;
  }
}

TEST(KernelChild, LinesGoToAndFro) {
  const Child child = shell(R"(while read line <&3; do echo "heard $line" >&3; done)");
  child.say("one");
  EXPECT_EQ(child.answer(), "heard one");
  child.say("two words");
  EXPECT_EQ(child.answer(), "heard two words");
}

TEST(KernelChild, HasTheGivenFolderForMps) {
  setenv("CUDA_MPS_PIPE_DIRECTORY", "/of/the/user", 1);
  const Child child = shell(R"(echo "$CUDA_MPS_PIPE_DIRECTORY" >&3)");
  unsetenv("CUDA_MPS_PIPE_DIRECTORY");
  EXPECT_EQ(child.answer(), "/pipes of mps");
}

TEST(KernelChild, PassesOnWhyItFailed) {
  const Failure failure = failureOf(shell("echo failed 2 --n is too large >&3"));
  EXPECT_EQ(failure.exitCode, 2);
  EXPECT_EQ(failure.message, "--n is too large");
}

TEST(KernelChild, ItsEarlyEndIsAFailure) {
  const Failure failure = failureOf(shell("exit 0"));
  EXPECT_EQ(failure.exitCode, 1);
  EXPECT_NE(failure.message.find("has ended"), std::string::npos) << failure.message;
}

// Neither it nor another child holds its lines open. The first child's would be hidden by its own
// descriptor 3.
TEST(KernelChild, EndsByItselfWhenItsLinesAreClosed) {
  const std::string file = testing::TempDir() + "child_end_" + std::to_string(getpid());
  const Child first = shell("read line <&3");
  auto ending = std::make_unique<Child>(shell("while read line <&3; do :; done; echo bye > " + file));
  const Child later = shell("read line <&3");
  ending.reset();
  std::ifstream stream(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "bye\n");
  std::filesystem::remove(file);
}

// A folder on PATH with this script in place of the daemon's program.
class FakeMps : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "fake_mps_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
    path_ = std::getenv("PATH");
    setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  void write(const std::string& script) const {
    const std::string program = folder_ + "/nvidia-cuda-mps-control";
    std::ofstream(program) << "#!/bin/sh\n" << script;
    chmod(program.c_str(), 0700);
  }
  std::string noted(const std::string& file) const {
    std::ifstream stream(folder_ + "/" + file);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  std::string folder_;
  std::string path_;
};

// With -f the daemon; without, the command line, which takes commands from stdin. "$d" is its folder.
constexpr const char* kDaemon = R"(
d=$CUDA_MPS_PIPE_DIRECTORY
here=$(dirname "$0")
if [ "$1" = -f ]; then
  echo "${CUDA_INJECTION64_PATH-no} ${CUDA_VISIBLE_DEVICES-all}" > "$here/seen"
  touch "$d/log" "$d/control"
  while [ ! -e "$d/quit" ]; do sleep 0.02; done
  echo ended > "$here/end"
else
  read command
  case $command in
    get_server_list) cat "$here/servers" ;;
    quit) touch "$d/quit" ;;
  esac
fi
)";

TEST_F(FakeMps, DaemonIsStartedAskedAndEnded) {
  write(kDaemon);
  setenv("CUDA_INJECTION64_PATH", "/some/library.so", 1);
  setenv("CUDA_VISIBLE_DEVICES", "3", 1);
  std::string pipes;
  {
    const PipeFolder folder;
    pipes = folder.path();
    const MpsDaemon daemon(folder);
    unsetenv("CUDA_INJECTION64_PATH");
    unsetenv("CUDA_VISIBLE_DEVICES");
    ASSERT_EQ(daemon.obstacle(), "");
    EXPECT_EQ(noted("seen"), "no all\n") << "it is not recorded, and sees all GPUs";
    std::ofstream(folder_ + "/servers") << "Server not found\n";
    EXPECT_FALSE(daemon.hasServer());
    std::ofstream(folder_ + "/servers") << "4711\n";
    EXPECT_TRUE(daemon.hasServer());
    EXPECT_EQ(noted("end"), "");
  }
  EXPECT_EQ(noted("end"), "ended\n") << "by itself, after quit";
  EXPECT_FALSE(std::filesystem::exists(pipes));
}

TEST_F(FakeMps, DaemonThatMayNotRunIsAnObstacle) {
  write("exit 3\n");
  const PipeFolder folder;
  const MpsDaemon daemon(folder);
  EXPECT_EQ(daemon.obstacle(), "its daemon ended at once with status 3");
}

TEST_F(FakeMps, AbsentDaemonIsAnObstacle) {
  if (access("/usr/bin/nvidia-cuda-mps-control", X_OK) == 0) {
    GTEST_SKIP() << "/usr/bin has nvidia-cuda-mps-control";
  }
  setenv("PATH", folder_.c_str(), 1);
  const PipeFolder folder;
  const MpsDaemon daemon(folder);
  EXPECT_EQ(daemon.obstacle(), "nvidia-cuda-mps-control is not installed");
}

}  // namespace
}  // namespace warpmeter::kernels
