// SPDX-License-Identifier: Apache-2.0
// Messages on their way to a pipe whose reader may be slow: batches are refused when too much waits, nothing
// blocks.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "messages.h"

namespace warpmeter::sampler {

class MessageQueue : public MessageSink {
 public:
  static constexpr std::size_t kMaxWaitingBytes = std::size_t{16} << 20;

  // fd is made non-blocking; it stays the caller's.
  explicit MessageQueue(int fd);
  ~MessageQueue() override;
  MessageQueue(const MessageQueue&) = delete;
  MessageQueue& operator=(const MessageQueue&) = delete;

  bool put(const wire::SamplerMessage& message, std::span<const std::byte> payload, bool mayDrop) override;

  // The thread that writes: waits until wakeFd() or (while waiting()) the pipe is ready, then pumps.
  int wakeFd() const { return wakeFd_; }
  void wake();  // any thread: makes wakeFd() readable
  bool waiting();
  void pump();                             // writes what the pipe takes
  bool broken() const { return broken_; }  // nobody reads any more

 private:
  const int fd_;
  int wakeFd_ = -1;
  std::mutex mutex_;
  std::deque<std::vector<std::byte>> messages_;
  std::size_t waitingBytes_ = 0, written_ = 0;  // written_: of the first message
  std::atomic<bool> broken_ = false;
};

}  // namespace warpmeter::sampler
