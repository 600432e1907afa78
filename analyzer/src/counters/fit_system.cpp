// SPDX-License-Identifier: Apache-2.0
#include "src/counters/fit_system.h"

namespace warpmeter::analyzer {

Fit::System::System(const Layout& layout, const std::vector<std::array<SampleSums, 2>>& sums,
                    const std::vector<std::size_t>& of, bool withConcurrent)
    : members(of), concurrent(withConcurrent) {
  const auto n = static_cast<int>(layout.unknowns);
  std::vector<Eigen::Triplet<double>> cells;
  for (const std::size_t s : members) {
    sums[s][0].gram.appendTo(cells);
    if (concurrent) sums[s][1].gram.appendTo(cells);
  }
  observed.resize(n, n);
  observed.setFromTriplets(cells.begin(), cells.end());
  // Unknowns that no sample touches need something on the diagonal; far below what one sample gives.
  for (int i = 0; i < n; ++i) cells.emplace_back(i, i, 1e-6);
  for (const Expectation& e : layout.expectations) {
    const KindParts& parts = layout.kinds[e.kind];
    for (std::uint32_t a = 0; a < parts.count; ++a) {
      for (std::uint32_t b = 0; b < parts.count; ++b) {
        const double v = e.weight * e.factor[a] * e.factor[b];
        if (v != 0)
          cells.emplace_back(static_cast<int>(parts.first + a), static_cast<int>(parts.first + b), v);
      }
    }
  }
  whole.resize(n, n);
  whole.setFromTriplets(cells.begin(), cells.end());
  factors.compute(whole);
}

void Fit::System::addRole(std::size_t role, const std::vector<std::array<SampleSums, 2>>& sums) {
  if (rates[role].size() > 0) return;
  const auto n = static_cast<std::size_t>(observed.rows());
  Eigen::VectorXd right = Eigen::VectorXd::Zero(observed.rows());
  for (const std::size_t s : members) {
    for (int c = 0; c < (concurrent ? 2 : 1); ++c) {
      right += Eigen::Map<const Eigen::VectorXd>(&sums[s][c].xy[role * n], observed.rows());
      yy[role] += sums[s][c].yy[role];
    }
  }
  xy[role] = right;
  rates[role] = nonNegative(right);
  place[role] = roles.size();
  roles.push_back(role);
}

// Negative rates are pinned at 0 and the rest is solved again, until none is negative.
Eigen::VectorXd Fit::System::nonNegative(const Eigen::VectorXd& right) const {
  Eigen::VectorXd x = factors.solve(right);
  const double slack = 1e-9 * x.cwiseAbs().maxCoeff();
  std::vector<char> pinned(static_cast<std::size_t>(x.size()), 0);
  constexpr int kMostRounds = 8;
  constexpr double kPin = 1e12;  // microseconds: no run is that long
  for (int round = 0; round < kMostRounds; ++round) {
    bool more = false;
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      if (x[i] >= -slack || pinned[static_cast<std::size_t>(i)]) continue;
      pinned[static_cast<std::size_t>(i)] = 1;
      more = true;
    }
    if (!more) break;
    Matrix fixed = whole;
    for (Eigen::Index i = 0; i < x.size(); ++i) {
      if (pinned[static_cast<std::size_t>(i)]) fixed.coeffRef(i, i) += kPin;
    }
    Eigen::SimplicialLDLT<Matrix> again(fixed);
    x = again.solve(right);
  }
  return x.cwiseMax(0.0);
}

void Fit::System::beginScores(std::size_t blocks, std::size_t kindCount) {
  kinds = kindCount;
  scores.assign(blocks * roles.size() * static_cast<std::size_t>(observed.rows()), 0.0f);
  left.assign(blocks * roles.size() * kinds, 0.0f);
  claims_.assign(roles.size(), {});
}

void Fit::System::addScore(std::size_t block, const SeriesView& series, std::size_t sample,
                           std::span<const Regressor> row, double weight,
                           std::span<const std::uint32_t> kindOf, std::vector<GramSum>& claims) {
  const auto n = static_cast<std::size_t>(observed.rows());
  claims.resize(roles.size());
  if (row.size() == 1 && kindOf[row[0].first] < kinds) {  // most samples: one part of one launch
    const auto [unknown, us] = row[0];
    const std::uint32_t kind = kindOf[unknown];
    for (std::size_t k = 0; k < roles.size(); ++k) {
      const double rate = rates[roles[k]][unknown];
      const auto rest = static_cast<float>(series.value(roles[k], sample) - rate * us);
      scores[(block * roles.size() + k) * n + unknown] += rest * static_cast<float>(weight * us);
      if (rate <= 0) continue;
      left[(block * roles.size() + k) * kinds + kind] += rest;
      claims[k].add(kind, unknown, us);
    }
    return;
  }
  for (std::size_t k = 0; k < roles.size(); ++k) {
    const Eigen::VectorXd& rate = rates[roles[k]];
    double expected = 0;
    for (const Regressor& x : row) expected += rate[x.first] * x.second;
    const double rest = series.value(roles[k], sample) - expected;
    float* to = &scores[(block * roles.size() + k) * n];
    float* kindLeft = &left[(block * roles.size() + k) * kinds];
    for (const Regressor& x : row) {
      to[x.first] += static_cast<float>(rest * weight * x.second);
      if (expected <= 0 || rate[x.first] <= 0) continue;
      const double claim = rate[x.first] * x.second / expected;
      const std::uint32_t kind = kindOf[x.first];
      if (kind >= kinds) continue;  // the idle GPU
      kindLeft[kind] += static_cast<float>(claim * rest);
      for (const Regressor& y : row) claims[k].add(kind, y.first, claim * y.second);
    }
  }
}

void Fit::System::addClaims(const std::vector<GramSum>& more) {
  for (std::size_t k = 0; k < more.size(); ++k) claims_[k].add(more[k]);
}

void Fit::System::finishClaims() {
  for (std::size_t k = 0; k < roles.size(); ++k) {
    std::vector<Eigen::Triplet<double>> cells;
    claims_[k].forEach([&](std::uint32_t i, std::uint32_t j, double v) {
      cells.emplace_back(static_cast<int>(i), static_cast<int>(j), v);
    });
    auto& out = claimed[roles[k]];
    out.resize(static_cast<Eigen::Index>(kinds), observed.rows());
    out.setFromTriplets(cells.begin(), cells.end());
  }
}

}  // namespace warpmeter::analyzer
