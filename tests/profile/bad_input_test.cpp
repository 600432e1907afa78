// SPDX-License-Identifier: Apache-2.0
// Input that is no profile: one line that names the file, the right kind, nothing written beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "profile/profile_files.h"
#include "profile/scratch.h"

namespace warpmeter {
namespace {

using namespace test;
using testing::HasSubstr;

class BadInput : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content) {
    std::ofstream(scratch_ / name, std::ios::binary) << content;
    return scratch_ / name;
  }
  std::filesystem::path profile(const std::string& name, std::int64_t kernels = 2000) {
    ProfileWriter writer = createWriter(scratch_ / name);
    std::vector<KernelRow> rows(static_cast<std::size_t>(kernels), launch(1, 2));
    require(writer.append(std::span<const KernelRow>(rows)));
    EXPECT_TRUE(valueOf(writer.finish({})));
    return scratch_ / name;
  }
  std::size_t filesInFolder() const {
    const std::filesystem::directory_iterator files(scratch_.folder());
    return static_cast<std::size_t>(std::distance(begin(files), end(files)));
  }
  void expectRefused(const std::filesystem::path& path, ErrorKind kind, const std::string& text) {
    const std::size_t before = filesInFolder();
    const Result<ProfileReader> reader = ProfileReader::open(path);
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().kind, kind) << reader.error().message;
    EXPECT_THAT(reader.error().message, testing::StartsWith(path.string() + ": "));
    EXPECT_THAT(reader.error().message, HasSubstr(text));
    EXPECT_EQ(reader.error().message.find('\n'), std::string::npos);
    EXPECT_EQ(filesInFolder(), before);
  }

  Scratch scratch_;
};

TEST_F(BadInput, Missing) { expectRefused(scratch_ / "none.sqlite", ErrorKind::notFound, "no such file"); }

TEST_F(BadInput, Directory) { expectRefused(scratch_.folder(), ErrorKind::isDirectory, "directory"); }

TEST_F(BadInput, NotARegularFile) { expectRefused("/dev/null", ErrorKind::foreign, "regular"); }

TEST_F(BadInput, BelowAFile) {
  expectRefused(write("file", "x") / "inner", ErrorKind::notFound, "Not a directory");
}

TEST_F(BadInput, NoPermission) {
  const auto path = write("secret", "x");
  std::filesystem::permissions(path, std::filesystem::perms::none);
  if (geteuid() != 0) return expectRefused(path, ErrorKind::noPermission, "permission");
  // Root may read every file, so a child becomes somebody else.
  ASSERT_EQ(chown(scratch_.folder().c_str(), 65534, 65534), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    if (setuid(65534) != 0) _exit(2);
    const Result<ProfileReader> reader = ProfileReader::open(path);
    _exit(!reader && reader.error().kind == ErrorKind::noPermission ? 0 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(BadInput, Empty) { expectRefused(write("empty.sqlite", ""), ErrorKind::empty, "empty"); }

TEST_F(BadInput, SomethingElse) {
  expectRefused(write("notes.txt", "just some text that is long enough to be looked at"), ErrorKind::foreign,
                "neither a Warpmeter file nor an nsys");
}

TEST_F(BadInput, OneByte) { expectRefused(write("x", "x"), ErrorKind::foreign, "neither"); }

TEST_F(BadInput, KinetoTracesAreRefusedByName) {
  const std::string text = "Kineto trace: import is not built yet";
  expectRefused(write("trace.json", "{\"schemaVersion\": 1, \"traceEvents\": []}"), ErrorKind::unsupported,
                text);
  expectRefused(write("by_content", "\n  {\"traceEvents\": []}"), ErrorKind::unsupported, text);
  expectRefused(write("trace.json.gz", "\x1f\x8b\x08 packed"), ErrorKind::unsupported, text);
  expectRefused(write("other.gz", "\x1f\x8b\x08 packed"), ErrorKind::foreign, "is compressed with gzip");
}

TEST_F(BadInput, CompressedFilesComeWithTheCommandThatUnpacksThem) {
  const auto packed = write("a.wm.sqlite.gz", "\x1f\x8b\x08 packed");
  expectRefused(packed, ErrorKind::foreign, "gunzip -k '" + packed.string() + "'");
  const auto unnamed = write("b.sqlite", "\x1f\x8b\x08 packed");
  expectRefused(unnamed, ErrorKind::foreign, "gzip -dc '" + unnamed.string() + "' > '" + unnamed.string() + ".unpacked'");
}

TEST_F(BadInput, NsysReportsAreToldHowToConvert) {
  expectRefused(write("a.nsys-rep", "NSYS REPORT"), ErrorKind::foreign, "nsys export --type sqlite");
}

TEST_F(BadInput, AnotherSqliteDatabase) {
  RawDb(scratch_ / "other.db").exec("CREATE TABLE StringIds (id INTEGER, value TEXT)");
  expectRefused(scratch_ / "other.db", ErrorKind::foreign, "neither a Warpmeter file nor an nsys export");
}

TEST_F(BadInput, AKernelTableWithoutTimes) {
  RawDb(scratch_ / "other.db")
      .exec(
          "CREATE TABLE StringIds (id INTEGER, value TEXT);"
          "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (deviceId INTEGER, shortName INTEGER)");
  expectRefused(scratch_ / "other.db", ErrorKind::foreign, "nsys export");
}

TEST_F(BadInput, NewerMajorIsRefusedNewerMinorIsRead) {
  const auto path = profile("a.wm.sqlite");
  RawDb(path).exec("PRAGMA user_version = " + std::to_string(1 << 16 | 7));
  EXPECT_TRUE(ProfileReader::open(path));
  RawDb(path).exec("PRAGMA user_version = " + std::to_string(2 << 16 | 3));
  expectRefused(path, ErrorKind::newerMajor, "format 2.3");
}

TEST_F(BadInput, AFileOfOursWithoutItsTables) {
  for (const std::string table : {"CUPTI_ACTIVITY_KIND_KERNEL", "WM_LOSS"}) {
    const auto path = profile(table + ".wm.sqlite");
    RawDb(path).exec("DROP TABLE " + table);
    expectRefused(path, ErrorKind::truncated, "its table " + table + " is missing");
  }
}

TEST_F(BadInput, TextWhereANumberBelongsReadsAsNull) {
  const auto path = profile("a.wm.sqlite");
  RawDb(path).exec("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'soon' WHERE rowid = 1");
  const Result<ProfileReader> reader = ProfileReader::open(path);
  ASSERT_TRUE(reader) << reader.error().message;
  std::vector<std::int64_t> starts;
  ASSERT_TRUE(reader->read({1, 2}, [&](std::span<const KernelRow> rows, std::span<const std::int64_t>) {
    for (const KernelRow& row : rows) starts.push_back(row.start);
  }));
  EXPECT_EQ(starts, std::vector<std::int64_t>{kNull});
}

TEST_F(BadInput, CutOffAnywhere) {
  const auto whole = profile("whole.wm.sqlite");
  const auto size = std::filesystem::file_size(whole);
  for (const std::uintmax_t keep :
       {std::uintmax_t{16}, std::uintmax_t{60}, std::uintmax_t{100}, std::uintmax_t{511},
        std::uintmax_t{4096}, size / 4, size / 2, size - 4096, size - 1}) {
    const auto cut = scratch_ / "cut.wm.sqlite";
    std::filesystem::copy_file(whole, cut, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(cut, keep);
    SCOPED_TRACE(keep);
    expectRefused(cut, ErrorKind::truncated, "damaged or cut off");
  }
}

TEST_F(BadInput, DamageInsideShowsWhenRead) {
  const auto path = profile("a.wm.sqlite", 20'000);
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
    const std::string noise(static_cast<std::size_t>(size / 4), '\xa5');
    file.seekp(size / 2);
    file.write(noise.data(), static_cast<std::streamsize>(noise.size()));
  }
  const Result<ProfileReader> reader = ProfileReader::open(path);
  ASSERT_TRUE(reader) << reader.error().message;
  const ProfileReader::Visit<KernelRow> ignore = [](std::span<const KernelRow>,
                                                    std::span<const std::int64_t>) {};
  const Result<void> read = reader->read({}, ignore);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::truncated) << read.error().message;
  EXPECT_THAT(read.error().message, HasSubstr(path.string()));
}

TEST_F(BadInput, WriterRefusesAnExistingFileUnlessToldToReplaceIt) {
  const auto path = write("there.wm.sqlite", "precious");
  const Result<ProfileWriter> refused = ProfileWriter::create(path, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::exists);
  EXPECT_THAT(refused.error().message, HasSubstr("--force"));
  EXPECT_EQ(std::filesystem::file_size(path), 8u);
  WriterOptions options;
  options.overwrite = true;
  EXPECT_TRUE(ProfileWriter::create(path, {}, options));
  EXPECT_TRUE(ProfileReader::open(path));
}

TEST_F(BadInput, WriterThatCannotCreateLeavesNothing) {
  const Result<ProfileWriter> missing = ProfileWriter::create(scratch_ / "none" / "a.wm.sqlite", {});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::notFound);
  WriterOptions options;
  options.overwrite = true;
  const Result<ProfileWriter> directory = ProfileWriter::create(scratch_.folder(), {}, options);
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().kind, ErrorKind::isDirectory);
  EXPECT_EQ(filesInFolder(), 0u);
}

TEST_F(BadInput, OddFileNamesWork) {
  const std::string name = "a b%41#?&\xc3\xa9'.wm.sqlite";
  profile(name);
  EXPECT_EQ(readAll<KernelRow>(openReader(scratch_ / name)).size(), 2000u);
}

}  // namespace
}  // namespace warpmeter
