// SPDX-License-Identifier: Apache-2.0
// A full disk and a file size limit: the writer says so, writes its loss row, and leaves a file that can be
// read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "profile/profile_files.h"
#include "profile/scratch.h"

namespace warpmeter {
namespace {

using namespace test;

constexpr int kNotPossible = 77;

// Fails the child with a line that says which step went wrong.
struct Failed {};
void check(bool ok, const char* what, const std::string& detail = "") {
  if (ok) return;
  fprintf(stderr, "failed: %s %s\n", what, detail.c_str());
  throw Failed{};
}

int inChild(const std::function<void()>& work) {
  const pid_t pid = fork();
  if (pid == 0) {
    try {
      work();
      _exit(0);
    } catch (int code) {
      _exit(code);
    } catch (const std::exception& e) {
      fprintf(stderr, "failed: %s\n", e.what());
      _exit(1);
    } catch (...) {
      _exit(1);
    }
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Writes until an append or commit fails. The rows that were committed by then.
std::int64_t fillUp(ProfileWriter& writer, std::size_t batchRows, int batchesPerCommit) {
  std::vector<KernelRow> rows(batchRows, launch(1'000'000'000'000, 2'000'000'000'000));
  for (int i = 1; i < 100'000; ++i) {
    Result<void> r = writer.append(std::span<const KernelRow>(rows));
    if (r && i % batchesPerCommit == 0) r = writer.commit();
    if (r) continue;
    check(r.error().kind == ErrorKind::diskFull, "the error is 'disk full'", r.error().message);
    return writer.rowsWritten();
  }
  check(false, "the disk gets full");
  return 0;
}

void writeUntilFull(const std::filesystem::path& path, std::size_t batchRows, int batchesPerCommit) {
  Result<ProfileWriter> writer = ProfileWriter::create(path, {});
  check(writer.ok(), "create", writer ? "" : writer.error().message);
  const std::int64_t committed = fillUp(*writer, batchRows, batchesPerCommit);
  const Result<void> closed = writer->closeAfterError({ErrorKind::diskFull, "no space left"}, 77, 1234);
  check(closed.ok(), "the loss row is written", closed ? "" : closed.error().message);
  check(!appendOne(*writer, launch(1, 2)), "later rows are refused");
  SessionInfo session;
  session.endedNs = 99;
  const Result<bool> finished = writer->finish(session);
  check(finished && !*finished, "finish() leaves the file as it is");
  // While the writer is open, and after it has gone.
  for (int i = 0; i < 2; ++i) {
    const ProfileReader reader = openReader(path);
    check(static_cast<std::int64_t>(readAll<KernelRow>(reader).size()) == committed,
          "all committed rows are there");
    const std::vector<LossInfo> losses = valueOf(reader.losses());
    check(losses.size() == 1 && losses[0].kind == "disk_full" && losses[0].why == "no space left" &&
              losses[0].count == 1234 && losses[0].fromNs == 77,
          "the loss row is right");
    if (i == 0) ProfileWriter(std::move(*writer));
  }
}

void mountSmall(const std::filesystem::path& folder, const char* options) {
  if (geteuid() != 0 && unshare(CLONE_NEWUSER) != 0) throw kNotPossible;
  if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("none", folder.c_str(), "tmpfs", 0, options) != 0) {
    throw kNotPossible;
  }
}

struct Size {
  const char* options;
  std::size_t batchRows;
  int batchesPerCommit;
};

class FullDisk : public testing::TestWithParam<Size> {};

TEST_P(FullDisk, LossRowIsWrittenAndTheFileIsReadable) {
  const Scratch scratch;
  const int result = inChild([&] {
    mountSmall(scratch.folder(), GetParam().options);
    writeUntilFull(scratch / "a", GetParam().batchRows, GetParam().batchesPerCommit);
  });
  if (result == kNotPossible) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_EQ(result, 0);
}

INSTANTIATE_TEST_SUITE_P(Sizes, FullDisk,
                         testing::Values(Size{"size=6m", 100, 1}, Size{"size=6m", 5000, 1000},
                                         Size{"size=16m", 3000, 3}, Size{"size=60m", 10'000, 9},
                                         Size{"size=7m", 1, 1}),
                         [](const auto& each) { return "Case" + std::to_string(each.index); });

TEST(FullDiskAtStart, NothingIsLeftBehind) {
  const Scratch scratch;
  const int result = inChild([&] {
    mountSmall(scratch.folder(), "size=64k");
    const Result<ProfileWriter> writer = ProfileWriter::create(scratch / "a", {});
    check(!writer && writer.error().kind == ErrorKind::diskFull, "create fails",
          writer ? "" : writer.error().message);
    check(std::filesystem::is_empty(scratch.folder()), "nothing is left behind");
  });
  if (result == kNotPossible) GTEST_SKIP() << "no mount namespaces here";
  EXPECT_EQ(result, 0);
}

class FileSizeLimit : public testing::TestWithParam<Size> {};

TEST_P(FileSizeLimit, LossRowIsWrittenAndTheFileIsReadable) {
  const Scratch scratch;
  EXPECT_EQ(inChild([&] {
              signal(SIGXFSZ, SIG_IGN);  // as the recorder does
              const auto bytes = static_cast<rlim_t>(std::strtoul(GetParam().options, nullptr, 10));
              const struct rlimit limit { bytes, bytes };
              check(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
              writeUntilFull(scratch / "a", GetParam().batchRows, GetParam().batchesPerCommit);
            }),
            0);
}

// 1048576 = ulimit -f 1024
INSTANTIATE_TEST_SUITE_P(Limits, FileSizeLimit,
                         testing::Values(Size{"1048576", 100, 1}, Size{"1048576", 100, 10},
                                         Size{"1048576", 20'000, 1}, Size{"20000000", 5000, 2},
                                         Size{"20000000", 5000, 1000}),
                         [](const auto& each) { return "Case" + std::to_string(each.index); });

TEST(FileSizeLimitAtStart, NothingIsLeftBehind) {
  const Scratch scratch;
  EXPECT_EQ(inChild([&] {
              signal(SIGXFSZ, SIG_IGN);
              const struct rlimit limit { 20'000, 20'000 };
              check(setrlimit(RLIMIT_FSIZE, &limit) == 0, "setrlimit");
              const Result<ProfileWriter> writer = ProfileWriter::create(scratch / "a", {});
              check(!writer && writer.error().kind == ErrorKind::diskFull, "create fails",
                    writer ? "" : writer.error().message);
              check(std::filesystem::is_empty(scratch.folder()), "nothing is left behind");
            }),
            0);
}

}  // namespace
}  // namespace warpmeter
