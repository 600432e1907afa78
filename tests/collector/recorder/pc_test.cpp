// SPDX-License-Identifier: Apache-2.0
// PC samples from records that a guest may have written wrongly, and images that come in pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>

#include "guest_simulator.h"
#include "pc_samples.h"
#include "proc_info.h"

namespace warpmeter::recorder {
namespace {

constexpr std::uint64_t kCrc = 0xfeedfacecafe;

class Pc : public testing::Test {
 protected:
  Pc() {
    session_.startRealtimeNs = realtimeNs();
    session_.intern = [](std::string_view) { return std::int64_t{1}; };
    auto memory = GuestMemory::view(guest_.base(), guest_.bytes());
    context_ = std::make_unique<ProcessContext>(session_, *memory, 4711);
    function_ = guest_.name("_Z3fooPf");
    reason_ = static_cast<std::uint32_t>(guest_.name("stalled_wait") & ~wire::kStringBit);
  }
  std::vector<std::byte> batch(const std::vector<wire::PcEntry>& entries) {
    wire::PcBatchRecord r{};
    r.header.kind = static_cast<std::uint32_t>(wire::OwnKind::pcBatch);
    r.header.t = realtimeNs();
    r.entries = static_cast<std::uint32_t>(entries.size());
    std::strcpy(r.chip, "GH100");
    std::vector<std::byte> bytes(sizeof r + entries.size() * sizeof(wire::PcEntry));
    std::memcpy(bytes.data(), &r, sizeof r);
    std::memcpy(bytes.data() + sizeof r, entries.data(), bytes.size() - sizeof r);
    return bytes;
  }
  static std::vector<std::byte> piece(std::uint64_t total, std::uint64_t offset, const std::string& text) {
    wire::CubinRecord r{};
    r.header.kind = static_cast<std::uint32_t>(wire::OwnKind::cubin);
    r.crc = kCrc;
    r.totalBytes = total;
    r.offset = offset;
    r.bytes = text.size();
    std::vector<std::byte> bytes(sizeof r + text.size());
    std::memcpy(bytes.data(), &r, sizeof r);
    std::memcpy(bytes.data() + sizeof r, text.data(), text.size());
    return bytes;
  }
  // Answers line 5 of /f.cu for every query; keeps what it was asked.
  PcIntake::LookUp lookUp() {
    return [this](int fd) -> Result<std::vector<std::byte>> {
      asked_.resize(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)));
      EXPECT_EQ(pread(fd, asked_.data(), asked_.size(), 0), static_cast<ssize_t>(asked_.size()));
      wire::LineRequest request{};
      std::memcpy(&request, asked_.data(), sizeof request);
      wire::LineReply reply{wire::kLineReplyMagic, request.queries, 7, request.tag};
      std::vector<std::byte> out(sizeof reply);
      std::memcpy(out.data(), &reply, sizeof reply);
      for (std::uint32_t i = 0; i < request.queries; ++i) {
        const wire::LineAnswer answer{5, 1};
        const auto* at = reinterpret_cast<const std::byte*>(&answer);
        out.insert(out.end(), at, at + sizeof answer);
      }
      const char texts[] = "\0/f.cu";
      const auto* at = reinterpret_cast<const std::byte*>(texts);
      out.insert(out.end(), at, at + sizeof texts);
      out.resize(out.size() - cutReply_);
      return out;
    };
  }
  GuestSimulator guest_;
  Session session_;
  std::unique_ptr<ProcessContext> context_;
  std::uint64_t function_ = 0;
  std::uint32_t reason_ = 0;
  std::string asked_;
  std::size_t cutReply_ = 0;
  PcIntake intake_{testing::TempDir() + "/pc"};
};

TEST_F(Pc, SamplesOfOneInstructionAddUp) {
  const wire::PcEntry entry{kCrc, function_, 0x20, reason_, 7}, other{kCrc, function_, 0x30, reason_, 1};
  EXPECT_TRUE(intake_.takeBatch(*context_, batch({entry, other}), true));
  EXPECT_TRUE(intake_.takeBatch(*context_, batch({entry}), true));
  EXPECT_TRUE(intake_.takeBatch(*context_, batch({entry}), false));  // outside of what is stored
  const auto rows = intake_.takeRows(context_->globalPid().value, lookUp());
  ASSERT_EQ(rows.samples.size(), 2u);
  EXPECT_EQ(rows.samples[0].function, "_Z3fooPf");
  EXPECT_EQ(rows.samples[0].samples, 14);
  EXPECT_EQ(rows.samples[0].stallReason, "stalled_wait");
  EXPECT_EQ(asked_, "");  // no image: nothing to look up
  EXPECT_TRUE(intake_.takeRows(context_->globalPid().value, lookUp()).samples.empty());  // only what is new
}

TEST_F(Pc, DamagedRecordsAreRefused) {
  auto bytes = batch({{kCrc, function_, 0, reason_, 1}});
  for (std::size_t size = 0; size < bytes.size(); size += 8)
    EXPECT_FALSE(intake_.takeBatch(*context_, std::span(bytes).first(size), true)) << size;
  auto image = piece(8, 0, "12345678");
  for (std::size_t size = 0; size < image.size(); ++size)
    EXPECT_FALSE(intake_.takeImage(*context_, std::span(image).first(size))) << size;
  EXPECT_FALSE(intake_.takeImage(*context_, piece(0, 0, "")));
  EXPECT_FALSE(intake_.takeImage(*context_, piece(4, 0, "12345")));
  EXPECT_FALSE(intake_.takeImage(*context_, piece(8, ~std::uint64_t{0}, "1")));
  EXPECT_FALSE(intake_.takeImage(*context_, piece(wire::kMaxCubinBytes + 1, 0, "1")));
}

TEST_F(Pc, TextsThatAreNoneAreLostNames) {
  EXPECT_TRUE(intake_.takeBatch(*context_, batch({{kCrc, 0x1234, 0, 0x7fffffff, 1}}), true));
  const auto rows = intake_.takeRows(context_->globalPid().value, lookUp());
  ASSERT_EQ(rows.samples.size(), 1u);
  EXPECT_EQ(rows.samples[0].function, "(name lost)");
  EXPECT_EQ(rows.samples[0].stallReason, "(name lost)");
}

TEST_F(Pc, ImagesArePutTogetherAndAskedOnce) {
  EXPECT_TRUE(intake_.takeImage(*context_, piece(10, 0, "12345")));
  EXPECT_TRUE(intake_.takeImage(*context_, piece(10, 5, "67890")));
  EXPECT_TRUE(intake_.takeImage(*context_, piece(10, 0, "xxxxx")));  // it is there already
  const wire::PcEntry entry{kCrc, function_, 0x20, reason_, 7},
      unknown{kCrc + 1, function_, 0x20, reason_, 7};
  intake_.takeBatch(*context_, batch({entry, unknown}), true);
  const auto rows = intake_.takeRows(context_->globalPid().value, lookUp());
  EXPECT_EQ(rows.problem, "");
  EXPECT_TRUE(asked_.ends_with("1234567890"));
  wire::LineRequest request{};
  std::memcpy(&request, asked_.data(), sizeof request);
  EXPECT_EQ(request.queries, 1u);
  ASSERT_EQ(rows.samples.size(), 2u);
  EXPECT_EQ(rows.samples[0].file, "/f.cu");
  EXPECT_EQ(rows.samples[0].line, 5);
  EXPECT_EQ(rows.samples[1].file, "");  // the same function in code without an image
}

TEST_F(Pc, ImageWithAHoleIsNotUsed) {
  intake_.takeImage(*context_, piece(15, 0, "12345"));
  intake_.takeImage(*context_, piece(15, 10, "67890"));
  intake_.takeBatch(*context_, batch({{kCrc, function_, 0x20, reason_, 7}}), true);
  const auto rows = intake_.takeRows(context_->globalPid().value, lookUp());
  EXPECT_EQ(asked_, "");
  EXPECT_EQ(rows.samples.size(), 1u);
}

TEST_F(Pc, DamagedAnswersCostTheLinesOnly) {
  for (cutReply_ = 1; cutReply_ < 30; ++cutReply_) {
    intake_.takeImage(*context_, piece(5, 0, "12345"));
    intake_.takeBatch(*context_, batch({{kCrc, function_, 0x20, reason_, 7}}), true);
    const auto rows = intake_.takeRows(context_->globalPid().value, lookUp());
    ASSERT_EQ(rows.samples.size(), 1u);
    EXPECT_EQ(rows.samples[0].file, "") << cutReply_;
  }
}

}  // namespace
}  // namespace warpmeter::recorder
