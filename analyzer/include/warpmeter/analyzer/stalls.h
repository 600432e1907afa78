// SPDX-License-Identifier: Apache-2.0
// Why the warps of a kernel wait: its PC samples (WM_PC) by stall reason and by place in the source. Of
// kernel functions, all their processes and launch shapes together: CUPTI does not tell launches apart while
// they run freely. Formulas and their sources: docs/metrics.md.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "warpmeter/analyzer/metric.h"
#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::analyzer {

// The stall reasons that are known, by their id: CUPTI's name without "smsp__pcsamp_warps_issue_stalled_".
struct StallName {
  std::string_view id;
  std::string_view term;   // "long scoreboard"
  std::string_view words;  // what a warp in it waits for: "data from L1, L2 or DRAM"
};
inline constexpr std::string_view kIssuing = "selected";  // the one reason that is none: the warp issues
inline constexpr std::array<StallName, 20> kStalls{
    {{"selected", "issuing", "nothing: its instruction was issued"},
     {"not_selected", "not selected", "nothing: ready, another warp was taken"},
     {"long_scoreboard", "long scoreboard", "data from L1, L2 or DRAM"},
     {"short_scoreboard", "short scoreboard", "data from shared memory or a special function"},
     {"wait", "wait", "the fixed latency of its instruction before"},
     {"math_pipe_throttle", "math pipe throttle", "an arithmetic pipe that is busy"},
     {"gmma", "GMMA", "the tensor cores (warpgroup matrix product)"},
     {"warpgroup_arrive", "warpgroup arrive", "the other warps of its warpgroup"},
     {"barrier", "barrier", "the other warps at a block's barrier"},
     {"membar", "memory barrier", "its memory fence"},
     {"lg_throttle", "LG throttle", "room among global and local memory instructions"},
     {"mio_throttle", "MIO throttle", "room among shared memory and special instructions"},
     {"tex_throttle", "TEX throttle", "room among texture instructions"},
     {"branch_resolving", "branch resolving", "the target of a branch"},
     {"no_instructions", "no instructions", "its next instruction to be fetched"},
     {"imc_miss", "IMC miss", "a constant that was not in its cache"},
     {"dispatch_stall", "dispatch stall", "the dispatcher"},
     {"drain", "drain", "its last stores before it exits"},
     {"sleeping", "sleeping", "the end of a sleep it asked for"},
     {"misc", "misc", "something else"}}};

// Below, the 95 % interval of a share may be wider than 10 points: shares are NULL too_few_samples.
inline constexpr std::int64_t kPcSamplesMin = 400;

struct StallShare {
  std::string id;           // as in kStalls; of an unknown reason what CUPTI calls it
  std::string term, words;  // words: "" when unknown
  std::int64_t samples = 0;
  std::int64_t noIssue = 0;  // of samples: the scheduler issued nothing at all in that cycle
  Metric sharePct;           // samples / the kernel's samples
  Metric noIssuePct;         // noIssue / the kernel's samples; NULL not_recorded when the file never says
};

// A line of the source, or an instruction where the file has no line for it.
struct PcPlace {
  std::string file;
  std::int64_t line = kNull,
               pcOffset = kNull;  // pcOffset: bytes from the function's start, only without a line
  std::int64_t samples = 0;
  Metric sharePct;           // samples / the kernel's samples
  std::string mostly;        // StallShare::term of most of its samples
  std::string text() const;  // "gemm.cu:17" (no folders), "+0x1a0"
};

struct KernelStalls {
  std::int64_t samples = 0;         // of warps at this function's instructions
  std::optional<Reason> reason;     // why the shares are NULL
  std::vector<StallShare> reasons;  // most samples first; issuing is one of them
  std::vector<PcPlace> places;      // most samples first, at most kPlaces
  std::size_t allPlaces = 0;
  static constexpr std::size_t kPlaces = 20;

  const StallShare* issuing() const;  // nullptr: never seen issuing
  const StallShare* most() const;     // most samples except issuing and not selected; nullptr without
};

struct StallSummary {
  bool any = false;              // the profile has PC samples
  std::optional<Reason> reason;  // why it has none
  std::int64_t samples = 0;      // of all functions
  std::int64_t elsewhere =
      0;  // of samples: in functions that are no recorded kernel (called ones, other names)
  // Of WM_PC_RUN: samples that the hardware dropped, samples in kernels that are not the application's, cycles between
  // two looks of a scheduler (nullopt: not known, or not the same everywhere).
  std::int64_t dropped = 0, otherKernels = 0;
  std::optional<std::int64_t> periodCycles;
  std::size_t measured = 0;           // functions with shares
  std::vector<KernelStalls> kernels;  // by ProfileView::functions()
};

// Needs Tables::counters; functions are those of the loaded kernels. Errors: cancelled.
Result<StallSummary> summarizeStalls(const ProfileView& view, std::stop_token stop = {});

// part / whole in percent with Wilson's 95 % interval; whole > 0.
Metric shareOfSamples(std::int64_t part, std::int64_t whole);

}  // namespace warpmeter::analyzer
