// SPDX-License-Identifier: Apache-2.0
// Least squares over all samples of one GPU: value of a sample = sum over what ran of rate x time in the
// sample. Formulas: docs/metrics.md, "Fitted to samples".
#pragma once

#include <Eigen/SparseCholesky>
#include <map>
#include <memory>
#include <stop_token>
#include <vector>

#include "src/counters/layout.h"
#include "src/counters/normal_equations.h"
#include "src/counters/series_view.h"

namespace warpmeter::analyzer {

// A value and the variances that its interval is made of.
struct Estimate {
  double value = 0;
  double sampling = 0;     // between launches and samples
  double expectation = 0;  // from parts of launches that the samples do not tell apart
  double degrees = 0;      // of freedom of `sampling`; 0: cannot be known
};

// Sums over the samples of one series and use.
struct SampleSums {
  GramSum gram;
  std::vector<double> xy;  // [role][unknown], roles that the series lacks are left out: see at()
  std::vector<double> yy;  // [role]
  std::int64_t samples = 0;
};

class Fit {
 public:
  // threads: 0 = as many as the machine has.
  Fit(const Schedule& schedule, const Layout& layout, std::span<const SeriesView> series,
      std::span<const KindSight> seen, unsigned threads, std::stop_token stop = {});
  ~Fit();

  // One pass over all samples. shiftNs: added to the series' clock offset. stride: only each stride-th chunk
  // of 512 samples is taken (1 = all).
  void accumulate(std::int64_t shiftNs = 0, std::size_t stride = 1);

  // The sums of a form's roles are solved together, from all series that have them all.
  struct System;
  // nullptr: no series has all these roles, or not one usable sample.
  System* solve(RoleSet roles, bool concurrent);
  // Second pass, for the uncertainty of all systems solved so far. stride: as in accumulate().
  void score(std::size_t stride = 1);

  // Count per launch of kind (for kernels). After score(): with the residuals that fall to it.
  double total(const System& system, std::uint32_t kind, Role role) const;
  double idlePerUs(const System& system, Role role) const;
  // numerator / denominator; an empty denominator is one launch. Needs score().
  Estimate ratio(System& system, std::uint32_t kind, std::span<const Role> numerator,
                 std::span<const Role> denominator);
  // Residual sum of squares / sum of squares, to compare clock offsets.
  double misfit(const System& system, std::size_t role) const;
  bool hasConcurrent() const { return anyConcurrent_; }

 private:
  struct Block {
    std::size_t series = 0, begin = 0, end = 0;
    bool hole = true;  // what came before was not sampled
  };
  void cutBlocks(std::size_t stride);
  template <class F>
  void walk(const SeriesView& series, std::size_t begin, std::size_t end, std::int64_t shiftNs,
            F&& each) const;
  bool allSampled(std::uint32_t kind) const;
  std::vector<std::vector<std::uint32_t>> groupsOf(const System& system, std::uint32_t kind) const;
  double timeOf(const System& system, std::uint32_t block, std::uint32_t kind) const;  // microseconds
  double fitted(const System& system, std::uint32_t kind, std::size_t role) const;

  const Schedule& schedule_;
  const Layout& layout_;
  std::span<const SeriesView> series_;
  std::span<const KindSight> seen_;
  unsigned threads_;
  std::stop_token stop_;
  bool anyConcurrent_ = false, scored_ = false;
  std::int64_t shiftNs_ = 0;
  std::vector<std::array<SampleSums, 2>> sums_;  // [series][concurrent]
  std::vector<Block> blocks_;                    // of all series, by series, then time
  std::vector<float> time_;                      // [block][kind][concurrent], microseconds
  std::vector<std::uint32_t> launch_;            // [block][kind]: the first, of ops; UINT32_MAX: none
  std::vector<std::uint32_t> kindOf_;            // by unknown
  std::map<std::pair<std::vector<std::size_t>, bool>, std::unique_ptr<System>> systems_;
};

}  // namespace warpmeter::analyzer
