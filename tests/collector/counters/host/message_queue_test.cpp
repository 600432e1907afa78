// SPDX-License-Identifier: Apache-2.0
#include "message_queue.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace warpmeter::sampler {
namespace {

class Queue : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  void TearDown() override {
    for (const int fd : ends_) {
      if (fd >= 0) close(fd);
    }
  }
  std::string readAll() {
    std::string text;
    char buffer[65536];
    for (ssize_t n; (n = read(ends_[0], buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(n));
    return text;
  }
  static bool putBatch(MessageQueue& queue, std::size_t bytes, char fill) {
    wire::SamplerMessage m = newMessage(wire::SamplerKind::batch, 0);
    m.bytes = bytes;
    const std::string payload(bytes, fill);
    return queue.put(m, std::as_bytes(std::span(payload)), true);
  }
  int ends_[2] = {-1, -1};
};

TEST_F(Queue, MessagesArriveWholeThroughANarrowPipe) {
  MessageQueue queue(ends_[1]);
  constexpr std::size_t kBytes = 300'000;  // more than a pipe takes at once
  ASSERT_TRUE(putBatch(queue, kBytes, 'a'));
  ASSERT_TRUE(putBatch(queue, kBytes, 'b'));
  std::string text;
  for (int i = 0; i < 1000 && queue.waiting(); ++i) {
    queue.pump();
    text += readAll();
  }
  EXPECT_FALSE(queue.waiting());
  ASSERT_EQ(text.size(), 2 * (kBytes + sizeof(wire::SamplerMessage)));
  EXPECT_EQ(text[sizeof(wire::SamplerMessage)], 'a');
  EXPECT_EQ(text.substr(text.size() - kBytes), std::string(kBytes, 'b'));
}

TEST_F(Queue, RefusesBatchesWhenNobodyReadsButTakesTheSmallWord) {
  MessageQueue queue(ends_[1]);
  std::size_t taken = 0;
  while (taken < 1000 && putBatch(queue, 1 << 20, 'x')) {
    ++taken;
    queue.pump();
  }
  EXPECT_EQ(taken, (MessageQueue::kMaxWaitingBytes >> 20) - 1);  // each is a little longer than 1 MiB
  sendHole(queue, 0, 1, 2, "why");
  EXPECT_FALSE(putBatch(queue, 1 << 20, 'x'));
  std::string text;
  for (int i = 0; i < 100'000 && queue.waiting(); ++i) {
    queue.pump();
    text += readAll();
  }
  EXPECT_TRUE(text.ends_with("why"));
  EXPECT_TRUE(putBatch(queue, 1 << 20, 'x'));
}

TEST_F(Queue, PutWakesTheWriter) {
  MessageQueue queue(ends_[1]);
  pollfd fd = {queue.wakeFd(), POLLIN, 0};
  EXPECT_EQ(poll(&fd, 1, 0), 0);
  sendCost(queue, 5);
  EXPECT_EQ(poll(&fd, 1, 0), 1);
  queue.pump();
  EXPECT_EQ(poll(&fd, 1, 0), 0);
}

TEST_F(Queue, KnowsWhenTheReaderIsGone) {
  MessageQueue queue(ends_[1]);
  close(std::exchange(ends_[0], -1));
  sendCost(queue, 5);
  queue.pump();
  EXPECT_TRUE(queue.broken());
  EXPECT_FALSE(queue.waiting());
  EXPECT_FALSE(putBatch(queue, 10, 'x'));
}

}  // namespace
}  // namespace warpmeter::sampler
