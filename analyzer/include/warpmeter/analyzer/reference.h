// SPDX-License-Identifier: Apache-2.0
// What the bundled programs (kernels/) reached on a GPU, and the one that a user's kernel is held against: of the same
// bound and class the one with the highest share of that ceiling. Rules and formulas: docs/metrics.md, "References".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warpmeter/analyzer/bound.h"

namespace warpmeter::analyzer {

// What a kernel does to DRAM: nine tenths of its traffic, else mixed.
enum class Access : std::uint8_t { read, write, mixed };
std::string_view idOf(Access access);  // "read", "write", "mixed"
std::optional<Access> accessFromId(std::string_view id);

// One variant of one program. Rates are its own count of bytes and operations (an FMA is two) by the time of a launch.
struct ReferenceResult {
  std::string program, variant;
  Bound bound = Bound::notMeasured;     // that the variant is made for; notMeasured: it says none
  std::string precision;                // fp64 fp32 tf32 bf16 fp16 int8 int32; "" = does not matter
  std::optional<Access> access;         // nullopt: does not matter
  std::optional<double> launchNs, bytesPerSec, flopPerSec;
  std::optional<double> ownCeiling;     // what the program computed for its rate from clocks and widths
};

// Of one GPU.
struct ReferenceSet {
  std::string uuid;                     // as GpuInfo::uuid; "": shipped, for every GPU of that name
  std::string gpuName;                  // as GpuInfo::name
  std::string from;                     // for people: "measured on this GPU 2026-12-01", "shipped for H200"
  std::vector<ReferenceResult> results;
};

// The rate that counts for the variant's bound, of what the GPU can reach: DRAM for dram, operations of the variant's
// precision for fp32, fp64 and tensor, else the rate there is, bytes first. Without a known ceiling for a precision the
// program's own stands for it. nullopt: no rate, or no ceiling.
struct ReferenceShare {
  double pct = 0;
  std::string of;                       // "DRAM 4.26 TB/s", "FP32 65.2 TFLOP/s"
  CeilingSource source = CeilingSource::theoretical;
};
std::optional<ReferenceShare> shareOf(const ReferenceResult& result, const std::optional<Ceilings>& ceilings);

// One kernel of a profile beside its reference.
struct KernelComparison {
  std::uint32_t function = 0;           // index in KernelSummary::functions
  std::uint32_t distinct = 0;           // ProfileView::distinctKernels(): the function's longest running one
  Bound bound = Bound::notMeasured;     // never notMeasured
  Confidence confidence = Confidence::maybe;
  std::optional<double> sharePct;       // as in KernelBound
  std::string shareOf;
  std::optional<Access> access;         // bound by DRAM: what it does to it; nullopt: not both directions were measured
  std::string precision;                // bound by a pipe: of what it computes; "" where the counters do not tell
  std::optional<ReferenceResult> reference;
  ReferenceShare referenceShare;        // with a reference
  std::optional<double> reachedPct;     // sharePct of the reference's; above 100: it is faster
  bool noResults = false;               // it could be compared, but there are no results of its GPU
  std::string why;                      // one line: why there is no reference and what to do, or what to know of it
};

struct ComparisonSummary {
  std::vector<KernelComparison> kernels;  // with a bound, most time first
  std::size_t withoutBound = 0;           // longer running than the last of these, and no bound
  std::vector<std::string> from;          // the sets that were used
};

// The set for a GPU: its own by UUID, else one of its model without a UUID; nullptr: none.
const ReferenceSet* referencesOf(const GpuInfo& gpu, std::span<const ReferenceSet> known);

// Of the `top` functions with most time whose longest running distinct kernel has a bound. Pure. kernels, counters and
// bounds are those of the view.
ComparisonSummary compareWithReferences(const ProfileView& view, const KernelSummary& kernels,
                                        const CounterSummary& counters, const BoundSummary& bounds,
                                        std::span<const ReferenceSet> known, std::size_t top = 10);

}  // namespace warpmeter::analyzer
