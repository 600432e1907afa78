// SPDX-License-Identifier: Apache-2.0
#include "src/counters/join_samples.h"

#include <algorithm>

namespace warpmeter::analyzer {
namespace {

constexpr std::size_t kLeft = 6;      // of the inside of a launch
constexpr double kWorthIt = 2.0 / 3;  // of the samples left

// The end of the run of samples from i on that lie inside one launch, without a hole.
std::size_t runEnd(const SeriesView& s, std::size_t i) {
  if (s.inner[i] == UINT32_MAX) return i + 1;
  std::size_t end = i + 1;
  while (end < s.size() && s.inner[end] == s.inner[i] && s.use[end] == s.use[i] &&
         s.beginNs(end) == s.endNs(end - 1)) {
    ++end;
  }
  return end;
}

}  // namespace

std::optional<SampleSeries> joinSamples(const SeriesView& series, std::vector<SampleUse>& use) {
  std::vector<std::uint32_t> ends;  // of the samples that are left, in samples
  for (std::size_t i = 0; i < series.size();) {
    const std::size_t end = runEnd(series, i), each = (end - i + kLeft - 1) / kLeft;
    for (; i < end; i = std::min(i + each, end))
      ends.push_back(static_cast<std::uint32_t>(std::min(i + each, end)));
  }
  if (static_cast<double>(ends.size()) > kWorthIt * static_cast<double>(series.size())) return std::nullopt;

  const SampleSeries& from = *series.series;
  SampleSeries out;
  out.gpu = from.gpu, out.source = from.source, out.setId = from.setId;
  out.chip = from.chip, out.metrics = from.metrics;
  std::vector<std::int64_t> start(ends.size());
  std::vector<std::uint32_t> duration(ends.size());
  use.resize(ends.size());
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    start[i] = from.startNs(begin);
    const std::int64_t length = from.endNs(ends[i] - 1) - start[i];
    if (length >= Spans::kOverflow) out.overflow.emplace_back(static_cast<std::uint32_t>(i), length);
    duration[i] = static_cast<std::uint32_t>(std::min<std::int64_t>(length, Spans::kOverflow));
    use[i] = series.use[begin];
    begin = ends[i];
  }
  out.start = Column<std::int64_t>(std::move(start));
  out.duration = Column<std::uint32_t>(std::move(duration));
  for (const Column<float>& column : from.values) {
    std::vector<float> sums(ends.size());
    begin = 0;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      double sum = 0;
      for (; begin < ends[i]; ++begin) sum += double{column[begin]};
      sums[i] = static_cast<float>(sum);
    }
    out.values.emplace_back(std::move(sums));
  }
  return out;
}

}  // namespace warpmeter::analyzer
