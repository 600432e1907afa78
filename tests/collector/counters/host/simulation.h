// SPDX-License-Identifier: Apache-2.0
// A simulated GPU, clock and recorder for the sampler's loop: time passes only where the simulation says so.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages.h"
#include "pm_device.h"
#include "sampler_clock.h"
#include "warpmeter/profile/sample_pack.h"

namespace warpmeter::sampler::simulation {

inline constexpr std::int64_t kMs = 1'000'000, kSecond = 1'000 * kMs;
inline constexpr std::int64_t kRealtimeOffset = 1'700'000'000 * kSecond;

class Clock : public SamplerClock {
 public:
  std::vector<std::pair<std::int64_t, Order>> orders;          // from when on which, rising
  std::vector<std::pair<std::int64_t, std::int64_t>> medians;  // from when on
  std::int64_t now = 0, cpu = 0;

  void pass(std::int64_t wallNs, std::int64_t cpuNs = 0) {
    now += wallNs;
    cpu += cpuNs;
  }
  std::int64_t nowNs() override { return now; }
  std::int64_t realtimeNs() override { return now + kRealtimeOffset; }
  std::int64_t threadCpuNs() override { return cpu; }
  std::int64_t ourShareOfCpuNs() override { return cpu; }
  Order order() override { return at(orders, Order::sample); }
  std::int64_t medianKernelNs() override { return at(medians, std::int64_t{0}); }
  void waitUntil(std::int64_t untilNs, Order current) override {
    for (const auto& [from, order] : orders) {
      if (from > now && from < untilNs && order != current) untilNs = from;
    }
    if (order() == current) now = std::max(now, untilNs);
  }

 private:
  template <class T>
  T at(const std::vector<std::pair<std::int64_t, T>>& list, T value) const {
    for (const auto& [from, v] : list) {
      if (from <= now) value = v;
    }
    return value;
  }
};

// Samples that say what they are: column c of a sample that began at t (us since the session's start) is t *
// 10 + c.
class Device : public PmDevice {
 public:
  explicit Device(Clock& clock) : clock_(clock) {}

  // CPU time for one sample of n columns; wall and CPU time of start, stop and configure.
  std::int64_t perSampleNs(std::size_t columns) const {
    return sampleBaseNs + sampleColumnNs * static_cast<std::int64_t>(columns);
  }
  std::int64_t sampleBaseNs = 10'000, sampleColumnNs = 8'000, startNs = 1'250'000, startCpuNs = 400'000;
  std::size_t capacity = std::numeric_limits<std::size_t>::max();  // of the hardware buffer, samples
  std::size_t chunk = 256;
  std::vector<PmStatus> openResults;  // for one open() after the other; then fine
  PmStatus startResult, decodeResult;

  struct Burst {
    std::int64_t fromNs, toNs, intervalNs;
    std::size_t columns;
    std::string lastMetric;
    bool afterOverflow;
  };
  std::vector<Burst> bursts;
  int opens = 0, closes = 0, configures = 0;
  bool isOpen = false, sampling = false, overflowed = false;

  PmStatus open() override {
    ++opens;
    if (!openResults.empty()) {
      const PmStatus s = openResults.front();
      openResults.erase(openResults.begin());
      if (!s.ok()) return s;
    }
    isOpen = true;
    return {};
  }
  void close() override {
    ++closes;
    isOpen = sampling = overflowed = false;
  }
  PmStatus configure(const MetricSet& set, std::int64_t intervalNs) override {
    if (!isOpen || sampling) return {7, "configure"};
    ++configures;
    set_ = &set;
    interval_ = intervalNs;
    return {};
  }
  PmStatus start() override {
    if (!isOpen || sampling || set_ == nullptr) return {7, "start"};
    if (!startResult.ok()) return startResult;
    clock_.pass(startNs, startCpuNs);
    bursts.push_back({clock_.now, 0, interval_, set_->columns.size(), set_->columns.back().name, overflowed});
    sampling = true;
    overflowed = false;
    next_ = clock_.now;
    return {};
  }
  PmStatus stop() override {
    if (!sampling) return {7, "stop"};
    bursts.back().toNs = clock_.now;
    stoppedAt_ = clock_.now;
    sampling = false;
    clock_.pass(startNs, startCpuNs);
    return {};
  }
  DecodeResult decode(SampleBlock& block) override {
    DecodeResult result;
    if (!decodeResult.ok()) return {decodeResult};
    if (overflowed) return {{8, "decode"}, false, true};
    const std::int64_t until = sampling ? clock_.now : stoppedAt_;
    const auto waiting = static_cast<std::size_t>(std::max<std::int64_t>(0, (until - next_) / interval_));
    std::size_t readable = waiting;
    if (waiting > capacity) {
      overflowed = result.overflow = true;
      readable = capacity;
    }
    const std::size_t count = std::min(readable, chunk);
    for (std::size_t i = 0; i < count; ++i, next_ += interval_) {
      block.startNs.push_back(next_ + kRealtimeOffset);
      block.endNs.push_back(next_ + interval_ + kRealtimeOffset);
      for (std::size_t c = 0; c < block.columns; ++c) {
        block.values.push_back(static_cast<double>(next_ / 1000 * 10) + static_cast<double>(c));
      }
    }
    const std::int64_t cost = perSampleNs(block.columns) * static_cast<std::int64_t>(count);
    clock_.pass(cost, cost);
    result.more = !overflowed && readable > count;
    return result;
  }

 private:
  Clock& clock_;
  const MetricSet* set_ = nullptr;
  std::int64_t interval_ = 0, next_ = 0, stoppedAt_ = 0;
};

// Every metric exists, at most `room` of them together.
class Host : public MetricHost {
 public:
  std::size_t room = 7;
  int questions = 0;
  std::function<void()> onQuestion = [] {};
  bool fitsOnePass(const std::vector<std::string>& asked) override {
    ++questions;
    onQuestion();
    return asked.size() <= room;
  }
};

struct Message {
  wire::SamplerMessage head;
  std::string payload;
  std::int64_t atNs;
};

class Sink : public MessageSink {
 public:
  explicit Sink(const Clock* clock = nullptr) : clock_(clock) {}
  std::vector<Message> messages;
  bool refuse = false;  // batches
  bool put(const wire::SamplerMessage& message, std::span<const std::byte> payload, bool mayDrop) override {
    if (refuse && mayDrop) return false;
    messages.push_back({message, std::string(reinterpret_cast<const char*>(payload.data()), payload.size()),
                        clock_ == nullptr ? 0 : clock_->now});
    return true;
  }
  std::vector<Message> of(wire::SamplerKind kind) const {
    std::vector<Message> result;
    for (const Message& m : messages) {
      if (m.head.kind == kind) result.push_back(m);
    }
    return result;
  }

 private:
  const Clock* clock_;
};

inline std::optional<UnpackedSamples> unpack(const Message& m) {
  return unpackSamples(std::as_bytes(std::span(m.payload)), m.head.fromNs, m.head.samples, m.head.metrics);
}

}  // namespace warpmeter::sampler::simulation
