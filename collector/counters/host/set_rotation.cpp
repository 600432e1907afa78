// SPDX-License-Identifier: Apache-2.0
#include "set_rotation.h"

#include <numeric>

namespace warpmeter::sampler {

std::size_t SetRotation::next(const std::vector<int>& weights) {
  credit_.resize(weights.size(), 0);
  const int total = std::accumulate(weights.begin(), weights.end(), 0);
  std::size_t best = weights.size();
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    credit_[i] += weights[i];
    if (best == weights.size() || credit_[i] > credit_[best]) best = i;
  }
  if (best == weights.size()) return 0;
  credit_[best] -= total;
  return best;
}

}  // namespace warpmeter::sampler
