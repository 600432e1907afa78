// SPDX-License-Identifier: Apache-2.0
// The unknowns of the fit: for each kind what it counts per microsecond in each part of its launches, and one
// for the idle GPU. Parts, because blocks start and end at the launch's edges: a constant rate would take the
// middle of a launch, which lies wholly inside samples more often, for all of it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "src/counters/schedule.h"

namespace warpmeter::analyzer {

// What the samples saw of one kind.
struct KindSight {
  double sampledNs = 0;      // time of it that usable samples cover
  double launches = 0;       // the same in launches
  double aloneNs = 0;        // of sampledNs, in samples in which nothing else ran
  double durationNs = 0;     // mean of the launches it was seen in
  double intervalNs = 0;     // mean length of the samples that touched it
  double sequentialNs = 0;   // of sampledNs, in samples without kernels of different kinds at once
  std::int64_t samples = 0;  // that touched it
  // Pieces of launches that were sampled without a hole: what can be taken as independent of each other.
  std::int64_t pieces = 0;
  std::int64_t run = 0;  // launches in the whole run, sampled or not
  static constexpr std::size_t kPlaces = 32;
  std::array<float, kPlaces> seen{};  // how often each place of a launch was sampled, first to last

  // Launches are so long, or bursts so short, that no place was seen twice: what differs between pieces may
  // be the launch or the place, so the pieces speak for the launch only as draws from anywhere in it.
  void add(const KindSight& more);  // sums only, before means are made of them
  bool onlyPieces() const { return launches < 2; }
  double unseenShare() const;  // of a launch
  double imbalance() const;    // standard deviation of `seen` / its mean
};

inline constexpr std::size_t kMaxParts = 8;

struct KindParts {
  std::uint32_t first = 0, count = 1;
  double durationUs = 0, intervalUs = 0;         // 0: rates are by real time, not by part of the launch
  std::array<double, kMaxParts + 1> edge{0, 1};  // of the parts, relative to the launch
  double widthUs(std::uint32_t part) const { return durationUs * (edge[part + 1] - edge[part]); }
};

// An expectation that holds where the data do not say: the sum of factor x unknown is near 0, give or take
// spread x the kind's mean rate. The first and last part of a launch run at 3/4 of the rate between them.
struct Expectation {
  std::uint32_t kind = 0;
  std::array<double, kMaxParts> factor{};  // by part
  double spread = 0, weight = 0;           // weight: in units of the normal equations (microseconds)
};

struct Layout {
  std::vector<KindParts> kinds;
  std::vector<Expectation> expectations;
  std::uint32_t idle = 0, unknowns = 0;

  // other: cut at other places, to see how much the result depends on them.
  static Layout of(const Schedule& schedule, std::span<const KindSight> seen, bool other = false);
};

using Regressor = std::pair<std::uint32_t, double>;  // unknown, microseconds of it in the sample

// The row of one sample. out is emptied first.
void rowOf(const Layout& layout, const Schedule& schedule, const SampleWalk& walk,
           std::vector<Regressor>& out);

}  // namespace warpmeter::analyzer
