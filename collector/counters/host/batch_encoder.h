// SPDX-License-Identifier: Apache-2.0
// Decoded samples of one GPU -> batch messages. A batch has no holes: it ends where the next sample does not
// begin at its end, after kMaxBatchSamples, and with the burst. Samples without a value are left out and told
// as a hole, and so are batches that nobody takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages.h"
#include "pm_device.h"

namespace warpmeter::sampler {

class BatchEncoder {
 public:
  static constexpr std::size_t kMaxBatchSamples = 4096;

  BatchEncoder(std::uint32_t gpu, MessageSink& sink) : gpu_(gpu), sink_(sink) {}

  void beginBurst(std::uint32_t set, std::size_t columns, std::int64_t intervalNs);
  void add(const SampleBlock& block);
  void endBurst();
  // Tells what was lost and not told yet, even if the pipe is full. At the end.
  void tellLosses();

  std::int64_t lastEndNs() const { return lastEndNs_; }  // of the burst; 0 before its first sample
  std::uint64_t sent() const { return sent_; }           // samples
  std::uint64_t invalid() const { return invalid_; }     // samples without a value
  std::uint64_t dropped() const { return dropped_; }     // samples that nobody took

 private:
  struct Loss {
    std::int64_t fromNs = 0, toNs = 0;
    std::uint64_t samples = 0;
    void add(std::int64_t from, std::int64_t to, std::uint64_t count);
  };

  bool roundRow(const double* row);
  void flush();
  void tell(Loss& loss, const char* why);

  const std::uint32_t gpu_;
  MessageSink& sink_;
  std::uint32_t set_ = 0;
  std::int64_t intervalNs_ = 0, startNs_ = 0, lastEndNs_ = 0;
  bool first_ = true;
  std::vector<std::int64_t> ends_, row_;
  std::vector<std::vector<std::int64_t>> values_;
  Loss invalidHere_, refused_;
  std::uint64_t sent_ = 0, invalid_ = 0, dropped_ = 0;
};

}  // namespace warpmeter::sampler
