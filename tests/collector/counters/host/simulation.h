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
// 10 + c. Costs and habits are those measured on an H200 with CUDA 13.0.
class Device : public PmDevice {
 public:
  explicit Device(Clock& clock) : clock_(clock) {}

  std::int64_t configureNs = 302'000'000, closeNs = 84'000'000, startNs = 870'000, stopNs = 2'000'000;
  std::int64_t overhangNs = 500'000;  // of stopNs: sampling goes on
  // For each column: of a decoded sample, and of a sample that the image has room for.
  std::int64_t decodeColumnNs = 9'570, imageColumnNs = 1'780;
  std::size_t bufferSamples = 1'000'000;  // that 16 MiB hold
  std::vector<PmStatus> openResults;      // for one open() after the other; then fine
  PmStatus startResult, decodeResult;
  std::string poison;  // a set with this counter gives nothing, nor does any other after it until the session
                       // is closed

  std::int64_t worksFromNs = std::numeric_limits<std::int64_t>::min();  // the GPU has nothing to do before

  struct Burst {
    std::int64_t fromNs, toNs, intervalNs;
    std::size_t columns, counters;  // read, counted
    std::string lastMetric;
    std::size_t samples;
  };
  std::vector<Burst> bursts;
  struct Change {
    std::int64_t atNs;
    std::size_t counters, bufferBytes;
    std::string lastMetric;
  };
  std::vector<Change> changes;
  int opens = 0, closes = 0;
  bool isOpen = false, sampling = false, overflowed = false;

  PmStatus open() override {
    if (isOpen) return {7, "open"};
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
    clock_.pass(closeNs, closeNs);
    isOpen = sampling = overflowed = poisoned_ = false;
    group_ = nullptr;
    set_ = nullptr;
  }
  PmStatus configure(const MetricGroup& group, std::int64_t intervalNs, std::size_t bufferBytes) override {
    if (!isOpen || sampling) return {7, "configure"};
    clock_.pass(configureNs, configureNs);
    if (group_ != nullptr) return {};  // not taken, and nobody says so
    group_ = &group;
    interval_ = intervalNs;
    bufferBytes_ = bufferBytes;
    changes.push_back({clock_.now, group.asked().size(), bufferBytes, group.sets.back().columns.back().name});
    return {};
  }
  PmStatus prepare(const MetricSet& set, std::size_t samples) override {
    if (group_ == nullptr) return {7, "prepare"};
    const bool ours = std::ranges::any_of(group_->sets, [&](const MetricSet& s) { return &s == &set; });
    set_ = ours ? &set : nullptr;
    room_ = samples;
    return {};
  }
  PmStatus start() override {
    if (!isOpen || sampling || group_ == nullptr) return {7, "start"};
    if (!startResult.ok()) return startResult;
    clock_.pass(startNs, startNs);
    sampling = true;
    next_ = clock_.now;
    bursts.push_back({clock_.now, 0, interval_, 0, group_->asked().size(), {}, 0});
    return {};
  }
  PmStatus stop() override {
    if (!sampling) return {7, "stop"};
    stoppedAt_ = clock_.now + overhangNs;
    bursts.back().toNs = stoppedAt_;
    sampling = false;
    clock_.pass(stopNs, stopNs);
    return {};
  }
  DecodeResult decode(SampleBlock& block) override {
    DecodeResult result;
    if (!decodeResult.ok()) return {decodeResult};
    if (overflowed) return {{8, "decode"}, false, true};
    const auto image = static_cast<std::int64_t>(room_ * block.columns) * imageColumnNs;
    clock_.pass(image, image);
    poisoned_ = poisoned_ || (set_ != nullptr && std::ranges::any_of(set_->columns, [&](const auto& c) {
                                return c.name == poison;
                              }));
    if (poisoned_) return result;
    if (set_ == nullptr) return result;  // other counters than those that are counted: nothing
    std::size_t count = static_cast<std::size_t>(std::max<std::int64_t>(0, stoppedAt_ - next_) / interval_);
    const std::size_t capacity = bufferSamples * (bufferBytes_ >> 20) / 16;
    if (count > capacity) {
      overflowed = result.overflow = true;
      count = capacity;
    }
    result.full = count > room_;
    count = std::min(count, room_);
    for (std::size_t i = 0; i < count; ++i, next_ += interval_) {
      block.startNs.push_back(next_ + kRealtimeOffset);
      block.endNs.push_back(next_ + interval_ + kRealtimeOffset);
      for (std::size_t c = 0; c < block.columns; ++c) {
        block.values.push_back(
            next_ < worksFromNs ? 0 : static_cast<double>(next_ / 1000 * 10) + static_cast<double>(c));
      }
    }
    bursts.back().columns = block.columns;
    bursts.back().lastMetric = set_->columns.back().name;
    bursts.back().samples = count;
    const auto cost = static_cast<std::int64_t>(count * block.columns) * decodeColumnNs;
    clock_.pass(cost, cost);
    return result;
  }

 private:
  Clock& clock_;
  const MetricGroup* group_ = nullptr;
  const MetricSet* set_ = nullptr;
  bool poisoned_ = false;
  std::int64_t interval_ = 0, next_ = 0, stoppedAt_ = 0;
  std::size_t bufferBytes_ = 0, room_ = 0;
};

// Every metric exists, at most `room` of them together; a question takes as long as on a slow machine.
class Host : public MetricHost {
 public:
  explicit Host(Clock* clock = nullptr) : clock_(clock) {}
  std::size_t room = 15;
  int questions = 0;
  std::function<void()> onQuestion = [] {};
  bool fitsOnePass(const std::vector<std::string>& asked) override {
    ++questions;
    if (clock_ != nullptr) clock_->pass(4 * kMs, 4 * kMs);
    onQuestion();
    return asked.size() <= room;
  }

 private:
  Clock* clock_;
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
