// SPDX-License-Identifier: Apache-2.0
#include "group_turns.h"

namespace warpmeter::sampler {

void GroupTurns::changed(std::int64_t nowNs, std::int64_t wallNs, std::int64_t cpuNs, std::size_t sets) {
  sinceNs_ = nowNs;
  changeWallNs_ = wallNs;
  changeCpuNs_ = cpuNs;
  stayCpuNs_ = 0;
  sets_ = sets;
  bursts_ = 0;
}

bool GroupTurns::over(std::int64_t nowNs) const {
  if (bursts_ < kLeastBursts * sets_) return false;
  const std::int64_t stayed = nowNs - sinceNs_;
  if (!asked_) return stayed + changeWallNs_ >= kFirstStayNs;
  // The change and the stay together are the whole.
  constexpr double kAmortized = 1 / kChangeShare - 1;
  return stayed >= kLeastStayNs &&
         static_cast<double>(stayed) >= kAmortized * static_cast<double>(changeWallNs_) &&
         static_cast<double>(stayCpuNs_) >= kAmortized * static_cast<double>(changeCpuNs_);
}

void GroupTurns::renewed(std::int64_t nowNs) { changed(nowNs, 0, 0, sets_); }

std::size_t GroupTurns::next(const std::vector<int>& weights) {
  if (!asked_) (void)rotation_.next(weights);  // the first stay was a turn
  asked_ = true;
  return rotation_.next(weights);
}

}  // namespace warpmeter::sampler
