// SPDX-License-Identifier: Apache-2.0
// 95 % intervals from estimates.
#pragma once

#include "src/counters/fit.h"
#include "warpmeter/analyzer/metric.h"

namespace warpmeter::analyzer {

inline constexpr double kNormal95 = 1.959964;  // 97.5 % quantile of the normal distribution

// 97.5 % quantile of Student's t. Within 0.2 % of the tables from 1 degree of freedom on.
double studentQuantile(double degrees);

// Half the width of the interval of estimate.value. systematic: a variance beside those of the estimate.
double halfWidth(const Estimate& estimate, double systematic);

}  // namespace warpmeter::analyzer
