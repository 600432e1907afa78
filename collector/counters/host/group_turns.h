// SPDX-License-Identifier: Apache-2.0
// How long a group of counters stays, and which one is next. A change costs 0.3-0.4 s on an H200: a group
// stays until the change is at most kChangeShare of what it took, seconds rather than bursts, and until
// enough of its bursts saw work: what was looked at while the GPU had none tells nothing. Only the first
// group leaves earlier, so that a run of a few seconds has pipes and caches too.
#pragma once

#include <cstdint>
#include <vector>

#include "set_rotation.h"

namespace warpmeter::sampler {

class GroupTurns {
 public:
  static constexpr double kChangeShare = 0.15;
  static constexpr std::int64_t kFirstStayNs = 1'000'000'000;  // with the configuration before it
  static constexpr std::int64_t kLeastStayNs = 1'000'000'000;
  static constexpr std::size_t kLeastBursts = 8;  // with work, of each set: some hundred samples

  // A change has been made: it ended at nowNs after wallNs, and took cpuNs. Remembered until the next one.
  // sets: of the group that begins.
  void changed(std::int64_t nowNs, std::int64_t wallNs, std::int64_t cpuNs, std::size_t sets);
  void sawWork() { ++bursts_; }
  void spent(std::int64_t cpuNs) { stayCpuNs_ += cpuNs; }  // on the group, without the change
  bool over(std::int64_t nowNs) const;
  // The stay is over and nothing else waits: it goes on, without a change.
  void renewed(std::int64_t nowNs);
  // Group 0 is what a recording begins with. Weights by group; 0 = not now, the first is the largest.
  std::size_t next(const std::vector<int>& weights);

 private:
  SetRotation rotation_;
  std::int64_t sinceNs_ = 0, changeWallNs_ = 0, changeCpuNs_ = 0, stayCpuNs_ = 0;
  std::size_t sets_ = 1, bursts_ = 0;
  bool asked_ = false;  // next() was, so the first stay is over
};

}  // namespace warpmeter::sampler
