// SPDX-License-Identifier: Apache-2.0
// Sampled counters over time, for lanes beside the kernels: what one shows at any zoom, without any drawing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "warpmeter/analyzer/finding.h"
#include "warpmeter/analyzer/profile_view.h"
#include "warpmeter/analyzer/samples.h"

namespace warpmeter::analyzer {

// What the samples of a pixel column say; columns without samples are left out. mean: ratio of sums, not a mean of
// ratios; low and high: of single samples.
struct CounterColumn {
  std::int32_t pixel = 0;
  float low = 0, high = 0, mean = 0;
};

// What was sampled in a stretch of time. sets: by file id, with what they counted.
struct CounterReading {
  float low = 0, high = 0, mean = 0;  // as in CounterColumn
  std::int64_t samples = 0;
  std::vector<std::string> sets;      // "set 1: sm__warps_active.sum"
};

// One lane of one GPU: value = factor x numerator / denominator, sample by sample. Immutable once built; const calls
// from any thread. A picture costs O(pixels x log n); the samples are shared with the view, 0.3 bytes a sample beside
// them.
class CounterLane {
 public:
  std::uint32_t gpu = kNone;  // ProfileView::gpus()
  std::string text;           // "SM occupancy"
  Unit unit = Unit::percent;  // percent or bytesPerSec
  double top = 100;           // of its axis: 100 %, or the largest value of a sample

  void picture(std::int64_t t0, std::int64_t t1, int pixels, std::vector<CounterColumn>& out) const;

  // Of the samples that touch [t0, t1); nullopt where none does, or where they have no value.
  std::optional<CounterReading> read(std::int64_t t0, std::int64_t t1) const;

  // For building: columns of one series. An empty denominator is the sample's time in seconds.
  void add(std::shared_ptr<const ProfileView> view, const SampleSeries& series, std::size_t numerator,
           std::size_t denominator, double factor);
  static constexpr std::size_t kTime = static_cast<std::size_t>(-1);
  bool empty() const { return parts_.empty(); }

 private:
  struct Sum {
    double numerator = 0, denominator = 0;
    float low = 0, high = 0;
    void add(const Sum& other);
  };
  struct Part {
    std::shared_ptr<const ProfileView> view;  // keeps the series
    const SampleSeries* series = nullptr;
    std::size_t numerator = 0, denominator = 0;
    double factor = 1;
    std::vector<Sum> blocks;  // of kBlock samples each
    Sum of(std::size_t sample) const;
    Sum of(std::size_t first, std::size_t last) const;  // [first, last)
    std::pair<std::size_t, std::size_t> touching(std::int64_t from, std::int64_t to) const;
  };
  static constexpr std::size_t kBlock = 128;
  std::vector<Part> parts_;
};

// Of each GPU with samples: occupancy, SMs active, DRAM read, DRAM written, as far as they were sampled. By GPU.
std::vector<CounterLane> counterLanes(const std::shared_ptr<const ProfileView>& view);

}  // namespace warpmeter::analyzer
