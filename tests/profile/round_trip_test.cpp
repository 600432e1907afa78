// SPDX-License-Identifier: Apache-2.0
// What goes into a file comes out of it: every row type, NULLs, extreme values, every column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "profile/profile_files.h"
#include "profile/scratch.h"

namespace warpmeter {
namespace {

using namespace test;
using testing::ElementsAre;

template <class Row>
constexpr std::size_t kColumns = sizeof(Row) / sizeof(std::int64_t);

template <class Row>
std::vector<std::int64_t> asIntegers(const Row& row) {
  std::vector<std::int64_t> values(kColumns<Row>);
  std::memcpy(values.data(), &row, sizeof row);
  return values;
}

template <class Row>
Row fromIntegers(const std::vector<std::int64_t>& values) {
  Row row;
  std::memcpy(static_cast<void*>(&row), values.data(), sizeof row);
  return row;
}

// A different number in every column of every row, so that two exchanged columns are seen.
template <class Row>
std::vector<Row> distinctRows(std::size_t count) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> values(kColumns<Row>);
    for (std::size_t c = 0; c < values.size(); ++c) values[c] = static_cast<std::int64_t>(7 + i * 1000 + c);
    rows.push_back(fromIntegers<Row>(values));
  }
  return rows;
}

template <class Row>
void expectSame(const std::vector<Row>& written, const std::vector<Row>& read) {
  ASSERT_EQ(written.size(), read.size());
  for (std::size_t i = 0; i < written.size(); ++i)
    ASSERT_EQ(asIntegers(written[i]), asIntegers(read[i])) << i;
}

template <class Row>
const char* tableOf();
template <>
const char* tableOf<KernelRow>() {
  return "CUPTI_ACTIVITY_KIND_KERNEL";
}
template <>
const char* tableOf<ApiRow>() {
  return "CUPTI_ACTIVITY_KIND_RUNTIME";
}
template <>
const char* tableOf<MemcpyRow>() {
  return "CUPTI_ACTIVITY_KIND_MEMCPY";
}
template <>
const char* tableOf<MemsetRow>() {
  return "CUPTI_ACTIVITY_KIND_MEMSET";
}
template <>
const char* tableOf<SyncRow>() {
  return "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION";
}
template <>
const char* tableOf<CudaEventRow>() {
  return "CUPTI_ACTIVITY_KIND_CUDA_EVENT";
}
template <>
const char* tableOf<OverheadRow>() {
  return "CUPTI_ACTIVITY_KIND_OVERHEAD";
}
template <>
const char* tableOf<NvtxRow>() {
  return "NVTX_EVENTS";
}
template <>
const char* tableOf<MemoryRow>() {
  return "CUDA_GPU_MEMORY_USAGE_EVENTS";
}
template <>
const char* tableOf<MarkRow>() {
  return "WM_MARK";
}
template <>
const char* tableOf<LatencyRow>() {
  return "WM_LATENCY";
}
template <>
const char* tableOf<GpuMetricRow>() {
  return "GPU_METRICS";
}

template <class Row>
class RoundTrip : public testing::Test {
 protected:
  Scratch scratch_;
  std::filesystem::path path_ = scratch_ / "a.wm.sqlite";
};

using ReadableRows = testing::Types<KernelRow, ApiRow, MemcpyRow, MemsetRow, SyncRow, CudaEventRow,
                                    OverheadRow, NvtxRow, MemoryRow, MarkRow, LatencyRow, GpuMetricRow>;
TYPED_TEST_SUITE(RoundTrip, ReadableRows);

TYPED_TEST(RoundTrip, EveryColumnComesBackFromItsOwnPlace) {
  ProfileWriter writer = createWriter(this->path_);
  const std::vector<TypeParam> rows = distinctRows<TypeParam>(5000);
  require(writer.append(std::span<const TypeParam>(rows)));
  require(writer.commit());
  const ProfileReader reader = openReader(this->path_);
  expectSame(rows, readAll<TypeParam>(reader));
  EXPECT_EQ(reader.rowEnd<TypeParam>(), 5001);
  EXPECT_EQ(writer.rowsWritten(), 5000);

  // The members stand in the order of the table's columns; only NVTX_EVENTS has textId elsewhere.
  RawDb db(this->path_);
  const std::string table = tableOf<TypeParam>();
  std::vector<std::string> values, expected;
  for (const std::string& column :
       db.rows("SELECT name FROM pragma_table_info('" + table + "') ORDER BY cid")) {
    if (std::is_same_v<TypeParam, NvtxRow> && column == "textId") continue;
    const std::string value = db.value("SELECT \"" + column + "\" FROM " + table + " LIMIT 1");
    if (value != "NULL") values.push_back(value);
  }
  for (std::size_t c = 0; c < kColumns<TypeParam>; ++c) {
    if (std::is_same_v<TypeParam, NvtxRow> && c == offsetof(NvtxRow, textId) / sizeof(std::int64_t)) continue;
    expected.push_back(std::to_string(7 + c));
  }
  EXPECT_EQ(values, expected);
}

TYPED_TEST(RoundTrip, NullsAndExtremeValues) {
  std::set<std::string> notNull;
  {
    createWriter(this->path_);
    RawDb db(this->path_);
    for (const std::string& column : db.rows(std::string("SELECT name FROM pragma_table_info('") +
                                             tableOf<TypeParam>() + "') WHERE \"notnull\"")) {
      notNull.insert(column);
    }
  }
  WriterOptions options;
  options.overwrite = true;
  ProfileWriter writer = valueOf(ProfileWriter::create(this->path_, {}, options));
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::vector<TypeParam> rows;
  for (const std::int64_t value : {kMax, -kMax, std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    rows.push_back(fromIntegers<TypeParam>(std::vector<std::int64_t>(kColumns<TypeParam>, value)));
  }
  require(writer.append(std::span<const TypeParam>(rows)));
  // NULL in one column after the other. Where the table does not allow it the row is left out, and counted.
  require(writer.commit());
  RawDb db(this->path_);
  const std::string count = std::string("SELECT count(*) FROM ") + tableOf<TypeParam>();
  for (std::size_t c = 0; c < kColumns<TypeParam>; ++c) {
    std::vector<std::int64_t> values(kColumns<TypeParam>, 3);
    values[c] = kNull;
    const auto row = fromIntegers<TypeParam>(values);
    const std::string before = db.value(count);
    require(appendOne(writer, row));
    require(writer.commit());
    if (db.value(count) != before) rows.push_back(row);
  }
  const std::string lost = notNull.empty() ? "NULL" : std::to_string(notNull.size());
  EXPECT_EQ(db.value("SELECT sum(count) FROM WM_LOSS"), lost);
  const ProfileReader reader = openReader(this->path_);
  for (const LossInfo& loss : valueOf(reader.losses())) {
    EXPECT_EQ(loss.kind, "invalid_row");
    EXPECT_THAT(loss.why, testing::HasSubstr(tableOf<TypeParam>()));
  }
  expectSame(rows, readAll<TypeParam>(reader));
}

TEST(Reading, RangesAreHalfOpenAndRowidsAreGiven) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  require(writer.append(std::span<const KernelRow>(distinctRows<KernelRow>(10'000))));
  require(writer.commit());
  const ProfileReader reader = openReader(scratch / "a");
  std::vector<std::int64_t> rowids;
  const ProfileReader::Visit<KernelRow> visit = [&](std::span<const KernelRow> rows,
                                                    std::span<const std::int64_t> ids) {
    EXPECT_EQ(rows.size(), ids.size());
    EXPECT_LE(rows.size(), 4096u);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].start, 7 + (ids[i] - 1) * 1000);
    rowids.insert(rowids.end(), ids.begin(), ids.end());
  };
  require(reader.read({4000, 9001}, visit));
  ASSERT_EQ(rowids.size(), 5001u);
  EXPECT_EQ(rowids.front(), 4000);
  EXPECT_EQ(rowids.back(), 9000);
  EXPECT_TRUE(readAll<KernelRow>(reader, {5, 5}).empty());
  EXPECT_EQ(reader.rowEnd<ApiRow>(), 0);
}

TEST(Reading, LaunchesLeaveOutExactlyTheNamedColumns) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  const std::vector<KernelRow> written = distinctRows<KernelRow>(5'000);  // more than one batch
  require(writer.append(std::span<const KernelRow>(written)));
  require(writer.commit());
  const ProfileReader reader = openReader(scratch / "a");
  std::vector<KernelRow> read;
  require(reader.readLaunches({}, [&](std::span<const KernelRow> rows, std::span<const std::int64_t>) {
    read.insert(read.end(), rows.begin(), rows.end());
  }));
  std::vector<KernelRow> expected = written;
  for (KernelRow& row : expected) {
    row.launchType = row.cacheConfig = row.localMemoryTotal = row.gridId = row.sharedMemoryLimitConfig = kNull;
    row.qmdBulkReleaseDone = row.qmdPreexitDone = row.qmdLastCtaDone = row.graphId = kNull;
    row.clusterSchedulingPolicy = kNull;
  }
  expectSame(expected, read);
}

TEST(Reading, StopsWhenAsked) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  require(writer.append(std::span<const ApiRow>(distinctRows<ApiRow>(20'000))));
  require(writer.commit());
  const ProfileReader reader = openReader(scratch / "a");
  std::stop_source source;
  std::size_t seen = 0;
  const ProfileReader::Visit<ApiRow> visit = [&](std::span<const ApiRow> rows,
                                                 std::span<const std::int64_t>) {
    seen += rows.size();
    source.request_stop();
  };
  const Result<void> read = reader.read({}, visit, source.get_token());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::cancelled);
  EXPECT_EQ(seen, 4096u);
  EXPECT_EQ(readAll<ApiRow>(reader).size(), 20'000u);  // the connection is good for another read
}

TEST(Reading, AnExceptionOfTheVisitorReachesTheCaller) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  require(writer.append(std::span<const ApiRow>(distinctRows<ApiRow>(5'000))));
  require(writer.commit());
  const ProfileReader reader = openReader(scratch / "a");
  const ProfileReader::Visit<ApiRow> visit = [](std::span<const ApiRow>, std::span<const std::int64_t>) {
    throw std::runtime_error("visitor");
  };
  EXPECT_THROW((void)reader.read({}, visit), std::runtime_error);
  EXPECT_EQ(readAll<ApiRow>(reader).size(), 5'000u);
}

TEST(RoundTripOthers, UntimedLaunchesHaveNoTimesAndStayOutOfTheKernelTable) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  KernelRow untimed = launch(kNull, kNull);
  require(writer.appendUntimed(std::span<const KernelRow>(&untimed, 1)));
  require(writer.commit());
  const ProfileReader reader = openReader(scratch / "a");
  EXPECT_TRUE(readAll<KernelRow>(reader).empty());
  std::vector<KernelRow> rows;
  require(reader.readUntimed({}, [&](std::span<const KernelRow> batch, std::span<const std::int64_t>) {
    rows.insert(rows.end(), batch.begin(), batch.end());
  }));
  expectSame({untimed}, rows);
}

TEST(RoundTripOthers, LossesAndCostsComeBackAsText) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  LossRow loss;
  loss.kind = writer.intern("buffer_full").value;
  loss.why = writer.intern("the pool was empty").value;
  loss.fromNs = -5;
  loss.toNs = 10;
  loss.globalPid = makeGlobalPid(4711).value;
  require(appendOne(writer, loss));
  SelfCostRow cost;
  cost.what = writer.intern("flush").value;
  cost.ns = 12'345;
  cost.count = 3;
  require(appendOne(writer, cost));
  require(writer.commit());
  const ProfileReader reader = openReader(scratch / "a");
  const std::vector<LossInfo> losses = valueOf(reader.losses());
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].kind, "buffer_full");
  EXPECT_EQ(losses[0].why, "the pool was empty");
  EXPECT_TRUE(isNull(losses[0].count));  // unknown, not 0
  EXPECT_EQ(losses[0].fromNs, -5);
  EXPECT_EQ(losses[0].toNs, 10);
  EXPECT_EQ(losses[0].globalPid, makeGlobalPid(4711));
  const std::vector<SelfCostInfo> costs = valueOf(reader.selfCosts());
  ASSERT_EQ(costs.size(), 1u);
  EXPECT_EQ(costs[0].what, "flush");
  EXPECT_EQ(costs[0].ns, 12'345);
  EXPECT_EQ(costs[0].count, 3);
}

TEST(RoundTripOthers, StreamsContextsThreadsClocksGraphNodes) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  require(writer.append(std::span<const StreamRow>(distinctRows<StreamRow>(2))));
  require(writer.append(std::span<const ContextRow>(distinctRows<ContextRow>(2))));
  require(writer.append(std::span<const ClockRow>(distinctRows<ClockRow>(2))));
  require(writer.append(std::span<const GraphNodeRow>(distinctRows<GraphNodeRow>(1))));
  const std::int64_t main = makeGlobalTid(5, 5).value, worker = makeGlobalTid(5, 6).value;
  require(appendOne(writer, ThreadRow{writer.intern("python").value, kNull, main}));
  require(appendOne(writer, ThreadRow{writer.intern("?").value, kNull, worker}));
  require(appendOne(writer, ThreadRow{writer.intern("loader").value, kNull, worker}));
  require(writer.commit());

  const ProfileReader reader = openReader(scratch / "a");
  expectSame(distinctRows<StreamRow>(2), valueOf(reader.streams()));
  expectSame(distinctRows<ContextRow>(2), valueOf(reader.contexts()));
  expectSame(distinctRows<ClockRow>(2), valueOf(reader.clocks()));
  const std::vector<ThreadInfo> threads = valueOf(reader.threads());
  ASSERT_EQ(threads.size(), 2u);  // one row per thread: clients count on it
  EXPECT_EQ(threads[0].name, "python");
  EXPECT_EQ(threads[1].name, "loader");
  RawDb db(scratch / "a");
  EXPECT_EQ(db.value("SELECT DISTINCT hwId, vmId FROM TARGET_INFO_CUDA_STREAM"), "0|1");
  EXPECT_EQ(db.value("SELECT DISTINCT hwId, vmId FROM TARGET_INFO_CUDA_CONTEXT_INFO"), "0|1");
  EXPECT_EQ(db.value("SELECT start, \"end\", eventClass, globalTid, nameId, graphNodeId, originalGraphNodeId "
                     "FROM CUDA_GRAPH_NODE_EVENTS"),
            "7|8|9|10|11|12|13");
}

TEST(RoundTripOthers, NvtxTextStandsInBothColumns) {
  const Scratch scratch;
  ProfileWriter writer = createWriter(scratch / "a");
  NvtxRow row;
  row.start = 1;
  row.eventType = 59;
  row.textId = writer.intern("forward").value;
  require(appendOne(writer, row));
  row.textId = kNull;
  require(appendOne(writer, row));
  require(writer.commit());
  RawDb db(scratch / "a");
  EXPECT_THAT(db.rows("SELECT text, value FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId"),
              ElementsAre("forward|forward", "NULL|NULL"));
}

TEST(RoundTripOthers, SessionProcessesAndGpus) {
  const Scratch scratch;
  SessionInfo session;
  session.utcEpochNs = 1'700'000'000'123'456'789;
  session.monotonicNs = 77'000'000'000;
  session.boottimeNs = 78'000'000'000;
  session.hostname = "node7";
  session.warpmeterVersion = "0.1.0";
  session.driverVersion = "580.159";
  session.counters = "no_permission";
  session.countersText = "not permitted for this user: run as root";
  session.apiMode = "work";
  session.nvtxRequested = true;
  ProfileWriter writer = createWriter(scratch / "a", session);

  ProcessInfo process;
  process.globalPid = makeGlobalPid(4711);
  process.pid = 4711;
  process.name = "train.py";
  process.argv = {"python", "train.py", "", "it's", "--name=a b", "back\\slash", "new\nline"};
  process.status = "recorded";
  require(writer.put(process));
  process.exitHow = "exited(0)";
  process.exitNs = 12'000;
  process.startNs = -40'000'000;
  process.startUncertaintyNs = 10'000'000;
  process.cuptiVersion = 130001;
  require(writer.put(process));

  GpuInfo gpu;
  gpu.id = gpu.cuDevice = 0;
  gpu.name = "NVIDIA H200";
  gpu.uuid = "110bc05b-778a-a2aa-f210-230b5a8ea938";
  gpu.smCount = 132;
  gpu.computeMajor = 9;
  gpu.computeMinor = 0;
  gpu.maxGridDim[2] = 65535;
  gpu.reservedShmemPerBlock = 1024;
  gpu.limitSource = "driver";
  require(writer.put(gpu));
  require(writer.put(CudaDeviceInfo{0, 0, 4711, gpu.uuid, 132}));
  require(writer.put(CudaDeviceInfo{0, 0, 4711, gpu.uuid, 132}));
  require(writer.commit());

  session.endedNs = 13'000;
  session.endedHow = "exited(0)";
  EXPECT_TRUE(openReader(scratch / "a").unfinished());
  EXPECT_TRUE(valueOf(writer.finish(session)));

  const ProfileReader reader = openReader(scratch / "a");
  EXPECT_EQ(reader.kind(), FileKind::warpmeter);
  EXPECT_EQ(reader.schemaVersion(), "3.24.14");
  EXPECT_FALSE(reader.unfinished());
  const SessionInfo read = valueOf(reader.session());
  EXPECT_EQ(read.utcEpochNs, session.utcEpochNs);
  EXPECT_EQ(read.monotonicNs, session.monotonicNs);
  EXPECT_EQ(read.boottimeNs, session.boottimeNs);
  EXPECT_EQ(read.endedNs, 13'000);
  EXPECT_EQ(read.endedHow, "exited(0)");
  EXPECT_EQ(read.hostname, "node7");
  EXPECT_EQ(read.driverVersion, "580.159");
  EXPECT_EQ(read.counters, "no_permission");
  EXPECT_EQ(read.countersText, "not permitted for this user: run as root");
  EXPECT_EQ(read.apiMode, "work");
  EXPECT_TRUE(read.nvtxRequested);

  const std::vector<ProcessInfo> processes = valueOf(reader.processes());
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].argv, process.argv);
  EXPECT_EQ(processes[0].startNs, -40'000'000);
  EXPECT_EQ(processes[0].startUncertaintyNs, 10'000'000);
  EXPECT_EQ(processes[0].exitHow, "exited(0)");
  EXPECT_EQ(processes[0].cuptiVersion, 130001);
  EXPECT_TRUE(isNull(processes[0].rank));
  const std::vector<GpuInfo> gpus = valueOf(reader.gpus());
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].name, gpu.name);
  EXPECT_EQ(gpus[0].uuid, gpu.uuid);
  EXPECT_EQ(gpus[0].smCount, 132);
  EXPECT_EQ(gpus[0].computeMajor, 9);
  EXPECT_EQ(gpus[0].computeMinor, 0);
  EXPECT_EQ(gpus[0].maxGridDim[2], 65535);
  EXPECT_TRUE(isNull(gpus[0].maxBlocksPerSm));
  EXPECT_EQ(gpus[0].reservedShmemPerBlock, 1024);
  EXPECT_EQ(gpus[0].limitSource, "driver");
  ASSERT_EQ(valueOf(reader.cudaDevices()).size(), 1u);

  RawDb db(scratch / "a");
  EXPECT_EQ(db.value("PRAGMA journal_mode"), "delete");
  EXPECT_EQ(db.value("SELECT * FROM PROCESSES"), std::to_string(process.globalPid.value) + "|4711|train.py");
  EXPECT_EQ(db.value("SELECT vmId, id, cuDevice, smMajor FROM TARGET_INFO_GPU"), "281474976710656|0|0|9");
  EXPECT_EQ(db.value("SELECT duration, startTime, stopTime FROM ANALYSIS_DETAILS"),
            "13000|77000000000|77000013000");
  EXPECT_EQ(db.value("SELECT utcTime, systemClockNs FROM TARGET_INFO_SESSION_START_TIME"),
            "2023-11-14T22:13:20|77000000000");
}

TEST(RoundTripOthers, HostileStringsAreKeptByteByByte) {
  const Scratch scratch;
  std::vector<std::string> texts = {"",
                                    std::string("a\0b", 3),
                                    std::string(1, '\0'),
                                    "\xff\xfe\x80",
                                    "'; DROP TABLE x; --",
                                    "\xed\xa0\x80 lone surrogate",
                                    "tab\tnew\nline\x1b[31m",
                                    std::string(512 << 10, 'x')};
  std::vector<std::int64_t> ids;
  ProfileWriter writer = createWriter(scratch / "a");
  for (const std::string& text : texts) ids.push_back(writer.intern(text).value);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(writer.intern(texts[i]).value, ids[i]);
    NvtxRow row;
    row.start = static_cast<std::int64_t>(i);
    row.eventType = 34;
    row.textId = ids[i];
    require(appendOne(writer, row));
  }
  EXPECT_EQ(ids.front(), 1);
  require(writer.commit());
  const std::vector<StringEntry> strings = valueOf(openReader(scratch / "a").strings());
  ASSERT_EQ(strings.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(strings[i].id, ids[i]);
    EXPECT_EQ(strings[i].text, texts[i]);
  }
}

TEST(RoundTripOthers, NothingIsThereBeforeCommitAndNothingAfterTheWriterGoes) {
  const Scratch scratch;
  {
    ProfileWriter writer = createWriter(scratch / "a");
    require(appendOne(writer, launch(1, 2)));
    EXPECT_TRUE(readAll<KernelRow>(openReader(scratch / "a")).empty());
    require(writer.commit());
    require(appendOne(writer, launch(3, 4)));
    writer.intern("never committed");
    EXPECT_EQ(writer.rowsWritten(), 1);
  }
  const ProfileReader reader = openReader(scratch / "a");
  EXPECT_EQ(readAll<KernelRow>(reader).size(), 1u);
  EXPECT_TRUE(valueOf(reader.strings()).empty());
  EXPECT_TRUE(reader.unfinished());
}

}  // namespace
}  // namespace warpmeter
