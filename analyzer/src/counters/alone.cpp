// SPDX-License-Identifier: Apache-2.0
#include "src/counters/alone.h"

#include <algorithm>

namespace warpmeter::analyzer {
namespace {

constexpr std::int64_t kMarginNs = 1'000;   // clock offset: what counts for a launch may lie so far outside
constexpr std::int64_t kPartSamples = 200;  // of a long stretch: what its ends could add is below 1 %
constexpr std::size_t kMostStretches = 512;

// Operations of one kind that follow each other.
std::vector<std::uint32_t> stretchOfOperation(const Schedule& schedule) {
  std::vector<std::uint32_t> out(schedule.ops.size());
  for (std::size_t i = 1; i < out.size(); ++i) {
    out[i] = out[i - 1] + (schedule.ops[i].kind != schedule.ops[i - 1].kind);
  }
  return out;
}

void add(std::vector<AloneSums>& to, const AloneSums& sums) {
  to.push_back(sums);
  if (to.size() <= kMostStretches) return;
  for (std::size_t i = 0; i + 1 < to.size(); i += 2) {
    AloneSums& joined = to[i / 2];
    const AloneSums second = to[i + 1];
    joined = to[i];
    joined.launches += second.launches;
    joined.idleUs += second.idleUs;
    for (std::size_t r = 0; r < kRoles; ++r) joined.count[r] += second.count[r];
  }
  const bool odd = to.size() % 2 == 1;
  if (odd) to[to.size() / 2] = to.back();
  to.resize(to.size() / 2 + odd);
}

}  // namespace

AloneStretches stretchesOf(const Schedule& schedule, const SeriesView& series, std::stop_token stop) {
  constexpr std::uint32_t kNo = UINT32_MAX;
  AloneStretches out(schedule.kernels);
  const std::vector<std::uint32_t> stretchOf = stretchOfOperation(schedule);
  SampleWalk walk(schedule);
  AloneSums sums;
  std::uint32_t current = kNo, kind = kNo, mixed = kNo;  // mixed: no stretch up to this one begins clean
  std::int64_t samples = 0, reached = INT64_MIN;
  bool clean = true;
  const auto finish = [&] {
    if (current != kNo && clean && sums.launches > 0 && kind < schedule.kernels) add(out[kind], sums);
    sums = {};
    samples = 0;
  };
  for (std::size_t i = 0; i < series.size(); ++i) {
    if (i % 65536 == 0 && stop.stop_requested()) break;
    const std::int64_t from = series.beginNs(i), to = series.endNs(i);
    if (series.use[i] == SampleUse::dropped || to <= from) continue;
    if (from != reached) finish();  // bursts are independent of each other
    reached = to;
    walk.moveTo(from - kMarginNs, to + kMarginNs);
    const auto pieces = walk.pieces();
    if (pieces.empty()) {
      finish();
      current = kNo;
      continue;
    }
    const std::uint32_t first = stretchOf[pieces.front().op], last = stretchOf[pieces.back().op];
    if (first != last) {
      // What was summed up reaches into others' samples.
      clean = false;
      finish();
      current = kNo;
      mixed = last;
      continue;
    }
    if (first != current) {
      finish();
      current = first;
      kind = schedule.ops[pieces.front().op].kind;
      clean = mixed == kNo || first > mixed;
    }
    double busyNs = 0;
    for (const SampleWalk::Piece& p : pieces) {
      const Operation& op = schedule.ops[p.op];
      const auto ns =
          static_cast<double>(std::max<std::int64_t>(0, std::min(op.endNs, to) - std::max(op.startNs, from)));
      busyNs += ns;
      sums.launches += ns / static_cast<double>(op.endNs - op.startNs);
    }
    sums.idleUs += std::max(0.0, static_cast<double>(to - from) - busyNs) * 1e-3;
    for (std::size_t r = 0; r < kRoles; ++r) {
      if (series.column[r]) sums.count[r] += series.value(r, i);
    }
    if (++samples >= kPartSamples && clean) finish();
  }
  finish();
  return out;
}

Estimate ratioOf(const std::vector<AloneSums>& stretches, std::span<const Role> numerator,
                 std::span<const Role> denominator, const std::array<double, kRoles>& idlePerUs) {
  const auto sumOf = [&](const AloneSums& s, std::span<const Role> roles) {
    double sum = 0;
    for (const Role role : roles) {
      const auto r = static_cast<std::size_t>(role);
      sum += s.count[r] - idlePerUs[r] * s.idleUs;
    }
    return sum;
  };
  const auto denominatorOf = [&](const AloneSums& s) {
    return denominator.empty() ? s.launches : sumOf(s, denominator);
  };
  Estimate out;
  double n = 0, d = 0, launches = 0, launchSquares = 0;
  for (const AloneSums& s : stretches) {
    n += sumOf(s, numerator);
    d += denominatorOf(s);
    launches += s.launches;
    launchSquares += s.launches * s.launches;
  }
  if (d <= 0 || launches <= 0) return out;
  out.value = std::max(0.0, n / d);
  double squares = 0;
  for (const AloneSums& s : stretches) {
    const double error = (sumOf(s, numerator) - n / d * denominatorOf(s)) / d;
    squares += error * error;
  }
  const double count = launches * launches / launchSquares;
  if (count >= 3) {
    out.sampling = squares * count / (count - 1);
    out.degrees = count - 1;
  }
  return out;
}

}  // namespace warpmeter::analyzer
