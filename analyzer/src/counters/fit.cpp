// SPDX-License-Identifier: Apache-2.0
#include "src/counters/fit.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "src/counters/fit_system.h"
#include "src/parallel.h"

namespace warpmeter::analyzer {
namespace {

constexpr std::size_t kChunk = 512;          // samples that are taken or left out together
constexpr std::size_t kCheckStop = 1 << 14;  // samples between looks at the stop token
constexpr double kMostGroups = 64, kFewestGroups = 3;
// What a part of a launch that was never seen may have, relative to what was seen: 0 to 2, evenly.
constexpr double kUnseenSpread = 0.5;
constexpr double kAllSampled = 0.9;
constexpr std::uint32_t kNoLaunch = UINT32_MAX;

std::size_t indexOf(Role role) { return static_cast<std::size_t>(role); }

}  // namespace

Fit::Fit(const Schedule& schedule, const Layout& layout, std::span<const SeriesView> series,
         std::span<const KindSight> seen, unsigned threads, std::stop_token stop)
    : schedule_(schedule), layout_(layout), series_(series), seen_(seen), threads_(threads), stop_(stop) {
  kindOf_.resize(layout_.unknowns, schedule_.kinds);  // the idle GPU is no kind
  for (std::uint32_t k = 0; k < layout_.kinds.size(); ++k) {
    std::fill_n(kindOf_.begin() + layout_.kinds[k].first, layout_.kinds[k].count, k);
  }
  for (const SeriesView& s : series_) {
    anyConcurrent_ = anyConcurrent_ || std::ranges::find(s.use, SampleUse::concurrent) != s.use.end();
  }
}

Fit::~Fit() = default;

template <class F>
void Fit::walk(const SeriesView& series, std::size_t begin, std::size_t end, std::int64_t shiftNs,
               F&& each) const {
  SampleWalk walk(schedule_);
  std::vector<Regressor> row;
  for (std::size_t i = begin; i < end; ++i) {
    if (i % kCheckStop == 0 && stop_.stop_requested()) return;
    if (series.use[i] == SampleUse::dropped) continue;
    const std::int64_t from = series.beginNs(i) - shiftNs, to = series.endNs(i) - shiftNs;
    if (to <= from) continue;
    walk.moveTo(from, to);
    rowOf(layout_, schedule_, walk, row);
    each(i, std::span<const Regressor>(row), 1e3 / static_cast<double>(to - from), walk.pieces());
  }
}

void Fit::accumulate(std::int64_t shiftNs, std::size_t stride) {
  systems_.clear();
  scored_ = false;
  shiftNs_ = shiftNs;
  sums_.assign(series_.size(), {});
  const std::size_t n = layout_.unknowns;
  for (auto& both : sums_) {
    for (SampleSums& s : both) {
      s.xy.assign(kRoles * n, 0);
      s.yy.assign(kRoles, 0);
    }
  }
  struct Task {
    std::size_t series, begin, end;
  };
  std::vector<Task> tasks;
  for (std::size_t s = 0; s < series_.size(); ++s) {
    // Few large tasks: each has sums of its own.
    const std::size_t size = series_[s].size(), part = std::max<std::size_t>(size / 4 + 1, 32 * kChunk);
    for (std::size_t at = 0; at < size; at += part) tasks.push_back({s, at, std::min(at + part, size)});
  }
  std::mutex mutex;
  parallelFor(tasks.size(), threads_, [&](std::size_t t) {
    const Task& task = tasks[t];
    const SeriesView& series = series_[task.series];
    std::array<SampleSums, 2> sums;
    for (SampleSums& s : sums) {
      s.xy.assign(kRoles * n, 0);
      s.yy.assign(kRoles, 0);
    }
    std::vector<std::size_t> counted;
    for (std::size_t r = 0; r < kRoles; ++r) {
      if (series.column[r]) counted.push_back(r);
    }
    const auto add = [&](std::size_t i, std::span<const Regressor> row, double weight, auto) {
      SampleSums& out = sums[series.use[i] == SampleUse::concurrent];
      out.gram.add(row, weight);
      ++out.samples;
      for (const std::size_t r : counted) {
        const double y = series.value(r, i), wy = weight * y;
        out.yy[r] += wy * y;
        for (const Regressor& x : row) out.xy[r * n + x.first] += wy * x.second;
      }
    };
    for (std::size_t at = task.begin; at < task.end; at += kChunk * stride) {
      walk(series, at, std::min(stride == 1 ? task.end : at + kChunk, task.end), shiftNs, add);
      if (stride == 1) break;
    }
    const std::lock_guard lock(mutex);
    for (int c = 0; c < 2; ++c) {
      SampleSums& to = sums_[task.series][c];
      to.gram.add(sums[c].gram);
      to.samples += sums[c].samples;
      for (std::size_t i = 0; i < to.xy.size(); ++i) to.xy[i] += sums[c].xy[i];
      for (std::size_t i = 0; i < to.yy.size(); ++i) to.yy[i] += sums[c].yy[i];
    }
  });
}

Fit::System* Fit::solve(RoleSet roles, bool concurrent) {
  std::vector<std::size_t> members;
  std::int64_t samples = 0;
  for (std::size_t s = 0; s < series_.size(); ++s) {
    if ((series_[s].roles & roles) != roles) continue;
    members.push_back(s);
    samples += sums_[s][0].samples + (concurrent ? sums_[s][1].samples : 0);
  }
  if (members.empty() || samples == 0) return nullptr;
  concurrent = concurrent && anyConcurrent_;
  auto& slot = systems_[{members, concurrent}];
  if (!slot) slot = std::make_unique<System>(layout_, sums_, members, concurrent);
  for (std::size_t r = 0; r < kRoles; ++r) {
    if (roles.test(r)) slot->addRole(r, sums_);
  }
  return slot.get();
}

void Fit::cutBlocks(std::size_t stride) {
  blocks_.clear();
  std::size_t cells = layout_.unknowns;
  std::size_t roles = 1;
  for (const auto& [key, system] : systems_) roles += system->roleCount();
  cells *= roles;
  const std::size_t most = std::clamp<std::size_t>(24'000'000 / cells, 64, 2048);
  std::size_t total = 0;
  for (const SeriesView& s : series_) total += s.size() / stride;
  const std::size_t length = stride > 1 ? kChunk : std::max<std::size_t>(8, total / most + 1);
  for (std::size_t s = 0; s < series_.size(); ++s) {
    const SeriesView& series = series_[s];
    std::vector<std::size_t> holes;  // a block does not reach over one, unless they are many
    for (std::size_t i = 1; stride == 1 && i < series.size() && holes.size() <= most; ++i) {
      if (series.beginNs(i) != series.endNs(i - 1)) holes.push_back(i);
    }
    if (holes.size() > most) holes.clear();
    auto hole = holes.begin();
    bool behindHole = true;
    for (std::size_t at = 0; at < series.size();) {
      std::size_t end = std::min(at + length, series.size());
      while (hole != holes.end() && *hole <= at) ++hole;
      if (hole != holes.end()) end = std::min(end, *hole);
      blocks_.push_back({s, at, end, behindHole});
      behindHole = hole != holes.end() && end == *hole;
      at = stride == 1 ? end : at + length * stride;
    }
  }
}

void Fit::score(std::size_t stride) {
  cutBlocks(stride);
  std::vector<std::vector<System*>> systemsOf(series_.size());
  for (auto& [key, system] : systems_) {
    system->beginScores(blocks_.size(), schedule_.kinds);
    for (const std::size_t s : key.first) systemsOf[s].push_back(system.get());
  }
  time_.assign(blocks_.size() * schedule_.kinds * 2, 0.0f);
  launch_.assign(blocks_.size() * schedule_.kinds, kNoLaunch);
  // Neighbouring blocks in one task: the walk need not search for its place each time.
  const std::size_t tasks = std::min<std::size_t>(blocks_.size(), 16);
  std::mutex mutex;
  parallelFor(tasks, threads_, [&](std::size_t t) {
    std::map<System*, std::vector<GramSum>> claims;
    for (std::size_t b = t * blocks_.size() / tasks; b < (t + 1) * blocks_.size() / tasks; ++b) {
      const Block& block = blocks_[b];
      const SeriesView& series = series_[block.series];
      walk(series, block.begin, block.end, shiftNs_,
           [&](std::size_t i, std::span<const Regressor> row, double weight, auto pieces) {
             for (const SampleWalk::Piece& p : pieces) {
               std::uint32_t& first = launch_[b * schedule_.kinds + schedule_.ops[p.op].kind];
               if (first == kNoLaunch) first = p.op;
             }
             const bool both = series.use[i] == SampleUse::concurrent;
             for (const Regressor& x : row) {
               if (x.first == layout_.idle) continue;
               time_[(b * schedule_.kinds + kindOf_[x.first]) * 2 + both] += static_cast<float>(x.second);
             }
             for (System* system : systemsOf[block.series]) {
               if (both && !system->concurrent) continue;
               system->addScore(b, series, i, row, weight, kindOf_, claims[system]);
             }
           });
    }
    const std::lock_guard lock(mutex);
    for (const auto& [system, sums] : claims) system->addClaims(sums);
  });
  for (auto& [key, system] : systems_) system->finishClaims();
  scored_ = true;
}

double Fit::timeOf(const System& system, std::uint32_t block, std::uint32_t kind) const {
  const float* t = &time_[(block * schedule_.kinds + kind) * 2];
  return t[0] + (system.concurrent ? t[1] : 0.0f);
}

bool Fit::allSampled(std::uint32_t kind) const {
  return seen_[kind].launches >= kAllSampled * static_cast<double>(seen_[kind].run);
}

// Groups of blocks whose errors are taken as independent. Samples of one launch are alike, so a piece of a
// launch is never split, unless all of the kernel's few launches were sampled: then only what the samples add
// is uncertain.
std::vector<std::vector<std::uint32_t>> Fit::groupsOf(const System& system, std::uint32_t kind) const {
  struct Part {
    std::uint32_t block;
    double time;
    bool begins;  // a piece
  };
  std::vector<Part> parts;
  double total = 0;
  std::size_t member = 0, pieces = 0;
  bool hole = true;
  std::uint32_t launch = kNoLaunch;
  for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
    while (member < system.members.size() && system.members[member] < blocks_[b].series) ++member;
    if (member == system.members.size()) break;
    if (system.members[member] != blocks_[b].series) continue;
    hole = hole || blocks_[b].hole;
    const double time = timeOf(system, b, kind);
    if (time <= 0) continue;
    const std::uint32_t first = launch_[b * schedule_.kinds + kind];
    parts.push_back({b, time, hole || first != launch});
    pieces += parts.back().begins;
    total += time;
    hole = false;
    launch = first;
  }
  const bool split = allSampled(kind) && pieces < 5;
  const double most = split ? std::min(16.0, static_cast<double>(seen_[kind].samples) / 4) : kMostGroups;
  const bool each = !split && static_cast<double>(pieces) <= most;
  std::vector<std::vector<std::uint32_t>> out;
  double sum = 0;
  for (const Part& part : parts) {
    const bool full = sum >= total * static_cast<double>(out.size()) / most;
    if (out.empty() || (split ? full : part.begins && (each || full))) out.emplace_back();
    out.back().push_back(part.block);
    sum += part.time;
  }
  return out;
}

double Fit::fitted(const System& system, std::uint32_t kind, std::size_t role) const {
  const KindParts& parts = layout_.kinds[kind];
  double sum = 0;
  for (std::uint32_t p = 0; p < parts.count; ++p)
    sum += system.rates[role][parts.first + p] * parts.widthUs(p);
  return sum;
}

double Fit::total(const System& system, std::uint32_t kind, Role role) const {
  const std::size_t r = indexOf(role);
  double out = fitted(system, kind, r);
  if (scored_) {
    double left = 0, time = 0;
    for (std::uint32_t b = 0; b < blocks_.size(); ++b) {
      if (!std::ranges::binary_search(system.members, blocks_[b].series)) continue;
      left += system.leftOf(b, r, kind);
      time += timeOf(system, b, kind);
    }
    if (time > 0) out += left * layout_.kinds[kind].durationUs / time;
  }
  return std::max(out, 0.0);
}

double Fit::idlePerUs(const System& system, Role role) const {
  return std::max(0.0, system.rates[indexOf(role)][layout_.idle]);
}

Estimate Fit::ratio(System& system, std::uint32_t kind, std::span<const Role> numerator,
                    std::span<const Role> denominator) {
  Estimate out;
  double n = 0, d = denominator.empty() ? 1 : 0;
  for (const Role r : numerator) n += total(system, kind, r);
  for (const Role r : denominator) d += total(system, kind, r);
  const auto groups = groupsOf(system, kind);
  double launches = 0;
  for (const auto& group : groups) {
    for (const std::uint32_t b : group) launches += timeOf(system, b, kind) / layout_.kinds[kind].durationUs;
  }
  if (d <= 0 || launches <= 0) return out;
  out.value = n / d;

  // Delta method: the error of n / d is that of (n - out.value d) / d.
  struct Part {
    std::size_t role;
    double factor;
    Eigen::VectorXd influence;
    std::vector<std::pair<std::uint32_t, double>> weights;  // of influence, what matters of it
  };
  std::vector<Part> parts;
  for (const Role r : numerator) parts.push_back({indexOf(r), 1 / d, {}, {}});
  for (const Role r : denominator) parts.push_back({indexOf(r), -out.value / d, {}, {}});
  const KindParts& own = layout_.kinds[kind];
  for (Part& part : parts) {
    Eigen::VectorXd right = -system.claimed[part.role].row(kind).transpose() / launches;
    for (std::uint32_t p = 0; p < own.count; ++p) right[own.first + p] += own.widthUs(p);
    part.influence = system.solve(right);
    const double largest = part.influence.cwiseAbs().maxCoeff();
    for (std::uint32_t i = 0; i < layout_.unknowns; ++i) {
      if (std::abs(part.influence[i]) > 1e-5 * largest) part.weights.emplace_back(i, part.influence[i]);
    }
  }
  double squares = 0, times = 0, timeSquares = 0;
  for (const auto& group : groups) {
    double score = 0, time = 0;
    for (const std::uint32_t b : group) {
      for (const Part& part : parts) {
        const float* s = system.scoresOf(b, part.role);
        double sum = system.leftOf(b, part.role, kind) / launches;
        for (const auto& [i, w] : part.weights) sum += w * s[i];
        score += part.factor * sum;
      }
      time += timeOf(system, b, kind);
    }
    squares += score * score;
    times += time;
    timeSquares += time * time;
  }
  const double count = timeSquares > 0 ? times * times / timeSquares : 0;  // groups of equal size
  const KindSight& seen = seen_[kind];
  if (count >= kFewestGroups) {
    out.sampling = squares * count / (count - 1);
    out.degrees = count - 1;
    if (own.count > 1 && !seen.onlyPieces()) {
      // Each part of a launch has a rate of its own, which the residuals of few launches follow.
      out.sampling *= seen.launches / (seen.launches - 1);
      out.expectation = std::pow(seen.unseenShare() * kUnseenSpread * out.value, 2);
    }
  }
  // Where only the expectation says how a launch's edge differs from its middle, it may be wrong by its
  // spread.
  for (const Expectation& e : layout_.expectations) {
    const KindParts& of = layout_.kinds[e.kind];
    double error = 0;
    for (std::size_t k = 0; k < numerator.size(); ++k) {
      double lever = 0;
      for (std::uint32_t p = 0; p < of.count; ++p) lever += parts[k].influence[of.first + p] * e.factor[p];
      error += lever * e.weight * e.spread * fitted(system, e.kind, parts[k].role) / (of.durationUs * d);
    }
    out.expectation += error * error;
  }
  return out;
}

double Fit::misfit(const System& system, std::size_t role) const {
  const Eigen::VectorXd& b = system.rates[role];
  const double rest = system.yy[role] - 2 * b.dot(system.xy[role]) + b.dot(system.observed * b);
  return system.yy[role] > 0 ? rest / system.yy[role] : 0;
}

}  // namespace warpmeter::analyzer
