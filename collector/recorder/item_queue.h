// SPDX-License-Identifier: Apache-2.0
// From the thread that takes guests' buffers in to the thread that writes the file, in order. Buffers are copied: into
// memory as long as kMemoryBytes are enough, else to a spill file beside the output, so the guests get their buffers
// back at once however slow the disk or a reader's lock is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace warpmeter::recorder {

class Store;

// A buffer of one guest. bytes is valid until the next pop().
struct Chunk {
  std::uint32_t process = 0;
  bool own = false;              // source `own`, else CUPTI
  bool sampler = false;          // of no guest: a message of the counter sampler and its payload
  bool salvage = false;          // of a process that is gone: may have holes
  bool orderly = false;          // salvage of one whose exit handler ran: nothing is missing
  std::int64_t arrivedNs = 0;    // CLOCK_REALTIME
  std::span<const std::byte> bytes;
};

// Either a chunk or something to do on the writer's thread.
struct Item {
  std::optional<Chunk> chunk;
  std::function<void(Store&)> action;
};

class ItemQueue {
 public:
  static constexpr std::uint64_t kMemoryBytes = 48u << 20;

  // spillPath: created at need, deleted at once (an open file without a name: nothing stays after a kill).
  explicit ItemQueue(std::string spillPath);
  ~ItemQueue();
  ItemQueue(const ItemQueue&) = delete;
  ItemQueue& operator=(const ItemQueue&) = delete;

  void push(std::function<void(Store&)> action);
  // False: neither memory nor the spill file has room; nothing was taken. Chunks with a limit above 0 come from one
  // thread only.
  bool push(const Chunk& chunk, std::uint64_t spillLimitBytes);
  // Wakes a waiting pop() without an item.
  void wake();

  // The next item, or nothing after the time or wake(). Chunks that arrived later than notAfterNs stay queued.
  std::optional<Item> pop(std::chrono::milliseconds wait, std::int64_t notAfterNs);

  std::uint64_t spilledBytes() const;        // in the spill file now
  std::uint64_t spilledBytesTotal() const;
  bool empty() const;

 private:
  struct Entry {
    Chunk chunk;
    bool isChunk = false;
    std::unique_ptr<std::byte[]> memory;
    std::size_t capacity = 0, size = 0;
    std::int64_t spillOffset = -1;
    std::function<void(Store&)> action;
  };
  std::unique_ptr<std::byte[]> take(std::size_t size, std::size_t& capacity);
  bool spill(Entry& entry, std::span<const std::byte> bytes, std::uint64_t limit);

  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Entry> entries_;
  std::uint64_t memoryBytes_ = 0;
  bool woken_ = false;
  struct Spare {
    std::unique_ptr<std::byte[]> memory;
    std::size_t capacity;
  };
  std::vector<Spare> spares_;
  Entry current_;                            // what pop() handed out
  std::vector<std::byte> readBuffer_;

  std::string spillPath_;
  int spillFd_ = -1;
  bool spillFailed_ = false;
  std::uint64_t spillEnd_ = 0, spillLive_ = 0, spillTotal_ = 0;
};

}  // namespace warpmeter::recorder
