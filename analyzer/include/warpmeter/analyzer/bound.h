// SPDX-License-Identifier: Apache-2.0
// What bounds a kernel: its measured rates against what this GPU can reach. Thresholds and formulas: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warpmeter/analyzer/counters.h"
#include "warpmeter/analyzer/finding.h"
#include "warpmeter/analyzer/names.h"

namespace warpmeter::analyzer {

enum class CeilingSource : std::uint8_t { calibrated, shipped, theoretical };
std::string_view idOf(CeilingSource source);  // "calibrated", "shipped", "theoretical"

// What one GPU can reach. 0 = not known. Tensor: dense, with FP32 accumulation.
struct Ceilings {
  double dramBytesPerSec = 0;       // best device-to-device copy, bytes read and written
  double fp32PerSec = 0, fp64PerSec = 0, tensorBf16PerSec = 0;  // operations (an FMA is two)
  CeilingSource source = CeilingSource::theoretical;
  std::string from;                 // for people: "calibrated on this GPU", "shipped for H200", "from clocks and widths"
};
// In this order: WM_CEILING of the profile (calibrated on that GPU), the shipped values of the model, clocks x widths.
// nullopt: the GPU is not described well enough.
std::optional<Ceilings> ceilingsOf(const ProfileView& view, std::uint32_t gpu);

struct KernelBound {
  Bound bound = Bound::notMeasured;
  std::optional<double> sharePct;   // of the ceiling or pipe that bounds it; launch: of SMs that had a block
  std::string shareOf;              // "DRAM 4.21 TB/s", "tensor pipe", "132 SMs"
  Confidence confidence = Confidence::maybe;
  std::optional<Reason> reason;     // when not measured
  std::string why;                  // one line: the two or three numbers behind it
  // Roofline: one point per kernel; nullopt where the counters for it are missing.
  std::optional<double> flopPerByte, flopPerSec;
};

// counters of that distinct kernel; medianNs of its launches. Pure.
KernelBound boundOf(const ProfileView& view, const KernelCounters& counters, double medianNs,
                    const std::optional<Ceilings>& ceilings);

}  // namespace warpmeter::analyzer
