// SPDX-License-Identifier: Apache-2.0
#include "message_queue.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace warpmeter::sampler {

MessageQueue::MessageQueue(int fd) : fd_(fd), wakeFd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) | O_NONBLOCK);
}

MessageQueue::~MessageQueue() {
  if (wakeFd_ >= 0) close(wakeFd_);
}

bool MessageQueue::put(const wire::SamplerMessage& message, std::span<const std::byte> payload,
                       bool mayDrop) {
  std::vector<std::byte> bytes(sizeof message + payload.size());
  std::memcpy(bytes.data(), &message, sizeof message);
  if (!payload.empty()) std::memcpy(bytes.data() + sizeof message, payload.data(), payload.size());
  {
    const std::lock_guard lock(mutex_);
    if (broken_ || (mayDrop && waitingBytes_ + bytes.size() > kMaxWaitingBytes)) return false;
    waitingBytes_ += bytes.size();
    messages_.push_back(std::move(bytes));
  }
  wake();
  return true;
}

void MessageQueue::wake() {
  const std::uint64_t one = 1;
  (void)!write(wakeFd_, &one, sizeof one);
}

bool MessageQueue::waiting() {
  const std::lock_guard lock(mutex_);
  return !messages_.empty();
}

void MessageQueue::pump() {
  std::uint64_t count = 0;
  (void)!read(wakeFd_, &count, sizeof count);
  for (;;) {
    std::span<const std::byte> rest;
    {
      // Only this thread removes messages, and a deque keeps its elements in place while others append.
      const std::lock_guard lock(mutex_);
      if (messages_.empty() || broken_) return;
      rest = std::span(messages_.front()).subspan(written_);
    }
    const ssize_t n = write(fd_, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    const std::lock_guard lock(mutex_);
    if (n < 0) {
      broken_ = true;
      messages_.clear();
      waitingBytes_ = 0;
      return;
    }
    written_ += static_cast<std::size_t>(n);
    if (written_ < messages_.front().size()) continue;
    waitingBytes_ -= messages_.front().size();
    messages_.pop_front();
    written_ = 0;
  }
}

}  // namespace warpmeter::sampler
