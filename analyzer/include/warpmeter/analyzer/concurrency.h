// SPDX-License-Identifier: Apache-2.0
// What ran at the same time on a GPU, over all processes, and when it was idle and why.
// Operations: kernels, copies, memsets. Intervals are half-open; launches without times are left out and
// counted.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "warpmeter/analyzer/analysis.h"
#include "warpmeter/analyzer/profile_view.h"

namespace warpmeter::analyzer {

// What the thread that brought the next operation was doing during a gap.
enum class IdleCause : std::uint8_t {
  launching,  // from the start of the launching call on
  sync,       // in a synchronizing call (name)
  api,        // in another CUDA call (name)
  host,       // in no CUDA call
  queued,     // the operation had been launched before the gap began: it waited on the GPU's side
  unknown,    // the call was not recorded
};
std::string_view idOf(IdleCause cause);  // "launching", "sync", "api", "host", "queued", "unknown"

struct IdlePart {
  IdleCause cause = IdleCause::unknown;
  NameId api = 0;  // for sync and api: the call
  std::int64_t ns = 0;
};

struct Gap {
  std::int64_t startNs = 0, endNs = 0;
  IdlePart mainCause;  // the largest part
};

struct StreamUse {
  std::uint32_t stream = 0;  // ProfileView::streams()
  std::int64_t busyNs = 0;   // union of its own operations
  std::int64_t operations = 0;
};

struct Concurrency {
  std::uint32_t gpu = kNone;                        // ProfileView::gpus(); kNone = all GPUs taken as one
  std::int64_t windowBeginNs = 0, windowEndNs = 0;  // first start to last end
  std::int64_t busyNs = 0;                          // union of all operations
  std::int64_t kernelNs = 0, copyNs = 0,
               bothNs = 0;            // unions of kernels and of copies and memsets; their overlap
  std::vector<std::int64_t> depthNs;  // [n]: time with exactly n running; sum = window
  std::vector<StreamUse> streams;     // those with an operation, in order of the view
  // Time in which streams i and j both have something running; row-major, streams.size() squared; the
  // diagonal is the stream's busy time. Empty above kMaxMatrixStreams streams.
  std::vector<std::int64_t> matrixNs;
  std::vector<Gap> gaps;                 // from Limits::gapListedNs, by time
  std::int64_t gapCount = 0, gapNs = 0;  // all gaps
  std::vector<IdlePart> idle;            // all gaps by cause, largest first; sum = gapNs
  std::int64_t operations = 0, untimed = 0;

  std::int64_t windowNs() const { return windowEndNs - windowBeginNs; }
  std::int64_t overlapNs(std::size_t i, std::size_t j) const { return matrixNs[i * streams.size() + j]; }
};
inline constexpr std::size_t kMaxMatrixStreams = 256;

// Restricts the analysis to operations inside [beginNs, endNs): intervals are cut at its borders.
struct ConcurrencyOptions {
  std::optional<std::int64_t> beginNs, endNs;
};

// One entry per GPU with an operation. Needs kernels and copies; api for the causes (else unknown).
Result<std::vector<Concurrency>> concurrencyOf(const ProfileView& view, const Limits& limits = {},
                                               std::stop_token stop = {},
                                               const ConcurrencyOptions& options = {});
// All GPUs taken as one: busy = at least one GPU busy. nullopt without an operation.
Result<std::optional<Concurrency>> concurrencyOfAll(const ProfileView& view, const Limits& limits = {},
                                                    std::stop_token stop = {},
                                                    const ConcurrencyOptions& options = {});

}  // namespace warpmeter::analyzer
