// SPDX-License-Identifier: Apache-2.0
#include "src/counters/layout.h"

#include <algorithm>
#include <cmath>

namespace warpmeter::analyzer {
namespace {

constexpr double kShortestPartUs = 0.25;  // finer than the clock offset is known makes no sense
constexpr double kEdgeRate = 0.75, kEdgeSpread = 0.25, kInnerSpread = 0.2;
constexpr double kSampleNoise = 0.07;  // of a sample's count, relative: how much an expectation weighs

// How finely launches are cut. A launch's edges are about 1.5 us long, in short kernels a part of them.
struct Cut {
  double edgeUs, edgePart, innerUs;
};
constexpr Cut kUsual{1.5, 1.0 / 7, 0.7}, kOther{1.0, 1.0 / 12, 1.2};

constexpr float kSeen = 0.5f;  // less often is as good as never

KindParts partsOf(const KindSight& seen, std::uint32_t first, const Cut& cut) {
  KindParts out;
  out.first = first;
  out.durationUs = seen.durationNs / 1e3;
  out.intervalUs = seen.intervalNs / 1e3;
  const double edgeUs = std::min(out.durationUs * cut.edgePart, cut.edgeUs);
  // A kernel that is hardly seen gets one rate.
  if (edgeUs < kShortestPartUs || seen.samples < 12) return out;
  const double innerUs = out.durationUs - 2 * edgeUs;
  const double fit =
      std::min(innerUs / std::max(out.intervalUs, cut.innerUs), static_cast<double>(seen.samples) / 12);
  const auto inner =
      seen.onlyPieces() ? 1u : static_cast<std::uint32_t>(std::clamp(std::round(fit), 1.0, 6.0));
  out.count = inner + 2;
  out.edge[0] = 0;
  for (std::uint32_t i = 0; i <= inner; ++i) {
    out.edge[i + 1] = (edgeUs + innerUs * i / inner) / out.durationUs;
  }
  out.edge[out.count] = 1;
  return out;
}

void expect(Layout& layout, std::uint32_t kind) {
  const KindParts& parts = layout.kinds[kind];
  if (parts.count < 3) return;
  const std::uint32_t inner = parts.count - 2;
  const auto add = [&](std::uint32_t part, double ofInner, double spread) {
    Expectation e;
    e.kind = kind;
    for (std::uint32_t i = 1; i <= inner; ++i) e.factor[i] = -ofInner / inner;
    e.factor[part] += 1;
    e.spread = spread;
    e.weight = std::pow(kSampleNoise / spread, 2) * parts.intervalUs;
    layout.expectations.push_back(e);
  };
  add(0, kEdgeRate, kEdgeSpread);
  add(parts.count - 1, kEdgeRate, kEdgeSpread);
  for (std::uint32_t i = 1; i <= inner && inner > 1; ++i) add(i, 1, kInnerSpread);
}

}  // namespace

void KindSight::add(const KindSight& more) {
  sampledNs += more.sampledNs;
  launches += more.launches;
  aloneNs += more.aloneNs;
  intervalNs += more.intervalNs;
  sequentialNs += more.sequentialNs;
  samples += more.samples;
  pieces += more.pieces;
  for (std::size_t i = 0; i < kPlaces; ++i) seen[i] += more.seen[i];
}

double KindSight::unseenShare() const {
  return static_cast<double>(std::ranges::count_if(seen, [](float s) { return s < kSeen; })) / kPlaces;
}

double KindSight::imbalance() const {
  double sum = 0, squares = 0;
  for (const float s : seen) sum += s, squares += double{s} * double{s};
  const double mean = sum / kPlaces;
  return mean > 0 ? std::sqrt(std::max(0.0, squares / kPlaces - mean * mean)) / mean : 0;
}

Layout Layout::of(const Schedule& schedule, std::span<const KindSight> seen, bool other) {
  Layout out;
  for (std::uint32_t k = 0; k < schedule.kinds; ++k) {
    KindParts parts;
    if (k < schedule.kernels && seen[k].samples > 0) {
      parts = partsOf(seen[k], out.unknowns, other ? kOther : kUsual);
    }
    parts.first = out.unknowns;
    out.unknowns += parts.count;
    out.kinds.push_back(parts);
    expect(out, k);
  }
  out.idle = out.unknowns++;
  return out;
}

void rowOf(const Layout& layout, const Schedule& schedule, const SampleWalk& walk,
           std::vector<Regressor>& out) {
  out.clear();
  for (const SampleWalk::Piece& piece : walk.pieces()) {
    const Operation& op = schedule.ops[piece.op];
    const KindParts& parts = layout.kinds[op.kind];
    const auto add = [&](std::uint32_t unknown, double us) {
      // Launches of one kind follow each other often.
      for (Regressor& r : out) {
        if (r.first == unknown) {
          r.second += us;
          return;
        }
      }
      out.emplace_back(unknown, us);
    };
    if (parts.durationUs == 0) {
      add(parts.first, static_cast<double>(piece.toNs - piece.fromNs) * 1e-3);
      continue;
    }
    const double perNs = 1.0 / static_cast<double>(op.endNs - op.startNs);
    const double from = static_cast<double>(piece.fromNs - op.startNs) * perNs;
    const double to = static_cast<double>(piece.toNs - op.startNs) * perNs;
    for (std::uint32_t p = 0; p < parts.count; ++p) {
      if (parts.edge[p] >= to) break;
      const double share = std::min(to, parts.edge[p + 1]) - std::max(from, parts.edge[p]);
      if (share > 0) add(parts.first + p, share * parts.durationUs);
    }
  }
  if (walk.idleNs() > 0) out.emplace_back(layout.idle, static_cast<double>(walk.idleNs()) * 1e-3);
}

}  // namespace warpmeter::analyzer
