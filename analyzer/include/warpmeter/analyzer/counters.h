// SPDX-License-Identifier: Apache-2.0
// What the counters say about each distinct kernel. Computed from the profile at read time, never written back.
// Every number is a Metric: value, 95 % interval, number of samples (or ranged launches), provenance, or a reason. A
// single ranged launch has a value without an interval: low and high are not set.
// Formulas, thresholds and their sources: docs/metrics.md.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "warpmeter/analyzer/metric.h"
#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::analyzer {

// Rates are averages over the kernel's running time; shares are in percent of what the hardware can do while it runs.
struct KernelCounters {
  std::uint32_t distinct = 0;       // ProfileView::distinctKernels()
  Metric occupancyPct;              // achieved: warps active / (cycles an SM was active x warps an SM can hold)
  Metric smActivePct;               // SM-cycles active / (SMs x cycles): how much of the GPU it covered
  Metric dramReadBytes, dramWriteBytes;  // per launch
  Metric dramBytesPerSec;           // read and written
  Metric instructions;              // warp instructions per launch
  Metric issuePct;                  // instructions issued / (4 schedulers x active cycles)
  Metric tensorPct, fp32Pct, fp64Pct, intPct;  // pipe active cycles / active cycles
  Metric l2Pct, l2HitPct, l1Pct, l1HitPct;
  Metric pcieBytesPerSec, nvlinkBytesPerSec;
};

// How the run as a whole was measured.
struct CounterQuality {
  bool any = false;                 // the profile has samples or ranged launches
  std::optional<Reason> reason;     // why it has none, for the run
  std::string reasonText;           // one line for people, with the remedy
  std::int64_t samples = 0, dropped = 0;      // dropped: foreign work on the GPU, or outside any kernel's model
  std::int64_t sampledNs = 0;       // time covered by samples, of
  std::int64_t runNs = 0;           // the time in which kernels ran
  std::int64_t medianIntervalNs = 0;
  // Stretches in which counters should have been sampled and were not (losses of the kind "samples"); the time is an
  // upper limit, since several share one span.
  std::int64_t holes = 0, holesNs = 0;
  std::int64_t rangedLaunches = 0;
  double foreignPct = 0;            // of the samples with active SMs while none of our kernels ran
  bool gpuShared = false;           // foreignPct above 20: every sampled metric is NULL gpu_shared
  std::size_t measured = 0;         // distinct kernels with an occupancy
  struct Gpu {
    std::uint32_t gpu = 0;          // ProfileView::gpus()
    // Samples carry times later than the activity records by this, from the best fit; nullopt: the data do not say.
    std::optional<std::int64_t> clockOffsetNs;
    std::int64_t clockUncertaintyNs = 0;  // one standard deviation
    double foreignPct = 0;
    bool shared = false;
  };
  std::vector<Gpu> gpus;            // with samples
};

struct CounterSummary {
  CounterQuality quality;
  std::vector<KernelCounters> kernels;  // one per distinct kernel, in their order
};

// Needs Tables::kernels, copies and counters. Errors: cancelled.
Result<CounterSummary> summarizeCounters(const ProfileView& view, std::stop_token stop = {});

// A metric of a function: its distinct kernels' values weighed by their time (rates and shares) or launches (amounts).
enum class Weigh : std::uint8_t { time, launches };
// Parts without a value are left out unless they have more than half of the weight; then the fold has none either.
Metric foldMetric(const std::vector<std::pair<Metric, double>>& valueAndWeight);

}  // namespace warpmeter::analyzer
