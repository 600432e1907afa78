// SPDX-License-Identifier: Apache-2.0
// What bounds a kernel: its measured rates against what this GPU can reach. Thresholds and formulas: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpmeter/analyzer/counters.h"
#include "warpmeter/analyzer/finding.h"
#include "warpmeter/analyzer/kernel_summary.h"
#include "warpmeter/analyzer/names.h"
#include "warpmeter/profile/counters.h"

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

// Ceilings that were measured on a GPU, wherever they were kept (WM_CEILING, the user's data folder).
struct CalibratedGpu {
  std::string uuid;                 // as in GpuInfo::uuid
  std::vector<CeilingInfo> values;  // gpuId is not used
};

// In this order: measured (WM_CEILING of that GPU), the shipped values of the model, clocks x widths. Values of one
// source only, never mixed. nullopt: the GPU is not described well enough.
std::optional<Ceilings> ceilingsFrom(const GpuInfo& gpu, std::span<const CeilingInfo> measured);
// The same for a GPU of a view: its file's WM_CEILING, else `known` for the same UUID.
std::optional<Ceilings> ceilingsOf(const ProfileView& view, std::uint32_t gpu, std::span<const CalibratedGpu> known = {});

// How much of one unit a kernel used, of what the whole GPU has of it.
struct UnitShare {
  Bound unit = Bound::notMeasured;  // dram .. issue
  Metric pct;
  std::string of;                   // "DRAM 4.21 TB/s", "tensor pipe"
};

struct KernelBound {
  Bound bound = Bound::notMeasured;
  std::optional<double> sharePct;   // of the unit that bounds it; latency: of the unit used most; launch: of the SMs that
                                    // had a block (nullopt when it is launch-bound because it is short)
  std::string shareOf;              // "DRAM 4.21 TB/s", "tensor pipe", "132 SMs"
  Confidence confidence = Confidence::maybe;
  std::optional<Reason> reason;     // when not measured
  std::string why;                  // one line: the two or three numbers behind it
  std::vector<UnitShare> shares;    // every unit, in the order of Bound; unmeasured ones with their reason
  // Roofline: one point per kernel; nullopt where the counters for it are missing. Operations are estimated from the
  // activity of the pipes: an upper limit (docs/metrics.md).
  std::optional<double> flopPerByte, flopPerSec;
};

// What boundOf has to know of a launch besides its counters.
struct LaunchShape {
  double medianNs = 0;              // of the kernel's launches
  int smCount = 0, busySms = 0;     // multiprocessors of the GPU; those that get a block. 0 = not known
};

// Every threshold of the decision. Source: docs/metrics.md, "What bounds a kernel".
struct BoundLimits {
  double boundPct = 60;             // a unit used this much bounds the kernel, if it is the one used most
  double surePct = 80;              // from here on without doubt
  double clearPct = 10;             // points between the first and the second unit; below they are equal
  double fedPct = 5;                // points that the L1 may be ahead of the arithmetic that it feeds
  double filledPct = 90;            // a grid that reaches fewer multiprocessors does not fill the GPU
  double tinyPct = 10;              // a grid that reaches fewer multiprocessors bounds nothing else, sampled or not
  double equalPct = 2;              // points: packed half precision keeps FP32 and tensor counters equally busy
  double shortNs = 3000;            // what one launch costs the host; kernels below are shorter than that
};

// Pure. Kernels whose counters are all missing for a reason of the run (not permitted, not requested, ...) are
// notMeasured.
KernelBound boundOf(const KernelCounters& counters, const LaunchShape& shape, const std::optional<Ceilings>& ceilings,
                    const BoundLimits& limits = {});
// The same; the shape comes from the view, counters.distinct.
KernelBound boundOf(const ProfileView& view, const KernelCounters& counters, double medianNs,
                    const std::optional<Ceilings>& ceilings);

// Of every kernel, in the order of counters.kernels; kernels: summarizeKernels(view).
struct BoundSummary {
  std::vector<std::optional<Ceilings>> ceilings;  // by GPU of the view
  std::vector<KernelBound> kernels;
};
BoundSummary boundsOf(const ProfileView& view, const KernelSummary& kernels, const CounterSummary& counters,
                      std::span<const CalibratedGpu> known = {});

}  // namespace warpmeter::analyzer
