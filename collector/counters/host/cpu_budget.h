// SPDX-License-Identifier: Apache-2.0
// How much CPU time the sampling of one GPU may take, and what samples cost. Times: ns.
#pragma once

#include <cstdint>

namespace warpmeter::sampler {

// Grants `cores` of CPU time per time. What was taken too early is waited for; what was not taken in time is
// kept for kKeptNs only, so that a pause is not followed by a feast. A loan is paid back with half of what is
// granted: after a change of set, samples come at half the rate for a while rather than not at all.
class CpuBudget {
 public:
  static constexpr std::int64_t kKeptNs = 500'000'000;

  CpuBudget(double cores,
            std::int64_t nowNs);  // starts with what kKeptNs grant: short programs get their samples
  void spend(std::int64_t cpuNs) { balanceNs_ -= static_cast<double>(cpuNs); }
  void borrow(std::int64_t cpuNs);          // what is at hand is taken first
  std::int64_t waitNs(std::int64_t nowNs);  // until the debt is paid; 0 = none
  double cores() const { return cores_; }

 private:
  void grant(std::int64_t nowNs);
  double cores_, balanceNs_, loanNs_ = 0;
  std::int64_t grantedNs_;
};

// Exponentially averaged costs of one metric set.
class SampleCost {
 public:
  static constexpr double kFirstGuessNs = 12'000;  // per counter and sample: H200, 3 to 6 counters
  explicit SampleCost(std::size_t columns) : perSampleNs_(kFirstGuessNs * static_cast<double>(columns)) {}

  // decodeNs: for `samples` of them. fixedNs: start and stop.
  void measured(std::uint64_t samples, std::int64_t decodeNs, std::int64_t fixedNs);
  double perSampleNs() const { return perSampleNs_; }
  double fixedNs() const { return fixedNs_; }

 private:
  double perSampleNs_, fixedNs_ = 3'000'000;
  bool known_ = false;
};

}  // namespace warpmeter::sampler
