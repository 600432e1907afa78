// SPDX-License-Identifier: Apache-2.0
#include "sampler_frames.h"

#include <fmt/format.h>

#include <cstring>

namespace warpmeter::recorder {
namespace {

constexpr std::size_t kHeader = sizeof(wire::SamplerMessage);
constexpr std::uint64_t kTextMax = std::uint64_t{64} << 10;  // of everything but samples

}  // namespace

bool SamplerFrames::plausible(const wire::SamplerMessage& m) {
  if (m.magic != wire::kSamplerMagic) {
    error_ = "it sent something that is no message";
    return false;
  }
  if (m.kind < wire::SamplerKind::gpu || m.kind > wire::SamplerKind::paused) {
    error_ = fmt::format("it sent a message of the unknown kind {}", static_cast<std::uint32_t>(m.kind));
    return false;
  }
  if (m.bytes > (m.kind == wire::SamplerKind::batch ? wire::kSamplerPayloadMax : kTextMax)) {
    error_ = fmt::format("it sent a message of {} bytes", m.bytes);
    return false;
  }
  return true;
}

bool SamplerFrames::feed(std::span<const std::byte> bytes, const Take& take) {
  if (!error_.empty()) return false;
  rest_.insert(rest_.end(), bytes.begin(), bytes.end());
  std::span<const std::byte> left = rest_;
  while (left.size() >= kHeader) {
    wire::SamplerMessage message;
    std::memcpy(&message, left.data(), kHeader);
    if (!plausible(message)) return false;
    if (left.size() - kHeader < message.bytes) break;
    take(message, left.subspan(kHeader, message.bytes));
    left = left.subspan(kHeader + message.bytes);
  }
  rest_.erase(rest_.begin(), rest_.end() - static_cast<std::ptrdiff_t>(left.size()));
  return true;
}

bool SamplerFrames::end() {
  if (error_.empty() && !rest_.empty()) error_ = "its output ended inside a message";
  return error_.empty();
}

}  // namespace warpmeter::recorder
