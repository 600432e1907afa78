// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/counter_lanes.h"

#include <algorithm>
#include <optional>

#include "src/counters/roles.h"
#include "warpmeter/analyzer/occupancy.h"

namespace warpmeter::analyzer {
namespace {

struct Wanted {
  const char* text;
  Unit unit;
  Role numerator;
  Role denominator;  // Role::count = time
};
constexpr Wanted kLanes[] = {{"SM occupancy", Unit::percent, Role::warpsActive, Role::smActive},
                             {"SMs active", Unit::percent, Role::smActive, Role::smElapsed},
                             {"DRAM read", Unit::bytesPerSec, Role::dramRead, Role::count},
                             {"DRAM write", Unit::bytesPerSec, Role::dramWrite, Role::count}};

struct Found {
  std::size_t column;
  double scale;
};
std::optional<Found> columnOf(const SampleSeries& series, Role role) {
  for (std::size_t m = 0; m < series.metrics.size(); ++m)
    if (const auto counter = counterOf(series.metrics[m], series.chip); counter && counter->role == role)
      return Found{m, counter->scale};
  return std::nullopt;
}

void addSeries(CounterLane& lane, const Wanted& wanted, const std::shared_ptr<const ProfileView>& view,
               const SampleSeries& series) {
  const auto numerator = columnOf(series, wanted.numerator);
  if (!numerator || series.empty()) return;
  if (wanted.denominator == Role::count)
    return lane.add(view, series, numerator->column, CounterLane::kTime, numerator->scale);
  const auto denominator = columnOf(series, wanted.denominator);
  if (!denominator) return;
  double factor = 100 * numerator->scale / denominator->scale;
  if (wanted.numerator == Role::warpsActive) {
    const auto device = deviceLimits(view->gpus()[series.gpu].info);
    if (!device || device->maxWarpsPerSm <= 0) return;  // of how many is not known
    factor /= device->maxWarpsPerSm;
  }
  lane.add(view, series, numerator->column, denominator->column, factor);
}

}  // namespace

void CounterLane::Sum::add(const Sum& other) {
  if (other.denominator <= 0) return;
  low = denominator > 0 ? std::min(low, other.low) : other.low;
  high = denominator > 0 ? std::max(high, other.high) : other.high;
  numerator += other.numerator;
  denominator += other.denominator;
}

CounterLane::Sum CounterLane::Part::of(std::size_t sample) const {
  Sum out;
  out.numerator = factor * static_cast<double>(series->values[numerator][sample]);
  out.denominator = denominator == kTime ? static_cast<double>(series->durationNs(sample)) * 1e-9
                                         : static_cast<double>(series->values[denominator][sample]);
  // An idle GPU has no occupancy.
  if (out.denominator > 0) out.low = out.high = static_cast<float>(out.numerator / out.denominator);
  return out;
}

CounterLane::Sum CounterLane::Part::of(std::size_t first, std::size_t last) const {
  Sum out;
  while (first < last) {
    if (first % kBlock == 0 && first + kBlock <= last && first / kBlock < blocks.size()) {
      out.add(blocks[first / kBlock]);
      first += kBlock;
    } else {
      out.add(of(first++));
    }
  }
  return out;
}

void CounterLane::add(std::shared_ptr<const ProfileView> view, const SampleSeries& series,
                      std::size_t numerator, std::size_t denominator, double factor) {
  Part part{std::move(view), &series, numerator, denominator, factor, {}};
  Sum block;
  for (std::size_t i = 0; i < series.size(); ++i) {
    block.add(part.of(i));
    if ((i + 1) % kBlock != 0 && i + 1 != series.size()) continue;
    if (unit == Unit::bytesPerSec) top = std::max(top, static_cast<double>(block.high));
    part.blocks.push_back(block);
    block = {};
  }
  parts_.push_back(std::move(part));
}

// Samples of a series follow each other without overlap.
std::pair<std::size_t, std::size_t> CounterLane::Part::touching(std::int64_t from, std::int64_t to) const {
  const auto starts = series->start.span();
  auto first = static_cast<std::size_t>(std::ranges::upper_bound(starts, from) - starts.begin());
  if (first > 0 && series->endNs(first - 1) > from) --first;
  const auto last = static_cast<std::size_t>(std::ranges::lower_bound(starts, to) - starts.begin());
  return {first, std::max(first, last)};
}

std::optional<CounterReading> CounterLane::read(std::int64_t t0, std::int64_t t1) const {
  CounterReading out;
  Sum sum;
  for (const Part& part : parts_) {
    const auto [first, last] = part.touching(t0, t1);
    if (first == last) continue;
    sum.add(part.of(first, last));
    out.samples += static_cast<std::int64_t>(last - first);
    out.sets.push_back("set " + std::to_string(part.series->setId) + ": " +
                       part.series->metrics[part.numerator]);
  }
  if (sum.denominator <= 0) return std::nullopt;
  out.low = sum.low;
  out.high = sum.high;
  out.mean = static_cast<float>(sum.numerator / sum.denominator);
  return out;
}

void CounterLane::picture(std::int64_t t0, std::int64_t t1, int pixels,
                          std::vector<CounterColumn>& out) const {
  out.clear();
  if (t1 <= t0 || pixels <= 0) return;
  const double nsPerPixel = static_cast<double>(t1 - t0) / pixels;
  for (int pixel = 0; pixel < pixels; ++pixel) {
    const auto from = t0 + static_cast<std::int64_t>(pixel * nsPerPixel);
    const auto to = std::max(from + 1, t0 + static_cast<std::int64_t>((pixel + 1) * nsPerPixel));
    Sum sum;
    for (const Part& part : parts_) {
      const auto [first, last] = part.touching(from, to);
      sum.add(part.of(first, last));
    }
    if (sum.denominator > 0)
      out.push_back({pixel, sum.low, sum.high, static_cast<float>(sum.numerator / sum.denominator)});
  }
}

std::vector<CounterLane> counterLanes(const std::shared_ptr<const ProfileView>& view) {
  std::vector<CounterLane> out;
  for (std::uint32_t gpu = 0; gpu < view->gpus().size(); ++gpu)
    for (const Wanted& wanted : kLanes) {
      CounterLane lane;
      lane.gpu = gpu;
      lane.text = wanted.text;
      lane.unit = wanted.unit;
      if (wanted.unit == Unit::bytesPerSec) lane.top = 0;
      for (const SampleSeries& series : view->samples())
        if (series.gpu == gpu) addSeries(lane, wanted, view, series);
      if (!lane.empty()) out.push_back(std::move(lane));
    }
  return out;
}

}  // namespace warpmeter::analyzer
