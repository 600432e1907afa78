// SPDX-License-Identifier: Apache-2.0
// Files of a recorder that runs or was killed, read by somebody else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "profile/profile_files.h"
#include "profile/scratch.h"

namespace warpmeter {
namespace {

using namespace test;

constexpr std::size_t kBatch = 100;

std::vector<KernelRow> batchFrom(std::int64_t first) {
  std::vector<KernelRow> rows;
  for (std::size_t i = 0; i < kBatch; ++i)
    rows.push_back(launch(first + static_cast<std::int64_t>(i), 1'000'000));
  return rows;
}

constexpr std::int64_t kEnough = 200 * static_cast<std::int64_t>(kBatch);

// Starts a process that commits batches, says so on a pipe, and never ends by itself.
class EndlessWriter {
 public:
  explicit EndlessWriter(const std::filesystem::path& path) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      write(path, ends[1]);
      _exit(1);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }
  ~EndlessWriter() {
    kill();
    close(pipe_);
  }

  void waitForCommits(int count) {
    for (int i = 0; i < count; ++i) {
      char byte = 0;
      if (read(pipe_, &byte, 1) != 1) throw std::runtime_error("the writer ended");
      ++commits_;
    }
  }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
    // What was announced while we looked away.
    for (char byte = 0; read(pipe_, &byte, 1) == 1;) ++commits_;
  }
  int commits() const { return commits_; }

 private:
  static void write(const std::filesystem::path& path, int out) {
    Result<ProfileWriter> writer = ProfileWriter::create(path, {});
    if (!writer) return;
    for (std::int64_t first = 0;; first += static_cast<std::int64_t>(kBatch)) {
      writer->intern("string " + std::to_string(first));
      if (!writer->append(std::span<const KernelRow>(batchFrom(first)))) return;
      if (first / static_cast<std::int64_t>(kBatch) % 3 != 0) continue;
      if (!writer->commit() || ::write(out, "c", 1) != 1) return;
      usleep(1000);  // the reader reads all rows each time and must keep up
      while (first > kEnough) pause();
    }
  }

  pid_t pid_ = -1;
  int pipe_ = -1;
  int commits_ = 0;
};

// Commits happen after batches 0, 3, 6, ...: n commits hold 3 n - 2 batches.
std::size_t rowsAfter(int commits) { return (static_cast<std::size_t>(commits) * 3 - 2) * kBatch; }

void expectWholeTransactions(const std::vector<KernelRow>& rows) {
  ASSERT_EQ(rows.size() % kBatch, 0u);
  EXPECT_EQ(rows.size() / kBatch % 3, 1u);
  for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i].start, static_cast<std::int64_t>(i));
}

TEST(KilledWriter, EveryCommittedRowIsThere) {
  for (int commits : {1, 2, 7, 40}) {
    const Scratch scratch;
    EndlessWriter writer(scratch / "a");
    writer.waitForCommits(commits);
    writer.kill();
    std::vector<KernelRow> rows;
    {
      const ProfileReader reader = openReader(scratch / "a");
      rows = readAll<KernelRow>(reader);
      EXPECT_TRUE(reader.unfinished());
    }
    expectWholeTransactions(rows);
    EXPECT_GE(rows.size(), rowsAfter(writer.commits()));
    require(finishFile(scratch / "a"));
    EXPECT_EQ(readAll<KernelRow>(openReader(scratch / "a")).size(), rows.size());
    EXPECT_EQ(RawDb(scratch / "a").value("PRAGMA integrity_check"), "ok");
  }
}

TEST(LiveFile, IsReadWhileItGrows) {
  const Scratch scratch;
  EndlessWriter writer(scratch / "a");
  writer.waitForCommits(1);
  const ProfileReader reader = openReader(scratch / "a");
  std::size_t before = 0;
  for (int i = 0; i < 20; ++i) {
    writer.waitForCommits(2);
    const std::vector<KernelRow> rows = readAll<KernelRow>(reader);
    expectWholeTransactions(rows);
    EXPECT_GE(rows.size(), before);
    before = rows.size();
    EXPECT_GE(valueOf(reader.strings()).size(), rows.size() / kBatch);
  }
  EXPECT_GE(before, rowsAfter(41));
  EXPECT_TRUE(reader.unfinished());
}

// Root may write everywhere, so the folder is made read-only by a mount in a namespace of the child's own.
// Exit codes: 0 good, 1 bad, 77 not possible here.
int readInReadOnlyFolder(const std::filesystem::path& folder, std::size_t expected) {
  if (geteuid() == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount(folder.c_str(), folder.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
        mount(nullptr, folder.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) != 0) {
      return 77;
    }
  } else {
    std::filesystem::permissions(folder,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  }
  const Result<ProfileReader> reader = ProfileReader::open(folder / "a");
  if (!reader) {
    fprintf(stderr, "%s\n", reader.error().message.c_str());
    return 1;
  }
  return readAll<KernelRow>(*reader).size() == expected ? 0 : 1;
}

int inChild(const std::function<int()>& work) {
  const pid_t pid = fork();
  if (pid == 0) _exit(work());
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class ReadOnlyFolder : public testing::Test {
 protected:
  ReadOnlyFolder() {
    std::filesystem::create_directory(scratch_ / "run");
    std::filesystem::create_directory(scratch_ / "tmp");
    setenv("TMPDIR", (scratch_ / "tmp").c_str(), 1);
  }
  ~ReadOnlyFolder() override {
    if (had_.empty()) {
      unsetenv("TMPDIR");
    } else {
      setenv("TMPDIR", had_.c_str(), 1);
    }
    std::filesystem::permissions(scratch_ / "run", std::filesystem::perms::owner_all);
  }
  void expectRead(std::size_t rows) {
    const int result = inChild([&] { return readInReadOnlyFolder(scratch_ / "run", rows); });
    if (result == 77) GTEST_SKIP() << "no mount namespaces here";
    EXPECT_EQ(result, 0);
    EXPECT_TRUE(std::filesystem::is_empty(scratch_ / "tmp")) << "a copy was left behind";
  }

  Scratch scratch_;
  std::string had_ = std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "";
};

TEST_F(ReadOnlyFolder, AFileWithItsLogIsReadFromACopy) {
  EndlessWriter writer(scratch_ / "run" / "a");
  writer.waitForCommits(3);
  writer.kill();
  ASSERT_TRUE(std::filesystem::exists(scratch_ / "run" / "a-wal"));
  std::filesystem::remove(scratch_ / "run" / "a-shm");
  // The child reads last: opening the file here would leave a new -shm.
  std::filesystem::copy(scratch_ / "run", scratch_ / "twin");
  expectRead(readAll<KernelRow>(openReader(scratch_ / "twin" / "a")).size());
}

TEST_F(ReadOnlyFolder, AFinishedFileIsReadInPlace) {
  {
    ProfileWriter writer = createWriter(scratch_ / "run" / "a");
    require(appendOne(writer, launch(1, 2)));
    EXPECT_TRUE(valueOf(writer.finish({})));
  }
  expectRead(1);
}

TEST_F(ReadOnlyFolder, AWalFileWithoutLogIsReadInPlace) {
  {
    ProfileWriter writer = createWriter(scratch_ / "run" / "a");
    require(appendOne(writer, launch(1, 2)));
    require(writer.commit());
  }  // closing moves the log into the file, which stays in WAL mode
  ASSERT_FALSE(std::filesystem::exists(scratch_ / "run" / "a-wal"));
  expectRead(1);
}

}  // namespace
}  // namespace warpmeter
