// SPDX-License-Identifier: Apache-2.0
// Correlation ids that are unique in the file: process index << 32 | CUPTI's id.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "warpmeter/profile/ids.h"

namespace warpmeter::recorder {

// CUPTI counts in 32 bits. Each time the counter of a process starts over, the process gets a further index, so ids
// stay unique and equal ids inside the process stay equal. Which lap an id belongs to is decided by distance: records
// arrive out of order, but never 2^31 API calls apart.
class CorrelationIds {
 public:
  // nextIndex hands out indexes that no process has yet; the first one is taken at once.
  explicit CorrelationIds(std::function<std::uint32_t()> nextIndex)
      : nextIndex_(std::move(nextIndex)), indexes_{nextIndex_()} {}

  std::int64_t fileId(std::uint32_t id) {
    if (id == 0) return kNull;  // CUPTI's "none"
    if (!started_) {
      started_ = true;
      newest_ = id;
    }
    const auto distance = static_cast<std::int32_t>(id - static_cast<std::uint32_t>(newest_));
    std::uint64_t unwrapped = newest_ + static_cast<std::uint64_t>(std::int64_t{distance});
    if (distance < 0 && newest_ < static_cast<std::uint64_t>(-std::int64_t{distance})) unwrapped = id;
    if (unwrapped > newest_) newest_ = unwrapped;
    const auto lap = static_cast<std::size_t>(unwrapped >> 32);
    while (indexes_.size() <= lap) indexes_.push_back(nextIndex_());
    return fileCorrelationId(indexes_[lap], id);
  }

  std::uint32_t index() const { return indexes_.front(); }

 private:
  std::function<std::uint32_t()> nextIndex_;
  std::vector<std::uint32_t> indexes_;
  std::uint64_t newest_ = 0;
  bool started_ = false;
};

}  // namespace warpmeter::recorder
