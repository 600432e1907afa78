// SPDX-License-Identifier: Apache-2.0
// One system of normal equations of a Fit: some series, some roles, one matrix.
#pragma once

#include <Eigen/SparseCholesky>
#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "src/counters/fit.h"

namespace warpmeter::analyzer {

struct Fit::System {
  using Matrix = Eigen::SparseMatrix<double>;

  System(const Layout& layout, const std::vector<std::array<SampleSums, 2>>& sums,
         const std::vector<std::size_t>& of, bool withConcurrent);
  void addRole(std::size_t role, const std::vector<std::array<SampleSums, 2>>& sums);
  Eigen::VectorXd solve(const Eigen::VectorXd& right) const { return factors.solve(right); }
  std::size_t roleCount() const {
    return static_cast<std::size_t>(std::ranges::count_if(rates, [](const auto& r) { return r.size() > 0; }));
  }

  void beginScores(std::size_t blocks, std::size_t kinds);
  // Adds weight x row x residual of that sample, and the residual to the kinds that it consists of. Different
  // blocks from different threads, each with claims of its own.
  void addScore(std::size_t block, const SeriesView& series, std::size_t sample,
                std::span<const Regressor> row, double weight, std::span<const std::uint32_t> kindOf,
                std::vector<GramSum>& claims);
  void addClaims(const std::vector<GramSum>& more);
  const float* scoresOf(std::size_t block, std::size_t role) const {
    return &scores[(block * roles.size() + place[role]) * static_cast<std::size_t>(observed.rows())];
  }
  double leftOf(std::size_t block, std::size_t role, std::uint32_t kind) const {
    return left[(block * roles.size() + place[role]) * kinds + kind];
  }

  std::vector<std::size_t> members;  // series
  bool concurrent = false;
  Matrix observed, whole;  // x x' of the samples; and with the expectations
  Eigen::SimplicialLDLT<Matrix> factors;
  std::array<Eigen::VectorXd, kRoles> rates, xy;  // by unknown; empty: role not solved
  std::array<double, kRoles> yy{};
  // [role]: sum over samples of the kind's claim on the sample x the sample's row, by (kind, unknown), as
  // triplets.
  std::array<Eigen::SparseMatrix<double, Eigen::RowMajor>, kRoles> claimed;
  void finishClaims();

 private:
  Eigen::VectorXd nonNegative(const Eigen::VectorXd& right) const;
  std::vector<std::size_t> roles;           // in order of scores
  std::array<std::size_t, kRoles> place{};  // of a role in roles
  std::vector<float> scores;                // [block][role][unknown]
  std::vector<float> left;                  // [block][role][kind]: residuals by claim
  std::size_t kinds = 0;
  std::vector<GramSum> claims_;  // [role]
};

}  // namespace warpmeter::analyzer
