// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace warpmeter::kernels {

// Host time since construction or the last lap.
class HostTimer {
 public:
  double ns() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start_).count();
  }
  double lapNs() {
    const double elapsed = ns();
    start_ = std::chrono::steady_clock::now();
    return elapsed;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace warpmeter::kernels
