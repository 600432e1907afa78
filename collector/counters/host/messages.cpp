// SPDX-License-Identifier: Apache-2.0
#include "messages.h"

#include <string>

namespace warpmeter::sampler {
namespace {

void put(MessageSink& sink, wire::SamplerMessage message, const std::string& payload) {
  message.bytes = payload.size();
  (void)sink.put(message, std::as_bytes(std::span(payload)), false);
}

std::string zeroEnded(std::string_view first, std::string_view second) {
  std::string text(first);
  text += '\0';
  text += second;
  text += '\0';
  return text;
}

}  // namespace

wire::SamplerMessage newMessage(wire::SamplerKind kind, std::uint32_t gpu) {
  wire::SamplerMessage m = {};
  m.magic = wire::kSamplerMagic;
  m.kind = kind;
  m.gpu = gpu;
  return m;
}

void sendGpu(MessageSink& sink, std::uint32_t gpu, std::string_view uuid, std::string_view chip) {
  put(sink, newMessage(wire::SamplerKind::gpu, gpu), zeroEnded(uuid, chip));
}

void sendSet(MessageSink& sink, std::uint32_t gpu, std::uint32_t set, const MetricSet& metrics) {
  wire::SamplerMessage m = newMessage(wire::SamplerKind::set, gpu);
  m.set = set;
  m.metrics = static_cast<std::uint32_t>(metrics.columns.size());
  std::string names;
  for (const MetricColumn& column : metrics.columns) (names += column.name) += '\0';
  put(sink, m, names);
}

void sendHole(MessageSink& sink, std::uint32_t gpu, std::int64_t fromNs, std::int64_t toNs,
              std::string_view why) {
  wire::SamplerMessage m = newMessage(wire::SamplerKind::hole, gpu);
  m.fromNs = fromNs;
  m.toNs = toNs;
  put(sink, m, std::string(why));
}

void sendUnavailable(MessageSink& sink, std::uint32_t gpu, std::string_view reason, std::string_view text) {
  put(sink, newMessage(wire::SamplerKind::unavailable, gpu), zeroEnded(reason, text));
}

void sendCost(MessageSink& sink, std::int64_t cpuNs) {
  wire::SamplerMessage m = newMessage(wire::SamplerKind::cost, kNoGpu);
  m.fromNs = cpuNs;
  put(sink, m, {});
}

void sendPaused(MessageSink& sink, std::uint32_t gpu) {
  put(sink, newMessage(wire::SamplerKind::paused, gpu), {});
}

}  // namespace warpmeter::sampler
