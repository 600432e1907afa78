// SPDX-License-Identifier: Apache-2.0
// Taking a guest's memory in: checks, slots, salvage; the queue with its spill file; command line and GPU answers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <limits>
#include <random>

#include "collector/recorder/guest_simulator.h"
#include "collector/recorder/records.h"
#include "gpu_limits.h"
#include "gpu_query.h"
#include "guest.h"
#include "item_queue.h"
#include "proc_info.h"
#include "warpmeter/recorder/options.h"

namespace warpmeter::recorder {
namespace {

constexpr std::uint32_t kTid = 77;

std::shared_ptr<GuestMemory> viewOf(const GuestSimulator& guest) {
  auto memory = GuestMemory::view(guest.base(), guest.bytes());
  EXPECT_TRUE(memory.ok());
  return memory ? *memory : nullptr;
}

TEST(GuestMemory, refusesWhatCannotBeALayout) {
  using Damage = std::function<void(wire::Header&)>;
  const Damage damages[] = {
      [](wire::Header& h) { h.magic = 0; },
      [](wire::Header& h) { ++h.wireVersion; },
      [](wire::Header& h) { h.headerBytes -= 8; },
      [](wire::Header& h) { h.totalBytes += wire::kPage; },
      [](wire::Header& h) { h.slotCount = 0; },
      [](wire::Header& h) { h.slotCount = 0xffffffff; },
      [](wire::Header& h) { h.ringCapacity = 1; },
      [](wire::Header& h) { h.slotTableOffset = 0; },
      [](wire::Header& h) { h.slotTableOffset = ~std::uint64_t{63}; },
      [](wire::Header& h) { h.ringOffset += 4; },
      [](wire::Header& h) { h.ringOffset = h.totalBytes - 64; },
      [](wire::Header& h) { h.strings.offset = 3; },
      [](wire::Header& h) { h.strings.bytes = ~std::uint64_t{0}; },
      [](wire::Header& h) { wire::slotsOf(&h)[3].offset = h.totalBytes; },
      [](wire::Header& h) { wire::slotsOf(&h)[3].offset += 4; },
      [](wire::Header& h) { wire::slotsOf(&h)[0].bytes = ~std::uint64_t{7}; },
  };
  int index = 0;
  for (const Damage& damage : damages) {
    GuestSimulator guest(8 * wire::kMiB);
    damage(guest.header());
    const auto memory = GuestMemory::view(guest.base(), guest.bytes());
    EXPECT_FALSE(memory.ok()) << "damage " << index;
    if (!memory) {
      EXPECT_EQ(memory.error().kind, ErrorKind::foreign);
    }
    ++index;
  }
}

TEST(GuestMemory, refusesMemoryThatCouldShrink) {
  const int fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(fd, 8 << 20), 0);
  const auto memory = GuestMemory::attach(fd);
  ASSERT_FALSE(memory.ok());
  EXPECT_NE(memory.error().message.find("sealed"), std::string::npos);
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);  // closed
}

TEST(GuestMemory, readsNoTextBeyondItsRegion) {
  GuestSimulator guest(8 * wire::kMiB);
  const auto memory = viewOf(guest);
  const std::uint64_t good = guest.name("kernel");
  EXPECT_EQ(memory->text(good), "kernel");
  EXPECT_EQ(memory->text(wire::kNameLost), "(name lost)");
  EXPECT_FALSE(memory->text(0).has_value());
  EXPECT_FALSE(memory->text(wire::kStringBit | (std::uint64_t{1} << 62)).has_value());
  EXPECT_FALSE(memory->text(wire::kStringBit | guest.header().strings.bytes / 8).has_value());
  auto* entry = reinterpret_cast<wire::StringEntry*>(static_cast<std::byte*>(guest.base()) + guest.header().strings.offset +
                                                     (good & ~wire::kStringBit) * 8);
  entry->lengthPlusOne.store(0xffffffff);
  EXPECT_FALSE(memory->text(good).has_value());
  std::uint64_t cursor = 0;
  EXPECT_EQ(memory->announcedSince(cursor, false).size(), 1u);  // up to the damaged one, and it ends
}

TEST(Guest, drainsInOrderZeroesAndReturns) {
  GuestSimulator simulator;
  Guest guest(0, getpid(), -1, viewOf(simulator));
  std::vector<std::uint64_t> seen;
  const auto sink = [&seen](const Chunk& chunk) {
    EXPECT_FALSE(chunk.own);
    std::uint64_t word = 0;
    std::memcpy(&word, chunk.bytes.data(), sizeof word);
    seen.push_back(word);
  };
  std::vector<std::uint32_t> slots;
  for (std::uint64_t i = 1; i <= 3; ++i) {
    const auto slot = static_cast<std::uint32_t>(simulator.lend(0, wire::SlotSource::cupti, kTid));
    std::memcpy(simulator.bytesOf(slot), &i, sizeof i);
    slots.push_back(slot);
  }
  simulator.complete(slots[2], 8);
  simulator.complete(slots[0], 8);
  const std::uint32_t bell = simulator.header().recorderDoorbell.load();
  EXPECT_EQ(guest.drain(sink, 0, 100), 2);
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{3, 1}));
  EXPECT_NE(simulator.header().recorderDoorbell.load(), bell);
  EXPECT_EQ(simulator.slot(slots[0]).state.load(), 0u);
  EXPECT_EQ(simulator.bytesOf(slots[0])[0], std::byte{0});
  EXPECT_EQ(simulator.slot(slots[1]).state.load(), 1u);
}

TEST(Guest, survivesAHostileRing) {
  GuestSimulator simulator(8 * wire::kMiB);
  Guest guest(0, getpid(), -1, viewOf(simulator));
  wire::RingCell* ring = wire::ringOf(simulator.base());
  for (std::uint32_t i = 0; i < wire::kRingCapacity; ++i) {
    ring[i].slot = i % 3 == 0 ? 0xffffffff : i % simulator.header().slotCount;
    ring[i].sequence.store(i + 1);
  }
  for (std::uint32_t i = 0; i < simulator.header().slotCount; ++i) {
    simulator.slot(i).state.store(i % 5);
    simulator.slot(i).validBytes.store(~std::uint64_t{0} - i);
    simulator.slot(i).source.store(i);
  }
  std::uint64_t bytes = 0;
  const auto sink = [&](const Chunk& chunk) {
    for (const std::byte b : chunk.bytes) bytes += static_cast<std::uint64_t>(b) + 1;  // ASan looks at every byte
  };
  int turns = 0;
  while (guest.drain(sink, 0, 256) > 0) ASSERT_LT(++turns, 100000);
  guest.readLive(sink, 0);
  guest.salvage(sink, 0);
  EXPECT_GT(bytes, 0u);
}

TEST(Guest, readsOwnSlotsWhileTheyGrowAndNothingTwice) {
  GuestSimulator simulator;
  Guest guest(0, getpid(), -1, viewOf(simulator));
  std::vector<std::int64_t> seen;
  const auto sink = [&seen](const Chunk& chunk) {
    EXPECT_TRUE(chunk.own);
    for (std::size_t at = 0; at < chunk.bytes.size(); at += sizeof(wire::MarkRecord)) {
      wire::MarkRecord mark;
      std::memcpy(&mark, chunk.bytes.data() + at, sizeof mark);
      seen.push_back(mark.header.t);
    }
  };
  wire::MarkRecord mark{};
  mark.header.kind = static_cast<std::uint32_t>(wire::OwnKind::mark);
  mark.header.bytes = sizeof mark;
  const auto append = [&](std::uint32_t slot, std::int64_t t) {
    mark.header.t = t;
    simulator.appendOwn(slot, &mark, sizeof mark);
  };
  const auto first = static_cast<std::uint32_t>(simulator.lend(0, wire::SlotSource::own, kTid));
  append(first, 1);
  guest.readLive(sink, 0);
  guest.readLive(sink, 0);
  append(first, 2);
  append(first, 3);
  guest.readLive(sink, 0);
  append(first, 4);
  // The thread goes on in a second slot before the first one's completion is seen.
  const auto second = static_cast<std::uint32_t>(simulator.lend(0, wire::SlotSource::own, kTid));
  append(second, 5);
  guest.readLive(sink, 0);
  simulator.complete(first, simulator.slot(first).validBytes.load());
  append(second, 6);
  EXPECT_EQ(guest.drain(sink, 0, 10), 1);
  guest.readLive(sink, 0);
  append(second, 7);
  guest.salvage(sink, 0);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7}));
}

TEST(Guest, salvagesFullSlotsBehindAHoleInTheRing) {
  GuestSimulator simulator;
  Guest guest(0, getpid(), -1, viewOf(simulator));
  const auto lost = static_cast<std::uint32_t>(simulator.lend(0, wire::SlotSource::cupti, kTid));
  const auto full = static_cast<std::uint32_t>(simulator.lend(0, wire::SlotSource::cupti, kTid));
  const auto lent = static_cast<std::uint32_t>(simulator.lend(1, wire::SlotSource::cupti, kTid));
  // The first completer died between taking its place in the ring and filling it.
  simulator.slot(lost).validBytes.store(8);
  simulator.slot(lost).sequence.store(1);
  simulator.slot(lost).state.store(static_cast<std::uint32_t>(wire::SlotState::full));
  simulator.header().ringHead.fetch_add(1);
  simulator.header().completedSlots.fetch_add(1);
  simulator.complete(full, 16);
  std::vector<std::pair<std::size_t, bool>> seen;
  const auto sink = [&seen](const Chunk& chunk) { seen.emplace_back(chunk.bytes.size(), chunk.salvage); };
  EXPECT_EQ(guest.drain(sink, 0, 10), 0);
  guest.salvage(sink, 0);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0], std::pair(std::size_t{8}, false));
  EXPECT_EQ(seen[1], std::pair(std::size_t{16}, false));
  EXPECT_EQ(seen[2], std::pair(simulator.slot(lent).bytes, true));
}

std::vector<std::byte> pattern(std::uint64_t seed, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(seed * 31 + i);
  return bytes;
}

TEST(ItemQueue, spillsBeyondItsMemoryAndKeepsTheOrder) {
  ItemQueue queue("spill_" + std::to_string(getpid()));
  constexpr std::size_t kSize = 1 << 20;
  constexpr std::uint64_t kChunks = 2 * ItemQueue::kMemoryBytes / kSize;
  for (std::uint64_t i = 0; i < kChunks; ++i) {
    const auto bytes = pattern(i, kSize);
    Chunk chunk;
    chunk.process = static_cast<std::uint32_t>(i);
    chunk.bytes = bytes;
    ASSERT_TRUE(queue.push(chunk, std::numeric_limits<std::uint64_t>::max()));
  }
  EXPECT_EQ(queue.spilledBytes(), kChunks * kSize - ItemQueue::kMemoryBytes);
  EXPECT_NE(access(("spill_" + std::to_string(getpid())).c_str(), F_OK), 0);  // has no name
  for (std::uint64_t i = 0; i < kChunks; ++i) {
    const auto item = queue.pop(std::chrono::milliseconds(0), std::numeric_limits<std::int64_t>::max());
    ASSERT_TRUE(item && item->chunk);
    ASSERT_EQ(item->chunk->process, i);
    const auto expected = pattern(i, kSize);
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), item->chunk->bytes.begin(), item->chunk->bytes.end()));
  }
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.spilledBytes(), 0u);
}

TEST(ItemQueue, refusesBeyondTheLimitOfTheSpillFile) {
  ItemQueue queue("spill_limit_" + std::to_string(getpid()));
  const auto bytes = pattern(1, 1 << 20);
  Chunk chunk;
  chunk.bytes = bytes;
  for (std::uint64_t i = 0; i < ItemQueue::kMemoryBytes >> 20; ++i) ASSERT_TRUE(queue.push(chunk, 2 << 20));
  EXPECT_TRUE(queue.push(chunk, 2 << 20));
  EXPECT_TRUE(queue.push(chunk, 2 << 20));
  EXPECT_FALSE(queue.push(chunk, 2 << 20));
}

TEST(ItemQueue, keepsYoungChunksBackWhenAsked) {
  ItemQueue queue("spill_young_" + std::to_string(getpid()));
  const auto bytes = pattern(1, 64);
  Chunk chunk;
  chunk.bytes = bytes;
  chunk.arrivedNs = 100;
  ASSERT_TRUE(queue.push(chunk, 0));
  EXPECT_FALSE(queue.pop(std::chrono::milliseconds(0), 99).has_value());
  EXPECT_TRUE(queue.pop(std::chrono::milliseconds(0), 100).has_value());
}

TEST(Options, understandsWhatTheCliGives) {
  const char* argv[] = {"warpmeter-recorder", "--run", "00112233445566778899aabbccddeeff", "--socket", "/s", "--output=/o",
                        "--control-fd", "5", "--force", "--delay-ms", "1500", "--duration-ms", "10", "--api", "all",
                        "--ceilings", "ab-1:dram=4.25e12,tensor.bf16=979", "--ceilings", "cd:fp32=0.5", "--flush-ms", "50", "--max-memory", "1048576", "--max-size", "99", "--nvtx-requested"};
  const auto options = parseOptions(std::size(argv), argv);
  ASSERT_TRUE(options.ok()) << options.error().message;
  EXPECT_EQ(options->run[1], 0x11);
  EXPECT_EQ(options->output, "/o");
  EXPECT_EQ(options->controlFd, 5);
  EXPECT_TRUE(options->force);
  EXPECT_EQ(options->capture.delayNs, 1'500'000'000);
  EXPECT_EQ(options->capture.durationNs, 10'000'000);
  EXPECT_EQ(options->api, ApiMode::all);
  EXPECT_EQ(options->maxMemoryBytes, 1048576u);
  EXPECT_EQ(options->maxSizeBytes, 99u);
  EXPECT_TRUE(options->nvtxRequested);
  ASSERT_EQ(options->ceilings.size(), 3u);
  EXPECT_EQ(options->ceilings[1].uuid, "ab-1");
  EXPECT_EQ(options->ceilings[1].ceiling.kind, "tensor.bf16");
  EXPECT_EQ(options->ceilings[0].ceiling.value, 4.25e12);
  EXPECT_EQ(options->ceilings[2].uuid, "cd");
}

TEST(Options, refusesWhatItDoesNotUnderstand) {
  const std::vector<std::vector<const char*>> cases = {
      {"r"}, {"r", "--socket", "/s"}, {"r", "--what"}, {"r", "--socket"}, {"r", "--run", "12"}, {"r", "--api", "some"},
      {"r", "--capture-range", "nvtx:"}, {"r", "--delay-ms", "-1"}, {"r", "--max-memory", "1G"},
      {"r", "--ceilings", "ab"}, {"r", "--ceilings", "ab:"}, {"r", "--ceilings", ":dram=1"}, {"r", "--ceilings", "ab:dram"},
      {"r", "--ceilings", "ab:dram=0"}, {"r", "--ceilings", "ab:dram=inf"}, {"r", "--ceilings", "ab:dram=1,"}};
  for (const auto& argv : cases) {
    const auto options = parseOptions(static_cast<int>(argv.size()), argv.data());
    ASSERT_FALSE(options.ok()) << argv.back();
    EXPECT_EQ(options.error().kind, ErrorKind::usage);
  }
}

TEST(GpuQuery, readsWhatTheChildPrints) {
  const auto gpus = parseGpuLines(
      "gpu 0\nuuid 00000000-1111-2222-3333-444444444444\nname NVIDIA H200\nbusLocation 0000:0f:00.0\nsmCount 132\n"
      "maxShmemPerBlockOptin 232448\nmaxBlockDimZ 64\nmaxGridDimX 2147483647\nisDiscrete 1\nnonsense\nbad x\n"
      "gpu 1\nuuid 5\nsmCount 7\nsmCou");
  ASSERT_EQ(gpus.size(), 2u);
  EXPECT_EQ(gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(gpus[0].smCount, 132);
  EXPECT_EQ(gpus[0].maxShmemPerBlockOptin, 232448);
  EXPECT_EQ(gpus[0].maxBlockDim[2], 64);
  EXPECT_EQ(gpus[0].maxGridDim[0], 2147483647);
  EXPECT_EQ(gpus[1].id, 1);
  EXPECT_EQ(gpus[1].smCount, 7);
}

TEST(GpuLimits, tableFillsOnlyWhatIsMissing) {
  GpuInfo gpu;
  gpu.limitSource = "cupti";
  gpu.computeMajor = 9;
  gpu.computeMinor = 0;
  fillFromTable(gpu);
  EXPECT_EQ(gpu.maxShmemPerBlockOptin, 227 * 1024);
  EXPECT_EQ(gpu.reservedShmemPerBlock, 1024);
  EXPECT_EQ(gpu.chipName, "GH100");
  EXPECT_EQ(gpu.limitSource, "table");
  GpuInfo driver;
  driver.maxShmemPerBlockOptin = 1;
  driver.reservedShmemPerBlock = 2;
  overlay(gpu, driver);
  EXPECT_EQ(gpu.maxShmemPerBlockOptin, 1);
  EXPECT_EQ(gpu.reservedShmemPerBlock, 2);
  EXPECT_EQ(gpu.limitSource, "driver");
  GpuInfo unknown;
  unknown.computeMajor = 42;
  unknown.computeMinor = 0;
  fillFromTable(unknown);
  EXPECT_TRUE(isNull(unknown.maxShmemPerBlockOptin));
}

TEST(GpuQuery, itsEnvironmentInjectsNothing) {
  setenv("CUDA_INJECTION64_PATH", "/x", 1);
  setenv("NVTX_INJECTION64_PATH", "/x", 1);
  setenv("CUDA_VISIBLE_DEVICES", "0", 1);
  setenv("WARPMETER_SOCKET", "/x", 1);
  setenv("WM_TEST_KEPT", "yes", 1);
  bool kept = false;
  for (const std::string& variable : childEnvironment()) {
    kept = kept || variable == "WM_TEST_KEPT=yes";
    for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "CUDA_VISIBLE_DEVICES", "WARPMETER_"}) {
      EXPECT_FALSE(variable.starts_with(name)) << variable;
    }
  }
  EXPECT_TRUE(kept);
}

TEST(ProcessName, isTheProgramOrItsScript) {
  EXPECT_EQ(processName({"/usr/bin/app", "x"}), "app");
  EXPECT_EQ(processName({"/usr/bin/python3", "-u", "/home/u/train.py", "--lr"}), "train.py");
  EXPECT_EQ(processName({"python", "-m", "torch.distributed.run", "x"}), "torch.distributed.run");
  EXPECT_EQ(processName({"python", "-c", "import torch"}), "python");
  EXPECT_EQ(processName({}), "");
}

}  // namespace
}  // namespace warpmeter::recorder
