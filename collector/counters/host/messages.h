// SPDX-License-Identifier: Apache-2.0
// The sampler's messages (warpmeter/wire/sampler.h), one function each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "metric_sets.h"
#include "warpmeter/wire/sampler.h"

namespace warpmeter::sampler {

// Where messages go. Any thread.
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  // False: there is no room (only if mayDrop) or nobody listens any more; nothing of the message was taken.
  virtual bool put(const wire::SamplerMessage& message, std::span<const std::byte> payload, bool mayDrop) = 0;
};

inline constexpr std::uint32_t kNoGpu = 0xffffffff;

wire::SamplerMessage newMessage(wire::SamplerKind kind, std::uint32_t gpu);

void sendGpu(MessageSink& sink, std::uint32_t gpu, std::string_view uuid, std::string_view chip);
void sendSet(MessageSink& sink, std::uint32_t gpu, std::uint32_t set, const MetricSet& metrics);
void sendHole(MessageSink& sink, std::uint32_t gpu, std::int64_t fromNs, std::int64_t toNs,
              std::string_view why);
void sendUnavailable(MessageSink& sink, std::uint32_t gpu, std::string_view reason, std::string_view text);
void sendCost(MessageSink& sink, std::int64_t cpuNs);
void sendPaused(MessageSink& sink, std::uint32_t gpu);

}  // namespace warpmeter::sampler
