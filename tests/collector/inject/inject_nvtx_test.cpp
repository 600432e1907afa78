// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "guest_process.h"
#include "test_recorder.h"

namespace warpmeter::test {
namespace {

using wire::NvtxRecord;
using wire::OwnKind;

std::map<OwnKind, std::vector<NvtxRecord>> ranges(Guest& guest) {
  guest.salvage();
  std::map<OwnKind, std::vector<NvtxRecord>> found;
  forEachOwn(guest, [&](const wire::OwnHeader& header) {
    if (header.kind >= static_cast<std::uint32_t>(OwnKind::mark)) return;
    EXPECT_EQ(header.bytes, sizeof(NvtxRecord));
    found[static_cast<OwnKind>(header.kind)].push_back(reinterpret_cast<const NvtxRecord&>(header));
  });
  return found;
}

GuestResult record(TestRecorder& recorder, std::vector<std::string> arguments) {
  GuestCommand c;
  c.arguments = std::move(arguments);
  c.socketPath = recorder.socketPath();
  const GuestResult result = runGuest(c);
  recorder.stop();
  return result;
}

TEST(InjectNvtx, WorksWithoutCuda) {
  TestRecorder recorder;
  const GuestResult result = record(recorder, {"nvtx", "--exit-code", "6"});
  EXPECT_TRUE(result.exited(6));
  // Levels as NVTX defines them: pushes and pops name the level of the range that starts or ends.
  EXPECT_EQ(result.value("push"), 0);
  EXPECT_EQ(result.value("pushInner"), 1);
  EXPECT_EQ(result.value("popInner"), 1);
  EXPECT_EQ(result.value("pop"), 0);
  ASSERT_EQ(recorder.guestCount(), 1u);
  Guest& guest = recorder.guest(0);
  EXPECT_EQ(guest.header().nvtxAttached, 1u);
  EXPECT_EQ(guest.header().cuptiVersion, 0u);
  EXPECT_EQ(guest.header().injectionEnteredNs, 0);
  EXPECT_EQ(guest.header().exitCode.load(), 6);

  auto found = ranges(guest);
  ASSERT_EQ(found[OwnKind::nvtxPush].size(), 3u);
  const NvtxRecord& outer = found[OwnKind::nvtxPush][0];
  const NvtxRecord& inner = found[OwnKind::nvtxPush][1];
  const NvtxRecord& registered = found[OwnKind::nvtxPush][2];
  EXPECT_EQ(guest.text(outer.text), "outer");
  EXPECT_EQ(outer.domainId, 0u);
  EXPECT_EQ(outer.hasColor, 0u);
  EXPECT_EQ(guest.text(inner.text), "inner \xc3\xa9");
  EXPECT_EQ(inner.hasColor, 1u);
  EXPECT_EQ(inner.color, 0xff00ff00u);
  EXPECT_EQ(inner.category, 3u);
  EXPECT_EQ(inner.payload, 42u);
  EXPECT_EQ(inner.payloadType, 1u);  // NVTX_PAYLOAD_TYPE_UNSIGNED_INT64
  EXPECT_EQ(guest.text(registered.text), "registered");
  ASSERT_EQ(found[OwnKind::nvtxPop].size(), 3u);
  EXPECT_GE(found[OwnKind::nvtxPop][0].header.t, inner.header.t);
  EXPECT_EQ(outer.header.tid, static_cast<std::uint32_t>(result.value("pid")));

  ASSERT_EQ(found[OwnKind::nvtxDomain].size(), 1u);
  EXPECT_EQ(guest.text(found[OwnKind::nvtxDomain][0].text), "library");
  EXPECT_EQ(found[OwnKind::nvtxDomain][0].domainId, registered.domainId);
  EXPECT_NE(registered.domainId, 0u);
  ASSERT_EQ(found[OwnKind::nvtxMark].size(), 1u);
  EXPECT_EQ(guest.text(found[OwnKind::nvtxMark][0].text), "a mark");
  ASSERT_EQ(found[OwnKind::nvtxCategory].size(), 1u);
  EXPECT_EQ(found[OwnKind::nvtxCategory][0].category, 3u);
  EXPECT_EQ(guest.text(found[OwnKind::nvtxCategory][0].text), "loading");
  ASSERT_EQ(found[OwnKind::nvtxThreadName].size(), 1u);
  EXPECT_EQ(found[OwnKind::nvtxThreadName][0].rangeId, outer.header.tid);
  EXPECT_EQ(found[OwnKind::nvtxDomainDestroy].size(), 1u);

  ASSERT_EQ(found[OwnKind::nvtxStart].size(), 1u);
  ASSERT_EQ(found[OwnKind::nvtxEnd].size(), 1u);
  EXPECT_EQ(found[OwnKind::nvtxStart][0].rangeId, found[OwnKind::nvtxEnd][0].rangeId);
  EXPECT_NE(found[OwnKind::nvtxStart][0].header.tid, found[OwnKind::nvtxEnd][0].header.tid);
}

TEST(InjectNvtx, CudaMayComeLater) {
  TestRecorder recorder;
  ASSERT_TRUE(record(recorder, {"nvtx-then-cuda", "--launches", "300"}).exited(0));
  ASSERT_EQ(recorder.guestCount(), 1u);
  Guest& guest = recorder.guest(0);
  EXPECT_EQ(guest.header().cuptiVersion, 130001u);
  std::size_t kernels = 0;
  for (const Bytes& buffer : guest.cuptiBuffers) {
    forEachRecord(guest, buffer, [&](std::uint32_t kind, const std::uint8_t*) { kernels += kind == 10 ? 1 : 0; });
  }
  EXPECT_EQ(kernels, 300u);
  EXPECT_EQ(ranges(guest)[OwnKind::nvtxPush].size(), 3u);
}

TEST(InjectNvtx, ForkedChildMayBeginWithCuda) {
  TestRecorder recorder;
  const GuestResult result = record(recorder, {"nvtx-fork-cuda", "--launches", "400"});
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(result.value("childStatus"), 0);
  ASSERT_EQ(recorder.guestCount(), 2u);
  Guest& parent = recorder.guest(0);
  Guest& child = recorder.guest(1);
  EXPECT_NE(parent.peerPid, child.peerPid);
  auto ofParent = ranges(parent), ofChild = ranges(child);
  ASSERT_EQ(ofParent[OwnKind::nvtxPush].size(), 1u);
  EXPECT_EQ(parent.text(ofParent[OwnKind::nvtxPush][0].text), "parent");
  EXPECT_EQ(ofParent[OwnKind::nvtxPop].size(), 1u);
  ASSERT_EQ(ofChild[OwnKind::nvtxPush].size(), 1u);
  EXPECT_EQ(child.text(ofChild[OwnKind::nvtxPush][0].text), "child");
  EXPECT_EQ(ofChild[OwnKind::nvtxPush][0].header.tid, static_cast<std::uint32_t>(child.peerPid));
  std::size_t kernels = 0;
  for (const Bytes& buffer : child.cuptiBuffers) {
    forEachRecord(child, buffer, [&](std::uint32_t kind, const std::uint8_t*) { kernels += kind == 10 ? 1 : 0; });
  }
  EXPECT_EQ(kernels, 400u);
  EXPECT_TRUE(parent.cuptiBuffers.empty());
  EXPECT_EQ(child.status(), wire::GuestStatus::exiting);
}

TEST(InjectNvtx, ManyRangesFillSlotAfterSlot) {
  TestRecorder recorder;
  ASSERT_TRUE(record(recorder, {"nvtx-many", "--launches", "100000"}).exited(0));
  Guest& guest = recorder.guest(0);
  auto found = ranges(guest);
  EXPECT_EQ(found[OwnKind::nvtxPush].size(), 100001u);
  EXPECT_EQ(guest.header().ownRecordsLost.load(), 0u);
  EXPECT_EQ(found[OwnKind::nvtxPop].size(), 100001u);
  std::int64_t last = 0;
  for (const NvtxRecord& push : found[OwnKind::nvtxPush]) {
    ASSERT_LE(last, push.header.t);
    last = push.header.t;
  }
}

TEST(InjectNvtx, NotRecordedWithoutRecorder) {
  GuestCommand c;
  c.arguments = {"nvtx"};
  const GuestResult result = runGuest(c);
  EXPECT_TRUE(result.exited(0));
  EXPECT_EQ(result.value("push"), -2);  // NVTX_NO_PUSH_POP_TRACKING: NVTX switched itself off
}

}  // namespace
}  // namespace warpmeter::test
