// SPDX-License-Identifier: Apache-2.0
#include "sampler_feed.h"

#include <algorithm>
#include <cstring>

#include "store.h"

namespace warpmeter::recorder {

void SamplerFeed::take(const wire::SamplerMessage& message, std::span<const std::byte> payload,
                       std::int64_t monotonicNs, std::int64_t realtimeNs) {
  if (lastNs_ == 0) lastNs_ = toldNs_ = monotonicNs;
  const std::int64_t passedNs = std::clamp<std::int64_t>(monotonicNs - lastNs_, 0, 60'000'000'000);
  lastNs_ = monotonicNs;
  tokens_ = std::min(kBurstBytes, tokens_ + passedNs * (kBytesPerSecond / 1000) / 1'000'000);

  whole_.resize(sizeof message + payload.size());
  std::memcpy(whole_.data(), &message, sizeof message);
  std::copy(payload.begin(), payload.end(), whole_.begin() + sizeof message);
  const auto size = static_cast<std::int64_t>(whole_.size());
  Chunk chunk;
  chunk.sampler = true;
  chunk.arrivedNs = realtimeNs;
  chunk.bytes = whole_;
  const bool announcement = message.kind != wire::SamplerKind::batch && message.kind != wire::SamplerKind::hole &&
                            ++announcements_ <= kFreeAnnouncements;
  if (size > tokens_ && !announcement) {
    drop(message, "more samples came than are stored (1.5 MB/s)");
  } else if (!mayGrow_()) {
    drop(message, "samples were dropped: --max-size is reached");
  } else if (!queue_.push(chunk, 0)) {  // 0: not into the spill file, which is for what cannot be measured again
    drop(message, "samples were dropped: writing the file takes too long");
  } else {
    tokens_ -= std::min(size, tokens_);
  }
  if (monotonicNs - toldNs_ < kTellEveryNs) return;
  toldNs_ = monotonicNs;
  tellDropped();
}

void SamplerFeed::drop(const wire::SamplerMessage& message, const char* why) {
  if (message.kind != wire::SamplerKind::batch && message.kind != wire::SamplerKind::hole) return;
  if (dropped_.batches > 0 && dropped_.why != why) tellDropped();
  if (dropped_.batches == 0) dropped_.fromNs = message.fromNs;
  dropped_.fromNs = std::min(dropped_.fromNs, message.fromNs);
  dropped_.toNs = std::max(dropped_.toNs, message.toNs);
  dropped_.why = why;
  ++dropped_.batches;
}

void SamplerFeed::tellDropped() {
  if (dropped_.batches == 0) return;
  queue_.push([d = dropped_](Store& store) { store.samplesLost(d.why, d.batches, d.fromNs, d.toNs); });
  dropped_ = {};
}

}  // namespace warpmeter::recorder
