// SPDX-License-Identifier: Apache-2.0
#include "cpu_budget.h"

#include <algorithm>
#include <cmath>

namespace warpmeter::sampler {
namespace {

constexpr double kNewWeight = 0.3;
constexpr std::uint64_t kEnoughSamples = 16;  // fewer say nothing about the cost of one

double averaged(double old, double fresh) { return old + kNewWeight * (fresh - old); }

}  // namespace

CpuBudget::CpuBudget(double cores, std::int64_t nowNs)
    : cores_(cores), balanceNs_(cores * static_cast<double>(kKeptNs)), grantedNs_(nowNs) {}

void CpuBudget::grant(std::int64_t nowNs) {
  const auto elapsed = static_cast<double>(std::max<std::int64_t>(0, nowNs - grantedNs_));
  const double back = std::min(loanNs_, cores_ * elapsed / 2);
  loanNs_ -= back;
  balanceNs_ = std::min(balanceNs_ + cores_ * elapsed - back, cores_ * static_cast<double>(kKeptNs));
  grantedNs_ = std::max(grantedNs_, nowNs);
}

void CpuBudget::borrow(std::int64_t cpuNs) {
  const double atHand = std::clamp(static_cast<double>(cpuNs), 0.0, std::max(0.0, balanceNs_));
  balanceNs_ -= atHand;
  loanNs_ += static_cast<double>(cpuNs) - atHand;
}

std::int64_t CpuBudget::waitNs(std::int64_t nowNs) {
  grant(nowNs);
  if (balanceNs_ >= 0) return 0;
  // Half of the grants as long as the loan lasts, all of them afterwards.
  const double slow = std::min(-balanceNs_, loanNs_);
  return static_cast<std::int64_t>(std::ceil((slow * 2 + (-balanceNs_ - slow)) / cores_));
}

void SampleCost::measured(std::uint64_t samples, std::int64_t decodeNs, std::int64_t fixedNs) {
  const auto fixed = static_cast<double>(fixedNs);
  if (samples >= kEnoughSamples) {
    const double each = static_cast<double>(decodeNs) / static_cast<double>(samples);
    perSampleNs_ = known_ ? averaged(perSampleNs_, each) : each;
    fixedNs_ = known_ ? averaged(fixedNs_, fixed) : fixed;
    known_ = true;
  }
}

}  // namespace warpmeter::sampler
