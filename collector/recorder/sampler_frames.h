// SPDX-License-Identifier: Apache-2.0
// The sampler's output, cut into its messages. Nothing of it is trusted: another program wrote it.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "warpmeter/wire/sampler.h"

namespace warpmeter::recorder {

class SamplerFrames {
 public:
  // A message and its payload; valid during the call.
  using Take = std::function<void(const wire::SamplerMessage& message, std::span<const std::byte> payload)>;

  // False: this is no message, error() says what it is, and nothing is taken from here on.
  bool feed(std::span<const std::byte> bytes, const Take& take);
  // The output has ended: false when it did so inside a message.
  bool end();
  const std::string& error() const { return error_; }

 private:
  bool plausible(const wire::SamplerMessage& message);
  std::vector<std::byte> rest_;  // the beginning of a message
  std::string error_;
};

}  // namespace warpmeter::recorder
