// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace warpmeter::analyzer {

// Calls task(0) .. task(count - 1), each once, on up to `threads` threads (0 = as many as the machine has, at
// most 8). Returns when all are done.
inline void parallelFor(std::size_t count, unsigned threads, const std::function<void(std::size_t)>& task) {
  if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) task(i);
  };
  std::vector<std::jthread> helpers;
  for (unsigned i = 1; i < threads && i < count; ++i) helpers.emplace_back(work);
  work();
}

}  // namespace warpmeter::analyzer
