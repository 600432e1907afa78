// SPDX-License-Identifier: Apache-2.0
// Parts of the injected library, linked: the walk on hand-filled records, names, the pool, options.
#include <cupti.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "memory.h"
#include "names.h"
#include "nvtx_text.h"
#include "options.h"
#include "pool.h"
#include "walk.h"

namespace warpmeter::inject {
namespace {

class InjectParts : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(createSharedMemory(memory_, 64 * wire::kMiB));
    header_ = wire::headerOf(memory_.base);
    header_->allowedBytes.store(wire::kGiB);
    names_ = std::make_unique<Names>();
    names_->initialize(memory_.base);
  }
  void TearDown() override { destroySharedMemory(memory_); }

  std::string text(std::uint64_t reference) {
    const wire::StringEntry* entry = names_->entryOf(reference);
    if (entry == nullptr) return "(none)";
    return std::string(reinterpret_cast<const char*>(entry + 1), entry->lengthPlusOne.load() - 1);
  }

  SharedMemory memory_;
  wire::Header* header_ = nullptr;
  std::unique_ptr<Names> names_;
};

struct Buffer {
  std::vector<std::uint8_t> bytes;
  template <class T>
  void add(const T& record, std::size_t size = sizeof(T)) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(&record);
    bytes.insert(bytes.end(), from, from + size);
  }
  template <class T>
  T get(std::size_t offset) const {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
  }
};

RecordTable tableWith(std::initializer_list<std::pair<int, std::uint16_t>> sizes) {
  std::uint16_t bytes[wire::kKindCount] = {};
  for (const auto& [kind, size] : sizes) bytes[kind] = size;
  RecordTable table;
  fillRecordTable(table, bytes);
  return table;
}

CUpti_ActivityKernel10 kernel(const char* name) {
  CUpti_ActivityKernel10 k{};
  k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  k.name = name;
  k.gridX = 77;
  k.pAccessPolicyWindow = reinterpret_cast<CUaccessPolicyWindow*>(0x1234);
  return k;
}

TEST_F(InjectParts, WalkReplacesNamesAndKeepsTheRest) {
  Buffer buffer;
  buffer.add(kernel("vecAdd"));
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.correlationId = 5;
  buffer.add(call);
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadData = std::malloc(12);  // the walk frees it
  buffer.add(overhead);
  buffer.add(kernel(nullptr));
  const RecordTable table = tableWith({{10, sizeof(CUpti_ActivityKernel10)}, {5, 40}, {17, sizeof(CUpti_ActivityOverhead3)}});
  const WalkResult result = walkBuffer(table, *names_, buffer.bytes.data(), buffer.bytes.size());
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.records, 4u);
  const auto first = buffer.get<CUpti_ActivityKernel10>(0);
  EXPECT_EQ(text(reinterpret_cast<std::uint64_t>(first.name)), "vecAdd");
  EXPECT_EQ(first.pAccessPolicyWindow, nullptr);
  EXPECT_EQ(first.gridX, 77);
  EXPECT_EQ(buffer.get<CUpti_ActivityAPI>(sizeof first).correlationId, 5u);
  EXPECT_EQ(buffer.get<CUpti_ActivityOverhead3>(sizeof first + 40).overheadData, nullptr);
  EXPECT_EQ(buffer.get<CUpti_ActivityKernel10>(sizeof first + 40 + sizeof overhead).name, nullptr);
}

TEST_F(InjectParts, WalkTouchesNoFieldBeyondAShorterRecord) {
  // Kernel records of CUPTI 11.8 end before the access policy window; the next record begins there.
  constexpr std::size_t kShort = 160;
  static_assert(offsetof(CUpti_ActivityKernel10, pAccessPolicyWindow) == kShort);
  Buffer buffer;
  buffer.add(kernel("old"), kShort);
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.cbid = 211;
  buffer.add(call);
  const RecordTable table = tableWith({{10, kShort}, {5, 40}});
  EXPECT_EQ(walkBuffer(table, *names_, buffer.bytes.data(), buffer.bytes.size()).records, 2u);
  const auto after = buffer.get<CUpti_ActivityAPI>(kShort);
  EXPECT_EQ(after.kind, CUPTI_ACTIVITY_KIND_RUNTIME);
  EXPECT_EQ(after.cbid, 211u);
}

TEST_F(InjectParts, WalkStopsAtHolesAndUnknownKinds) {
  const RecordTable table = tableWith({{10, sizeof(CUpti_ActivityKernel10)}});
  for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{99}, std::uint64_t{0xffffffff}}) {
    Buffer buffer;
    buffer.add(kernel("a"));
    buffer.add(word);
    buffer.add(kernel("b"));
    const WalkResult result = walkBuffer(table, *names_, buffer.bytes.data(), buffer.bytes.size());
    EXPECT_FALSE(result.complete) << word;
    EXPECT_EQ(result.records, 1u) << word;
    const auto behind = buffer.get<CUpti_ActivityKernel10>(sizeof(CUpti_ActivityKernel10) + 8);
    EXPECT_STREQ(behind.name, "b") << word;  // left as it was
  }
}

TEST_F(InjectParts, WalkStopsAtATruncatedRecord) {
  const RecordTable table = tableWith({{10, sizeof(CUpti_ActivityKernel10)}});
  Buffer buffer;
  buffer.add(kernel("a"));
  buffer.add(kernel("b"), 96);
  const WalkResult result = walkBuffer(table, *names_, buffer.bytes.data(), buffer.bytes.size());
  EXPECT_FALSE(result.complete);
  EXPECT_EQ(result.records, 1u);
}

TEST_F(InjectParts, EqualTextsShareOneReference) {
  const std::string a = "_Z6vecAddPfS_S_i", b = a;
  ASSERT_NE(a.data(), b.data());
  const std::uint64_t reference = names_->ofPointer(a.c_str());
  EXPECT_EQ(names_->ofPointer(a.c_str()), reference);
  EXPECT_EQ(names_->ofPointer(b.c_str()), reference);
  EXPECT_NE(names_->ofPointer("another"), reference);
  EXPECT_EQ(names_->ofPointer(nullptr), wire::kNoString);
}

TEST_F(InjectParts, NewGenerationReadsTheTextAgain) {
  char place[16] = "first";
  const std::uint64_t first = names_->ofPointer(place);
  std::strcpy(place, "second");
  EXPECT_EQ(names_->ofPointer(place), first);  // why modules must tell when they go
  names_->newGeneration();
  EXPECT_EQ(text(names_->ofPointer(place)), "second");
  EXPECT_EQ(text(first), "first");
}

TEST_F(InjectParts, TextsOfEveryShortLengthAreKeptApart) {
  std::string shared(40, 'x');
  for (std::size_t length = 0; length <= shared.size(); ++length) {
    const std::uint64_t reference = names_->ofText(wire::StringKind::nvtx, shared.data(), length);
    EXPECT_EQ(text(reference), shared.substr(0, length));
    std::string other = shared.substr(0, length);
    if (length != 0) {
      other[length / 2] = 'y';
      EXPECT_EQ(text(names_->ofText(wire::StringKind::nvtx, other.data(), length)), other);
    }
  }
}

TEST_F(InjectParts, MoreNamesThanTheTablesHold) {
  std::vector<std::string> all;
  for (int i = 0; i < 40000; ++i) all.push_back("kernel_" + std::to_string(i));
  for (const std::string& name : all) ASSERT_EQ(text(names_->ofPointer(name.c_str())), name);
  EXPECT_EQ(header_->namesLost.load(), 0u);
}

TEST_F(InjectParts, FullStringRegionLosesNamesAndSaysSo) {
  std::string large(wire::kMaxTextBytes, 'n');
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    large[0] = static_cast<char>('a' + i);
    last = names_->ofText(wire::StringKind::name, large.data(), large.size());
  }
  EXPECT_EQ(last, wire::kNameLost);
  EXPECT_EQ(text(last), "(name lost)");
  EXPECT_GT(header_->namesLost.load(), 0u);
}

TEST_F(InjectParts, ThreadsAgreeOnReferences) {
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) texts.push_back("text " + std::to_string(i));
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        for (const std::string& name : texts) {
          if (text(names_->ofPointer(name.c_str())) != name) ++wrong;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(InjectParts, PoolHandsOutWhatItPopulatedAndTakesItBack) {
  auto pool = std::make_unique<Pool>();
  pool->initialize(memory_.base, memory_.plan);
  EXPECT_EQ(pool->ready(0), 0u);
  pool->refill(1);
  EXPECT_EQ(pool->ready(0), Pool::kFirstSlots[0]);
  EXPECT_EQ(pool->ready(2), Pool::kFirstSlots[2]);
  EXPECT_EQ(header_->populatedBytes.load(), 8 * wire::kMiB);
  const std::int64_t slot = pool->take(2, wire::SlotSource::cupti, 42, 1000);
  ASSERT_GE(slot, 0);
  wire::Slot& taken = wire::slotsOf(memory_.base)[slot];
  EXPECT_EQ(taken.bytes, 4 * wire::kMiB);
  EXPECT_EQ(taken.state.load(), static_cast<std::uint32_t>(wire::SlotState::lent));
  EXPECT_EQ(taken.ownerTid.load(), 42u);
  EXPECT_EQ(taken.lentNs.load(), 1000);
  pool->reclaim();
  EXPECT_EQ(pool->ready(2), 0u);  // still lent
  EXPECT_EQ(pool->slotAt(static_cast<std::byte*>(memory_.base) + taken.offset), slot);
  EXPECT_EQ(pool->slotAt(static_cast<std::byte*>(memory_.base) + taken.offset + 8), -1);
  wire::completeSlot(memory_.base, static_cast<std::uint32_t>(slot), 8);
  ASSERT_EQ(wire::takeCompleted(memory_.base, memory_.plan), slot);
  taken.state.store(static_cast<std::uint32_t>(wire::SlotState::free));
  pool->reclaim();
  EXPECT_EQ(pool->ready(2), 1u);
  pool->reclaim();
  EXPECT_EQ(pool->ready(2), 1u);  // once
}

TEST_F(InjectParts, PoolStopsAtItsAllowanceAndUsesOtherClasses) {
  auto pool = std::make_unique<Pool>();
  pool->initialize(memory_.base, memory_.plan);
  header_->allowedBytes.store(5 * wire::kMiB);
  std::uint64_t bytes = 0;
  int slots = 0;
  for (std::int64_t slot; (slot = pool->take(2, wire::SlotSource::cupti, 1, 1)) >= 0; ++slots) {
    bytes += wire::slotsOf(memory_.base)[slot].bytes;
  }
  EXPECT_EQ(bytes, 5 * wire::kMiB);  // one of 4 MiB, then smaller ones
  EXPECT_GE(slots, 2);
  EXPECT_TRUE(pool->shouldWakeWorker());
  EXPECT_FALSE(pool->shouldWakeWorker());  // once
  pool->refill(1);
  EXPECT_LT(pool->take(0, wire::SlotSource::own, 1, 1), 0);
  EXPECT_FALSE(pool->shouldWakeWorker());  // it would find nothing either
}

TEST_F(InjectParts, PoolFollowsUse) {
  auto pool = std::make_unique<Pool>();
  pool->initialize(memory_.base, memory_.plan);
  pool->refill(1);
  for (int i = 0; i < 3; ++i) ASSERT_GE(pool->take(2, wire::SlotSource::cupti, 1, 1), 0);
  pool->refill(2);
  EXPECT_EQ(pool->ready(2), 6u);  // twice what the present second has taken so far
}

TEST_F(InjectParts, PoolWithManyThreads) {
  auto pool = std::make_unique<Pool>();
  pool->initialize(memory_.base, memory_.plan);
  std::atomic<bool> stop{false};
  std::atomic<int> clashes{0}, taken{0};
  std::vector<std::atomic<int>> owners(memory_.plan.slotCount());
  std::thread worker([&] {
    while (!stop) {
      for (std::int64_t i; (i = wire::takeCompleted(memory_.base, memory_.plan)) >= 0;) {
        wire::slotsOf(memory_.base)[i].state.store(static_cast<std::uint32_t>(wire::SlotState::free), std::memory_order_release);
      }
      pool->reclaim();
      pool->refill(1);
    }
  });
  std::vector<std::thread> users;
  for (int t = 0; t < 3; ++t) {
    users.emplace_back([&, t] {
      for (int i = 0; i < 3000;) {
        const std::int64_t slot = pool->take(i % 3, wire::SlotSource::cupti, static_cast<std::uint32_t>(t), 1);
        if (slot < 0) {
          std::this_thread::yield();
          continue;
        }
        ++i;
        ++taken;
        if (owners[static_cast<std::size_t>(slot)].exchange(1) != 0) ++clashes;
        owners[static_cast<std::size_t>(slot)].store(0);
        wire::completeSlot(memory_.base, static_cast<std::uint32_t>(slot), 0);
      }
    });
  }
  for (std::thread& user : users) user.join();
  stop = true;
  worker.join();
  EXPECT_EQ(taken.load(), 9000);
  EXPECT_EQ(clashes.load(), 0);
}

TEST(InjectMemory, PrivateMemoryReplacesTheSharedOne) {
  SharedMemory memory;
  ASSERT_TRUE(createSharedMemory(memory, 2 * wire::kMiB));
  auto* other = static_cast<wire::Header*>(
      mmap(nullptr, memory.plan.totalBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.descriptor, 0));
  ASSERT_NE(other, MAP_FAILED);
  ASSERT_TRUE(replaceByPrivateMemory(memory.base, memory.plan.totalBytes));
  EXPECT_EQ(wire::headerOf(memory.base)->magic, 0u);
  wire::headerOf(memory.base)->faults.store(1);
  EXPECT_EQ(other->faults.load(), 0u);
  EXPECT_EQ(other->magic, wire::kMagic);
  munmap(other, memory.plan.totalBytes);
  destroySharedMemory(memory);
}

TEST(InjectMemory, TooSmallALimitGivesNothing) {
  SharedMemory memory;
  EXPECT_FALSE(createSharedMemory(memory, 256 * wire::kKiB));
  EXPECT_EQ(memory.base, nullptr);
  EXPECT_EQ(memory.descriptor, -1);
}

TEST(InjectMemory, StatOfThisProcess) {
  const ProcessStat stat = readProcessStat();
  EXPECT_GT(stat.startTicks, 0);
  EXPECT_GT(stat.addressBytes, wire::kMiB);
}

TEST(InjectOptions, EnvironmentIsRead) {
  setenv("WARPMETER_SOCKET", "/run/x", 1);
  setenv("WARPMETER_RUN", "000102030405060708090a0b0c0d0eFF", 1);
  setenv("WARPMETER_API", "all", 1);
  setenv("WARPMETER_FLUSH_MS", "3", 1);
  Options options;
  ASSERT_TRUE(readOptions(options));
  EXPECT_STREQ(options.socketPath, "/run/x");
  EXPECT_EQ(options.run[1], 1);
  EXPECT_EQ(options.run[15], 0xff);
  EXPECT_EQ(options.api, wire::ApiMode::all);
  EXPECT_EQ(options.flushMs, 10u);  // no less
  setenv("WARPMETER_FLUSH_MS", "soon", 1);
  ASSERT_TRUE(readOptions(options = Options{}));
  EXPECT_EQ(options.flushMs, kDefaultFlushMs);
  setenv("WARPMETER_SOCKET", std::string(200, 'x').c_str(), 1);
  EXPECT_FALSE(readOptions(options = Options{}));
  unsetenv("WARPMETER_SOCKET");
  EXPECT_FALSE(readOptions(options = Options{}));
}

TEST(InjectOptions, KindsByName) {
  Options options;
  options.features = parseFeatures("kernel,jit,nonsense,");
  EXPECT_TRUE(options.wants(Feature::kernel));
  EXPECT_TRUE(options.wants(Feature::jit));
  EXPECT_FALSE(options.wants(Feature::memcpy));
  EXPECT_EQ(parseFeatures(""), 0u);
}

TEST(InjectNvtxText, WideTextBecomesUtf8) {
  char out[64];
  const auto encode = [&](const wchar_t* text, int room) {
    return std::string(out, static_cast<std::size_t>(encodeUtf8(text, out, room)));
  };
  EXPECT_EQ(encode(L"a\u00e9\u20ac\U0001f600", 64), "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(encode(L"a\u20ac", 3), "a");  // never half a character
  const wchar_t bad[] = {static_cast<wchar_t>(0xd800), static_cast<wchar_t>(0x110000), 0};
  EXPECT_EQ(encode(bad, 64), "\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace warpmeter::inject
