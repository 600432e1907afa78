// SPDX-License-Identifier: Apache-2.0
// Which set comes next: smooth weighted round robin. Over a sum of the weights each set comes as often as its
// weight says, and never twice in a row where others wait.
#pragma once

#include <cstddef>
#include <vector>

namespace warpmeter::sampler {

class SetRotation {
 public:
  // weights by set; 0 = not now. At least one is positive. New sets may appear at the end.
  std::size_t next(const std::vector<int>& weights);

 private:
  std::vector<int> credit_;
};

}  // namespace warpmeter::sampler
