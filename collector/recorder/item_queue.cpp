// SPDX-License-Identifier: Apache-2.0
#include "item_queue.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace warpmeter::recorder {
namespace {

constexpr std::size_t kMaxSpares = 16;

bool writeAll(int fd, std::span<const std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

bool readAll(int fd, std::span<std::byte> bytes, std::uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

}  // namespace

ItemQueue::ItemQueue(std::string spillPath) : spillPath_(std::move(spillPath)) {}

ItemQueue::~ItemQueue() {
  if (spillFd_ >= 0) close(spillFd_);
}

void ItemQueue::push(std::function<void(Store&)> action) {
  {
    const std::lock_guard lock(mutex_);
    Entry entry;
    entry.action = std::move(action);
    entries_.push_back(std::move(entry));
  }
  ready_.notify_one();
}

// Buffers come in a few sizes; keeping some saves page faults.
std::unique_ptr<std::byte[]> ItemQueue::take(std::size_t size, std::size_t& capacity) {
  const auto at = std::find_if(spares_.begin(), spares_.end(), [size](const Spare& s) {
    return s.capacity >= size && s.capacity / 8 <= size;
  });
  if (at != spares_.end()) {
    capacity = at->capacity;
    auto memory = std::move(at->memory);
    spares_.erase(at);
    return memory;
  }
  capacity = std::max<std::size_t>(std::bit_ceil(size), 256);
  return std::unique_ptr<std::byte[]>(new std::byte[capacity]);
}

bool ItemQueue::push(const Chunk& chunk, std::uint64_t spillLimitBytes) {
  const std::span<const std::byte> bytes = chunk.bytes;
  Entry entry;
  entry.isChunk = true;
  entry.chunk = chunk;
  entry.size = bytes.size();
  bool inMemory = false;
  {
    const std::lock_guard lock(mutex_);
    inMemory = memoryBytes_ + bytes.size() <= kMemoryBytes;
    if (inMemory) {
      entry.memory = take(bytes.size(), entry.capacity);
      memoryBytes_ += bytes.size();
    }
  }
  if (inMemory) {
    std::memcpy(entry.memory.get(), bytes.data(), bytes.size());
  } else if (!spill(entry, bytes, spillLimitBytes)) {
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back(std::move(entry));
  }
  ready_.notify_one();
  return true;
}

bool ItemQueue::spill(Entry& entry, std::span<const std::byte> bytes, std::uint64_t limit) {
  std::uint64_t offset = 0;
  {
    const std::lock_guard lock(mutex_);
    if (spillFailed_ || spillLive_ + bytes.size() > limit) return false;
    if (spillFd_ < 0) {
      spillFd_ = open(spillPath_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (spillFd_ < 0) {
        spillFailed_ = true;
        return false;
      }
      unlink(spillPath_.c_str());
    }
    offset = spillEnd_;
  }
  // Only this thread writes and moves spillEnd_ forward; the reader only resets it when nothing is left.
  if (!writeAll(spillFd_, bytes, offset)) return false;
  const std::lock_guard lock(mutex_);
  entry.spillOffset = static_cast<std::int64_t>(offset);
  spillEnd_ = offset + bytes.size();
  spillLive_ += bytes.size();
  spillTotal_ += bytes.size();
  return true;
}

void ItemQueue::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  ready_.notify_one();
}

std::optional<Item> ItemQueue::pop(std::chrono::milliseconds wait, std::int64_t notAfterNs) {
  std::unique_lock lock(mutex_);
  if (current_.memory) {
    memoryBytes_ -= current_.size;
    if (spares_.size() < kMaxSpares) spares_.push_back({std::move(current_.memory), current_.capacity});
  }
  current_ = {};
  const auto available = [&] {
    return !entries_.empty() && (!entries_.front().isChunk || entries_.front().chunk.arrivedNs <= notAfterNs);
  };
  ready_.wait_for(lock, wait, [&] { return woken_ || available(); });
  woken_ = false;
  if (!available()) return std::nullopt;
  current_ = std::move(entries_.front());
  entries_.pop_front();
  Item item;
  if (!current_.isChunk) {
    item.action = std::move(current_.action);
    return item;
  }
  std::span<const std::byte> bytes(current_.memory.get(), current_.size);
  if (current_.spillOffset >= 0) {
    const auto offset = static_cast<std::uint64_t>(current_.spillOffset);
    readBuffer_.resize(current_.size);
    lock.unlock();
    bool ok = readAll(spillFd_, readBuffer_, offset);
    // What was read gives its blocks back at once: the spill file is as large as what is still to do.
    fallocate(spillFd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
              static_cast<off_t>(current_.size));
    lock.lock();
    spillLive_ -= current_.size;
    bytes = ok ? std::span<const std::byte>(readBuffer_) : std::span<const std::byte>();
  }
  item.chunk = current_.chunk;
  item.chunk->bytes = bytes;
  return item;
}

std::uint64_t ItemQueue::spilledBytes() const {
  const std::lock_guard lock(mutex_);
  return spillLive_;
}

std::uint64_t ItemQueue::spilledBytesTotal() const {
  const std::lock_guard lock(mutex_);
  return spillTotal_;
}

bool ItemQueue::empty() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty();
}

}  // namespace warpmeter::recorder
