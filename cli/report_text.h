// SPDX-License-Identifier: Apache-2.0
// Phrases that several texts share.
#pragma once

#include <cstdint>
#include <string>

#include "warpmeter/analyzer/bound.h"
#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::cli {

// "12.50 s" from one second on, else as analyzer::formatTime.
std::string runTime(std::int64_t ns);

// One unit for a block of times that belong together, chosen by the largest.
class TimeScale {
 public:
  explicit TimeScale(std::int64_t largestNs);
  std::string operator()(std::int64_t ns) const;  // "1.60 s"
  std::string bare(std::int64_t ns) const;        // "1.60"
  const char* unit() const { return unit_; }

 private:
  double divisor_;
  int decimals_;
  const char* unit_;
};

// "GPU 0 H200", "2 GPUs"; of those that ran something.
std::string gpuNames(const analyzer::ProfileView& view);
// "NVIDIA H200 (cc 9.0, 132 SMs, driver 580.159)", "2 x NVIDIA H100 ..."; "" when the file says nothing.
std::string gpuTitle(const analyzer::ProfileView& view);

// "<264x384>", "<16,16 x 32,8>", with the cluster when there is one: "<264x384, cluster 2>".
std::string shapeOf(const analyzer::LaunchConfig& config);

// "DRAM 4.21 TB/s, FP32 59.8, FP64 33.1, BF16 tensor 768 TFLOP/s"; what is not known is left out.
std::string ceilingsText(const analyzer::Ceilings& ceilings);
std::string operationsText(double perSec);  // "59.8 TFLOP/s"

// One word of a shell's command line, quoted where it needs it.
std::string shellQuoted(const std::string& word);

double shareOf(std::int64_t part, std::int64_t whole);  // percent; 0 of nothing is 0

}  // namespace warpmeter::cli
