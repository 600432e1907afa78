// SPDX-License-Identifier: Apache-2.0
// From the thread that reads the sampler to the writer's queue: at most kBytesPerSecond of samples on average, and never
// so much that guests' buffers would have to go to the spill file. What is left out is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "item_queue.h"
#include "warpmeter/wire/sampler.h"

namespace warpmeter::recorder {

class SamplerFeed {
 public:
  static constexpr std::int64_t kBytesPerSecond = 1'500'000;
  static constexpr std::int64_t kBurstBytes = 4 * kBytesPerSecond;
  static constexpr std::int64_t kTellEveryNs = 1'000'000'000;
  static constexpr int kFreeAnnouncements = 4096;  // GPUs and sets pass in any case: later samples mean nothing without

  // mayGrow: whether --max-size leaves room. Any thread.
  SamplerFeed(ItemQueue& queue, std::function<bool()> mayGrow) : queue_(queue), mayGrow_(std::move(mayGrow)) {}

  // On the reading thread. Clocks: CLOCK_MONOTONIC, CLOCK_REALTIME.
  void take(const wire::SamplerMessage& message, std::span<const std::byte> payload, std::int64_t monotonicNs,
            std::int64_t realtimeNs);
  // What was left out and not told yet. On the reading thread, or after its end.
  void tellDropped();

 private:
  void drop(const wire::SamplerMessage& message, const char* why);

  ItemQueue& queue_;
  std::function<bool()> mayGrow_;
  std::int64_t tokens_ = kBurstBytes, lastNs_ = 0, toldNs_ = 0;
  int announcements_ = 0;
  struct Dropped {
    std::int64_t batches = 0, fromNs = 0, toNs = 0;
    const char* why = "";
  } dropped_;
  std::vector<std::byte> whole_;
};

}  // namespace warpmeter::recorder
