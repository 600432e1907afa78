// SPDX-License-Identifier: Apache-2.0
// The end of a recording: indexes, WM_OVERVIEW, leaving WAL, and doing it later for a recorder that could
// not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "profile/profile_files.h"
#include "profile/scratch.h"

namespace warpmeter {
namespace {

using namespace test;
using testing::ElementsAre;

TEST(AfterAnError, TheLossRowTellsAFullDiskFromOtherErrors) {
  for (const auto& [error, kind] : {std::pair{ErrorKind::diskFull, "disk_full"}, {ErrorKind::io, "write_error"},
                                    {ErrorKind::busy, "write_error"}}) {
    const Scratch scratch;
    ProfileWriter writer = createWriter(scratch / "a");
    require(writer.closeAfterError({error, "what the system said"}, 5, 6));
    EXPECT_FALSE(appendOne(writer, launch(1, 2)));
    const auto losses = valueOf(openReader(scratch / "a").losses());
    ASSERT_EQ(losses.size(), 1u);
    EXPECT_EQ(losses[0].kind, kind);
    EXPECT_EQ(losses[0].why, "what the system said");
    EXPECT_EQ(losses[0].count, 6);
  }
}

TEST(AfterAnError, TheLimitOfOpenFilesIsNamed) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const Scratch scratch;
  const int next = dup(0);  // the lowest that is free
  for (const rlim_t more : {0, 1}) {
    rlimit few = before;
    few.rlim_cur = static_cast<rlim_t>(next) + 1 + more;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    auto writer = ProfileWriter::create(scratch / "a", {});
    setrlimit(RLIMIT_NOFILE, &before);
    ASSERT_FALSE(writer) << more;
    EXPECT_THAT(writer.error().message, testing::HasSubstr("the limit of open files (ulimit -n) is reached")) << more;
  }
  close(next);
}

TEST(Finish, OverviewIsTheUnionPerLaneAndBucket) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  // The run is 4096 us long, so that a bucket is 1 us. Rows are out of order, as buffers of two threads are.
  require(appendOne(writer, launch(4'095'000, 4'096'000, 7, 11)));
  require(appendOne(writer, launch(600, 900, 7, 12)));  // overlaps the next one: union 100-900
  require(appendOne(writer, launch(100, 800, 7, 11)));
  require(appendOne(writer, launch(1'500, 3'250, 7, 12)));  // across three buckets
  require(appendOne(writer, launch(0, 50, 8, 11)));         // another stream
  MemcpyRow copy;
  copy.start = 10'000;
  copy.end = 10'400;
  copy.deviceId = 0;
  copy.contextId = 1;
  copy.streamId = 7;
  copy.globalPid = makeGlobalPid(4711).value;
  copy.bytes = 4096;
  copy.copyKind = 1;
  require(appendOne(writer, copy));
  EXPECT_TRUE(valueOf(writer.finish({})));
  RawDb db(scratch / "a");
  EXPECT_EQ(db.value("SELECT overviewStart, overviewBucketNs FROM WM_SESSION"), "0|1000");
  EXPECT_THAT(db.rows("SELECT streamId, bucket, busyNs, shortName FROM WM_OVERVIEW ORDER BY 1, 2"),
              ElementsAre("7|0|800|11", "7|1|500|12", "7|2|1000|12", "7|3|250|12", "7|10|400|NULL",
                          "7|4095|1000|11", "8|0|50|11"));
}

TEST(Finish, ARunWithoutGpuWorkIsFine) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  EXPECT_TRUE(valueOf(writer.finish({})));
  RawDb db(scratch / "a");
  EXPECT_EQ(db.value("SELECT count(*) FROM WM_OVERVIEW"), "0");
  EXPECT_FALSE(openReader(scratch / "a").unfinished());
}

TEST(Finish, LeavesOneFileWithIndexesThatJoinsUse) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  require(appendOne(writer, launch(1, 2)));
  EXPECT_TRUE(valueOf(writer.finish({})));
  EXPECT_FALSE(std::filesystem::exists(scratch / "a-wal"));
  RawDb db(scratch / "a");
  EXPECT_EQ(db.value("PRAGMA integrity_check"), "ok");
  EXPECT_THAT(db.value("EXPLAIN QUERY PLAN SELECT * FROM CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId = 5"),
              testing::HasSubstr("wm_kernel_correlation"));
  const Result<void> late = appendOne(writer, launch(3, 4));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::usage);
}

TEST(Finish, AReaderThatHoldsTheFileKeepsItInWalMode) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  require(appendOne(writer, launch(1, 2)));
  require(writer.commit());
  {
    RawDb holder(scratch / "a");
    holder.exec("BEGIN; SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL");
    EXPECT_FALSE(valueOf(writer.finish({})));
    EXPECT_EQ(readAll<KernelRow>(openReader(scratch / "a")).size(), 1u);
  }
  EXPECT_FALSE(openReader(scratch / "a").unfinished());
}

TEST(FinishFile, CompletesWhatAKilledRecorderLeft) {
  const Scratch scratch;
  {
    ProfileWriter writer = createWriter(scratch / "a");
    require(appendOne(writer, launch(0, 4'096)));
    require(writer.commit());
    const Result<void> tooEarly = finishFile(scratch / "a");
    ASSERT_FALSE(tooEarly);
    EXPECT_EQ(tooEarly.error().kind, ErrorKind::busy);
  }
  EXPECT_TRUE(openReader(scratch / "a").unfinished());
  require(finishFile(scratch / "a"));
  require(finishFile(scratch / "a"));  // twice does no harm
  const ProfileReader reader = openReader(scratch / "a");
  EXPECT_FALSE(reader.unfinished());
  EXPECT_TRUE(isNull(valueOf(reader.session()).endedNs));
  EXPECT_EQ(RawDb(scratch / "a").value("SELECT count(*) FROM WM_OVERVIEW"), "4096");
}

TEST(FinishFile, RefusesWhatIsNotOurs) {
  const Scratch scratch;
  RawDb(scratch / "n.sqlite")
      .exec(
          "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
          "CREATE TABLE NVTX_EVENTS (start INTEGER, text TEXT)");
  const Result<void> foreign = finishFile(scratch / "n.sqlite");
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().kind, ErrorKind::usage);
  EXPECT_FALSE(finishFile(scratch / "none"));
}

}  // namespace
}  // namespace warpmeter
