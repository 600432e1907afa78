// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "support/view_of.h"
#include "warpmeter/analyzer/profile_view.h"
#include "warpmeter/profile/writer.h"

namespace warpmeter::analyzer {
namespace {

using support::must;
using support::viewOf;
using support::viewOfFile;
using testing::ElementsAre;

TEST(ProfileView, LanesAreSortedByStart) {
  const ProfileView view = viewOf(R"(
    gpu 0 name=G
    kernel 9 b 30..40 stream=2 corr=3
    kernel 9 a -10..20 stream=1 corr=1 node=77
    kernel 9 b 5..6 stream=2 corr=2
    memcpy 9 HtoD 7..9 bytes=100 stream=2 src=pageable corr=4
    memset 9 1..2 bytes=50 stream=2
  )");
  ASSERT_EQ(view.streams().size(), 2u);
  const StreamLane& one = view.streams()[0];
  EXPECT_EQ(one.streamId, 1);
  EXPECT_EQ(one.kernels.startNs(0), -10);
  EXPECT_EQ(one.kernels.endNs(0), 20);
  EXPECT_EQ(one.kernels.rowid[0], 2u) << "the launch id is the row's id";
  EXPECT_EQ(one.kernels.graphNode[0], 77);
  const StreamLane& two = view.streams()[1];
  EXPECT_THAT(two.kernels.start.span(), ElementsAre(5, 30));
  EXPECT_THAT(two.kernels.correlation.span(), ElementsAre(2, 3));
  ASSERT_EQ(two.copies.size(), 2u);
  EXPECT_EQ(two.copies.kindOf(0), CopyKind::memset);
  EXPECT_EQ(two.copies.kindOf(1), CopyKind::hostToDevice);
  EXPECT_EQ(two.copies.sourceOf(1), MemoryKind::pageable);
  EXPECT_EQ(two.copies.bytes[1], 100);
  EXPECT_EQ(view.range().beginNs, -10);
  EXPECT_EQ(view.range().endNs, 40);
}

TEST(ProfileView, DurationsBeyond32BitsAreKept) {
  const ProfileView view =
      viewOf("kernel 1 a 0..10\nkernel 1 a 10..5s\nkernel 1 a 6s..10294967295\nkernel 1 a 7s..12s");
  const Kernels& k = view.streams()[0].kernels;
  EXPECT_EQ(k.durationNs(0), 10);
  EXPECT_EQ(k.durationNs(1), 4'999'999'990);
  EXPECT_EQ(k.durationNs(2), 4'294'967'295) << "the mark of an overflow is a duration too";
  EXPECT_EQ(k.durationNs(3), 5'000'000'000);
  EXPECT_EQ(k.overflow.size(), 3u);
}

TEST(ProfileView, RowsWithImpossibleTimesAreLeftOutAndCounted) {
  const ProfileView view = viewOf(R"(
    kernel 1 good 10..20 corr=1
    kernel 1 backwards 30..20 corr=2
    kernel 1 century 40..9000000000000000000 corr=3
    memcpy 1 HtoD -9000000000000000000..50 bytes=1 stream=0
    api 1 cudaLaunchKernel_v7000 5..4 corr=1
  )");
  EXPECT_EQ(view.kernelCount(), 1u);
  EXPECT_EQ(view.range().endNs, 20);
  ASSERT_EQ(view.losses().size(), 1u);
  EXPECT_EQ(view.losses()[0].kind, "implausible_row");
  EXPECT_EQ(view.losses()[0].count, 4);
}

TEST(ProfileView, DistinctKernelsDifferInWhatTheContractNames) {
  const std::string same = "kernel 1 k 0..1 grid=4 block=64 regs=20 static=8 dynamic=16 executed=32768";
  std::string text =
      "gpu 0 name=G\ngpu 1 name=G\ngpu 2 name=H\n" + same + "\n" + same + " gpu=1 stream=9 carveout=50\n";
  const auto but = [&](const char* change) { text += same + " " + change + "\n"; };
  but("grid=5");
  but("block=65");
  but("cluster=2");
  but("regs=21");
  but("static=9");
  but("dynamic=17");
  but("executed=65536");
  but("gpu=2");
  const ProfileView view = viewOf(text);
  EXPECT_EQ(view.functions().size(), 1u);
  EXPECT_EQ(view.distinctKernels().size(), 9u)
      << "a GPU of the same model and the requested carve-out do not count";
  EXPECT_EQ(view.configs().size(), 10u);
}

TEST(ProfileView, FunctionIsTheMangledName) {
  const ProfileView view =
      viewOf("kernel 1 f 0..1 mangled=_Z1fv\nkernel 1 f 2..3 mangled=_Z1fi\nkernel 1 g 4..5");
  ASSERT_EQ(view.functions().size(), 3u);
  EXPECT_EQ(view.name(view.functions()[0].key), "_Z1fv");
  EXPECT_EQ(view.name(view.functions()[0].demangled), "f");
}

TEST(ProfileView, DynamicShapesAreJoinedIntoPowersOfTwo) {
  std::string text;
  for (int i = 1; i <= 600; ++i) text += fmt::format("kernel 1 k {}..{} grid={}\n", i * 10, i * 10 + 5, i);
  text += "kernel 1 other 9000..9001 grid=3\n";
  const ProfileView view = viewOf(text);
  EXPECT_EQ(view.configs().size(), 601u) << "a launch keeps its own grid";
  ASSERT_EQ(view.distinctKernels().size(), 12u) << "1 2 4 ... 1024, and the other function";
  for (const LaunchConfig& c : view.configs()) {
    const DistinctKernel& d = view.distinctKernels()[c.distinct];
    const bool other = view.name(view.functions()[c.function].key) == "other";
    EXPECT_EQ(d.joinedGrids, !other);
    EXPECT_LE(c.grid[0], d.grid[0]);
    EXPECT_TRUE(other || 2 * c.grid[0] > d.grid[0]);
  }
}

TEST(ProfileView, UntimedLaunchesAreCountedApart) {
  const ProfileView view =
      viewOf("kernel 1 k 0..1 grid=2\nuntimed 1 k grid=2 corr=8\nuntimed 1 k grid=3 corr=9");
  EXPECT_EQ(view.kernelCount(), 1u);
  ASSERT_EQ(view.untimed().size(), 2u);
  EXPECT_EQ(view.untimed()[0].config, view.streams()[0].kernels.config[0]);
  EXPECT_EQ(view.untimed()[1].correlation, 9);
}

TEST(ProfileView, CorrelationIdsBelongToTheirProcess) {
  const ProfileView view = viewOf(R"(
    api 1 cudaLaunchKernel_v7000 0..5 corr=7
    api 1 cudaFree_v3020 6..9 corr=8
    api 2 cudaMemcpy_v3020 0..5 corr=7
    api 2/3 cudaLaunchKernel_v7000 1..2 corr=30
    api 2/3 cudaLaunchKernel_v7000 3..4 corr=20       # not rising: found all the same
    kernel 1 k 10..11 corr=7
    kernel 2 k 12..13 corr=7
  )");
  const auto nameOf = [&](std::uint32_t process, std::int64_t correlation) {
    const auto ref = view.apiCall(process, correlation);
    return ref ? view.name(view.threads()[ref.lane].api.name[ref.index]) : std::string_view("none");
  };
  const std::uint32_t one = view.streams()[0].process, two = view.streams()[1].process;
  EXPECT_EQ(nameOf(one, 7), "cudaLaunchKernel_v7000");
  EXPECT_EQ(nameOf(two, 7), "cudaMemcpy_v3020");
  EXPECT_EQ(nameOf(one, 8), "cudaFree_v3020");
  EXPECT_EQ(nameOf(one, 20), "none");
  EXPECT_EQ(nameOf(two, 20), "cudaLaunchKernel_v7000");
  EXPECT_EQ(nameOf(two, 30), "cudaLaunchKernel_v7000");
  EXPECT_EQ(nameOf(one, 0), "none");
}

TEST(ProfileView, CorrelationIdsOfAProcessAfterExecAreItsOwn) {
  const std::string second = std::to_string((std::int64_t{1} << 32) + 7);
  const ProfileView view =
      viewOf("api 1 cudaFree_v3020 0..5 corr=7\napi 1 cudaLaunchKernel_v7000 50..60 corr=" + second +
             "\nkernel 1 k 70..80 corr=" + second);
  ASSERT_EQ(view.threads().size(), 2u);
  const auto ref = view.apiCall(view.streams()[0].process, view.streams()[0].kernels.correlation[0]);
  ASSERT_TRUE(ref);
  EXPECT_EQ(view.threads()[ref.lane].api.startNs(ref.index), 50);
}

TEST(ProfileView, DepthOfCallsAndRanges) {
  const ProfileView view = viewOf(R"(
    api 1 inner 12..18 corr=1 driver ret=2
    api 1 outer 10..20 corr=1
    api 1 next 20..30 corr=2
    domain 1 5 "my domain"
    nvtx 1 step 0..100 domain=5 color=4278190335
    nvtx 1 part 0..50
    nvtx 1 async 20..300 startend
    nvtx 1 leaf 25..30
    nvtx 1 here 26 mark
  )");
  ASSERT_EQ(view.threads().size(), 1u);
  const ApiCalls& api = view.threads()[0].api;
  ASSERT_EQ(api.size(), 3u);
  EXPECT_EQ(api.depth(0), 0);
  EXPECT_EQ(api.depth(1), 1);
  EXPECT_TRUE(api.isDriver(1));
  EXPECT_TRUE(api.failed(1));
  EXPECT_EQ(api.depth(2), 0);
  const NvtxRanges& n = view.threads()[0].nvtx;
  EXPECT_THAT(n.depth.span(), ElementsAre(0, 1, 2, 2, 3)) << "a start/end range does not raise the depth";
  EXPECT_EQ(view.name(view.domains()[n.domain[0]]), "my domain");
  EXPECT_EQ(n.domain[1], 0);
  EXPECT_EQ(n.color[0], 4278190335u);
  EXPECT_EQ(n.kindOf(4), NvtxKind::mark);
}

TEST(ProfileView, RangeThatNeverEndedEndsWithTheRecording) {
  const ProfileView view = viewOf("nvtx 1 open 10..11 open\nkernel 1 k 20..500");
  EXPECT_EQ(view.threads()[0].nvtx.endNs(0), 500);
}

TEST(ProfileView, OnlyTheTablesAskedForAndTheOthersLater) {
  const support::TempDir dir;
  const auto path = dir.path() / "a.wm.sqlite";
  must(support::writeProfile(path,
                             "kernel 1 k 0..1 corr=1\napi 1 cudaLaunchKernel_v7000 -5..-1 corr=1\n"
                             "nvtx 1 r -9..9\nmemset 1 3..4 bytes=1"));
  const ProfileView kernels = viewOfFile(path, Tables::kernels);
  EXPECT_EQ(kernels.kernelCount(), 1u);
  EXPECT_TRUE(kernels.threads().empty());
  EXPECT_TRUE(kernels.streams()[0].copies.empty());
  LoadOptions more;
  more.tables = Tables::kernels | Tables::api | Tables::copies;
  const ProfileView all = must(kernels.withTables(more));
  EXPECT_EQ(all.kernelCount(), 1u);
  EXPECT_TRUE(all.streams()[0].kernels.start.sharesWith(kernels.streams()[0].kernels.start));
  ASSERT_EQ(all.threads().size(), 1u);
  EXPECT_EQ(all.threads()[0].api.size(), 1u);
  EXPECT_TRUE(all.threads()[0].nvtx.empty());
  EXPECT_EQ(all.streams()[0].copies.size(), 1u);
}

TEST(ProfileView, StopAndProgress) {
  const support::TempDir dir;
  const auto path = dir.path() / "a.wm.sqlite";
  must(support::writeProfile(path, "kernel 1 k 0..1\napi 1 f 0..1"));
  const auto reader = std::make_shared<const ProfileReader>(must(ProfileReader::open(path)));
  std::vector<double> seen;
  LoadOptions options;
  options.progress = [&](double f) { seen.push_back(f); };
  must(ProfileView::load({reader}, options));
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_DOUBLE_EQ(seen.back(), 1.0);
  std::stop_source stop;
  stop.request_stop();
  options.stop = stop.get_token();
  EXPECT_EQ(ProfileView::load({reader}, options).error().kind, ErrorKind::cancelled);
}

TEST(ProfileView, SeveralFilesOnOneTimeLine) {
  const support::TempDir dir;
  must(support::writeProfile(dir.path() / "a",
                             "session epoch=1000000\ngpu 0 name=G uuid=aa\nkernel 1 k 0..10"));
  must(support::writeProfile(dir.path() / "b",
                             "session epoch=1000500\ngpu 0 name=G uuid=aa\nkernel 2 k 0..10"));
  std::vector<ProfileView::Reader> readers;
  for (const char* name : {"a", "b"}) {
    readers.push_back(std::make_shared<const ProfileReader>(must(ProfileReader::open(dir.path() / name))));
  }
  const ProfileView view = must(ProfileView::load(readers));
  ASSERT_EQ(view.streams().size(), 2u);
  EXPECT_EQ(view.streams()[1].kernels.startNs(0), 500);
  EXPECT_EQ(view.gpus().size(), 1u) << "the same GPU by its UUID";
  EXPECT_EQ(view.functions().size(), 1u);
}

KernelRow kernelRow(ProfileWriter& writer, const char* name, std::int64_t start, std::int64_t correlation) {
  KernelRow k;
  k.start = start, k.end = start + 5, k.deviceId = 0, k.contextId = 1, k.streamId = 7;
  k.correlationId = correlation, k.globalPid = makeGlobalPid(1).value;
  k.demangledName = k.shortName = k.mangledName = writer.intern(name).value;
  k.registersPerThread = 16, k.gridX = k.gridY = k.gridZ = k.blockX = k.blockY = k.blockZ = 1;
  k.staticSharedMemory = k.dynamicSharedMemory = k.localMemoryPerThread = k.localMemoryTotal = k.gridId = 0;
  return k;
}

TEST(ProfileView, GrowsWithALiveFile) {
  const support::TempDir dir;
  const auto path = dir.path() / "live.wm.sqlite";
  ProfileWriter writer = must(ProfileWriter::create(path, SessionInfo{}));
  const auto put = [&](const char* name, std::int64_t start, std::int64_t correlation) {
    const KernelRow row = kernelRow(writer, name, start, correlation);
    must(writer.append(std::span<const KernelRow>(&row, 1)));
    must(writer.commit());
  };
  put("a", 100, 1);
  const ProfileView first = viewOfFile(path);
  EXPECT_TRUE(first.sources()[0].unfinished);
  put("b", 200, 2);
  const ProfileView second = must(first.append());
  put("b", 300, 3);
  const ProfileView third = must(second.append());
  EXPECT_THAT(first.streams()[0].kernels.start.span(), ElementsAre(100));
  EXPECT_THAT(second.streams()[0].kernels.start.span(), ElementsAre(100, 200));
  EXPECT_THAT(third.streams()[0].kernels.start.span(), ElementsAre(100, 200, 300));
  EXPECT_EQ(third.functions().size(), 2u);
  EXPECT_EQ(third.name(third.functions()[1].key), "b");
  put("a", 50, 4);  // arrives late
  const ProfileView fourth = must(third.append());
  EXPECT_THAT(fourth.streams()[0].kernels.start.span(), ElementsAre(50, 100, 200, 300));
  EXPECT_THAT(fourth.streams()[0].kernels.rowid.span(), ElementsAre(4, 1, 2, 3));
  EXPECT_THAT(third.streams()[0].kernels.start.span(), ElementsAre(100, 200, 300));
  EXPECT_TRUE(must(fourth.append()).streams()[0].kernels.start.sharesWith(fourth.streams()[0].kernels.start));
}

TEST(ProfileView, BytesARowAreWithinTheBounds) {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += fmt::format("kernel 1 k {0}..{1} corr={0}\napi 1 f {0}..{1} corr={0}\nnvtx 1 n {0}..{1}\n",
                        i * 10, i * 10 + 5);
  }
  const support::TempDir dir;
  const auto path = dir.path() / "a";
  must(support::writeProfile(path, text));
  EXPECT_LE(viewOfFile(path, Tables::kernels).columnBytes(), 56'000u);
  EXPECT_LE(viewOfFile(path, Tables::api).columnBytes(), 24'000u);
  EXPECT_LE(viewOfFile(path, Tables::nvtx).columnBytes(), 28'000u);
  EXPECT_GE(viewOfFile(path).columnBytes(), 60'000u);
}

TEST(Column, GrowsInPlaceOnceAndCopiesForTheSecond) {
  const Column<int> base(std::vector<int>{1, 2});
  const std::vector<int> three{3}, four{4};
  const Column<int> roomy = base.extended(three);  // the exact array is full: copied, with room
  const Column<int> left = roomy.extended(four);
  const Column<int> right = roomy.extended(three);
  EXPECT_TRUE(left.sharesWith(roomy));
  EXPECT_FALSE(right.sharesWith(roomy));
  EXPECT_THAT(left.span(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(right.span(), ElementsAre(1, 2, 3, 3));
  EXPECT_THAT(roomy.span(), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace warpmeter::analyzer
