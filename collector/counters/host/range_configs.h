// SPDX-License-Identifier: Apache-2.0
// Which metrics exact mode measures together. A configuration must fit into one pass of the chip's counters,
// so that one launch measures it whole; what fits is asked of CUPTI chip by chip, in the order of the wishes'
// value.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warpmeter::sampler {

enum class MetricChoice : std::uint8_t { basic, full };
std::optional<MetricChoice> metricChoice(std::string_view text);

inline constexpr std::size_t kBasicConfigurations = 3;

class PassCounter {
 public:
  virtual ~PassCounter() = default;
  // Whether these metrics exist and can be counted together in one pass.
  virtual bool fitsOnePass(const std::vector<std::string>& metrics) = 0;
};

// Metric names of each configuration; the first begins with sm__cycles_active.sum and sm__warps_active.sum.
// Empty: the chip has not even those. A wish that no configuration has room for is left out (basic) or opens
// one (full).
std::vector<std::vector<std::string>> rangeConfigurations(MetricChoice choice, PassCounter& passes);

}  // namespace warpmeter::sampler
