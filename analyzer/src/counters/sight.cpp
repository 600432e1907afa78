// SPDX-License-Identifier: Apache-2.0
#include "src/counters/sight.h"

#include <algorithm>

#include "src/parallel.h"

namespace warpmeter::analyzer {
namespace {

constexpr std::size_t kChunk = 512, kLookSamples = 1 << 18, kCheckStop = 1 << 16;
// Further inside than the edges that a fit takes apart (layout.cpp), wherever the clocks stand.
constexpr std::int64_t kInnerNs = 1'900;
constexpr std::int64_t kGuardNs = 2'000;  // clock offset and the start and end of a launch lie within
constexpr std::int64_t kForeignReachNs = 2'000'000;  // a time slice
constexpr double kConcurrent = 0.05;                 // of a sample: above it is more than an edge
// One block on one of 132 SMs during half a sample is 0.4 % of the cycles.
constexpr double kForeignCycles = 0.002;

enum class Idle : std::uint8_t { no, clean, foreign };

class Looker {
 public:
  Looker(const Schedule& schedule, std::vector<KindSight>& kinds)
      : schedule_(schedule), walk_(schedule), kinds_(kinds) {}

  void moveTo(std::int64_t from, std::int64_t to) { walk_.moveTo(from, to); }
  bool empty() const { return walk_.pieces().empty(); }
  // The only operation of [from, to), if it has all of it; UINT32_MAX otherwise.
  std::uint32_t innerOf(std::int64_t from, std::int64_t to) const {
    if (walk_.pieces().size() != 1) return UINT32_MAX;
    const Operation& op = schedule_.ops[walk_.pieces().front().op];
    return op.startNs <= from && op.endNs >= to ? walk_.pieces().front().op : UINT32_MAX;
  }
  bool concurrent(std::int64_t length) const {
    return static_cast<double>(walk_.concurrentNs()) > kConcurrent * static_cast<double>(length);
  }
  // hole: what came before this sample was not sampled.
  void count(std::int64_t length, bool sequential = true, bool hole = false) {
    const auto pieces = walk_.pieces();
    bool alone = true;
    for (const SampleWalk::Piece& p : pieces) alone = alone && kindOf(p) == kindOf(pieces.front());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const SampleWalk::Piece& p = pieces[i];
      const Operation& op = schedule_.ops[p.op];
      KindSight& k = kinds_[op.kind];
      const auto ns = static_cast<double>(p.toNs - p.fromNs);
      k.sampledNs += ns;
      const double perNs = 1 / static_cast<double>(op.endNs - op.startNs);
      k.launches += ns * perNs;
      k.pieces += hole || p.fromNs == op.startNs;
      see(k, static_cast<double>(p.fromNs - op.startNs) * perNs,
          static_cast<double>(p.toNs - op.startNs) * perNs);
      if (alone) k.aloneNs += ns;
      if (sequential) k.sequentialNs += ns;
      bool again = false;
      for (std::size_t j = 0; j < i; ++j) again = again || kindOf(pieces[j]) == op.kind;
      if (again) continue;
      ++k.samples;
      k.intervalNs += static_cast<double>(length);
    }
  }

 private:
  static void see(KindSight& k, double from, double to) {
    from *= KindSight::kPlaces, to *= KindSight::kPlaces;
    for (auto i = static_cast<std::size_t>(from); i < KindSight::kPlaces && static_cast<double>(i) < to;
         ++i) {
      const auto place = static_cast<double>(i);
      k.seen[i] += static_cast<float>(std::min(to, place + 1) - std::max(from, place));
    }
  }
  std::uint32_t kindOf(const SampleWalk::Piece& p) const { return schedule_.ops[p.op].kind; }
  const Schedule& schedule_;
  SampleWalk walk_;
  std::vector<KindSight>& kinds_;
};

void finish(std::vector<KindSight>& kinds) {
  for (KindSight& k : kinds) {
    if (k.launches > 0) k.durationNs = k.sampledNs / k.launches;
    if (k.samples > 0) k.intervalNs /= static_cast<double>(k.samples);
  }
}

// Cycles that all SMs together can be active in a nanosecond: the most that any sample had.
double mostCyclesPerNs(const std::vector<SeriesView>& series) {
  constexpr auto kActive = static_cast<std::size_t>(Role::smActive);
  double most = 0;
  for (const SeriesView& s : series) {
    for (std::size_t i = 0; s.column[kActive] && i < s.size(); ++i) {
      most = std::max(most, s.value(kActive, i) /
                                static_cast<double>(std::max<std::int64_t>(1, s.series->durationNs(i))));
    }
  }
  return most;
}

void dropAround(SeriesView& s, const std::vector<Idle>& idle, std::size_t at) {
  s.use[at] = SampleUse::dropped;
  for (std::size_t i = at; i-- > 0;) {
    if (idle[i] != Idle::no || s.beginNs(at) - s.endNs(i) > kForeignReachNs) break;
    s.use[i] = SampleUse::dropped;
  }
  for (std::size_t i = at + 1; i < s.size(); ++i) {
    if (idle[i] != Idle::no || s.beginNs(i) - s.endNs(at) > kForeignReachNs) break;
    s.use[i] = SampleUse::dropped;
  }
}

}  // namespace

Sight look(const Schedule& schedule, std::vector<SeriesView>& series, const IntervalSet& unknown,
           unsigned threads, std::stop_token stop) {
  Sight out;
  out.kinds.resize(schedule.kinds);
  if (schedule.ops.empty()) return out;
  const std::int64_t first = schedule.ops.front().startNs, last = schedule.reach.back();
  const double most = mostCyclesPerNs(series);
  constexpr auto kActive = static_cast<std::size_t>(Role::smActive);
  const auto inRun = [&](const SeriesView& s, std::size_t i) {
    return s.endNs(i) >= first - kGuardNs && s.beginNs(i) <= last + kGuardNs;
  };
  for (SeriesView& s : series) {
    const std::size_t chunks = (s.size() + kLookSamples - 1) / kLookSamples;
    std::vector<Idle> idle(s.size(), Idle::no);
    std::vector<Sight> parts(chunks);
    parallelFor(chunks, threads, [&](std::size_t c) {
      Sight& part = parts[c];
      Looker around(schedule, part.kinds);
      std::size_t hidden = 0;
      for (std::size_t i = c * kLookSamples; i < std::min((c + 1) * kLookSamples, s.size()); ++i) {
        if (i % kCheckStop == 0 && stop.stop_requested()) return;
        const std::int64_t from = s.beginNs(i), to = s.endNs(i);
        s.use[i] = SampleUse::sequential;
        if (to <= from || !inRun(s, i)) {
          s.use[i] = SampleUse::dropped;  // before and after the run: nobody's
          continue;
        }
        ++part.samples;
        part.sampledNs += to - from;
        while (hidden < unknown.size() && unknown[hidden].end <= from - kGuardNs) ++hidden;
        if (hidden < unknown.size() && unknown[hidden].begin < to + kGuardNs) {
          s.use[i] = SampleUse::dropped;
          continue;
        }
        around.moveTo(from - kGuardNs, to + kGuardNs);
        s.inner[i] = around.innerOf(from - kInnerNs, to + kInnerNs);
        if (!around.empty()) continue;
        ++part.idle;
        const bool active =
            s.column[kActive] && s.value(kActive, i) > kForeignCycles * most * static_cast<double>(to - from);
        idle[i] = active ? Idle::foreign : Idle::clean;
        part.foreign += active;
      }
    });
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (idle[i] == Idle::foreign) dropAround(s, idle, i);
    }
    parallelFor(chunks, threads, [&](std::size_t c) {
      Sight& part = parts[c];
      part.kinds.resize(schedule.kinds);
      Looker looker(schedule, part.kinds);
      const std::size_t begin = c * kLookSamples;
      std::int64_t reached =
          begin > 0 && s.use[begin - 1] != SampleUse::dropped ? s.endNs(begin - 1) : INT64_MIN;
      for (std::size_t i = begin; i < std::min(begin + kLookSamples, s.size()); ++i) {
        if (i % kCheckStop == 0 && stop.stop_requested()) return;
        if (s.use[i] == SampleUse::dropped) {
          part.dropped += inRun(s, i);
          continue;
        }
        const std::int64_t from = s.beginNs(i), to = s.endNs(i);
        looker.moveTo(from, to);
        if (looker.concurrent(to - from)) s.use[i] = SampleUse::concurrent;
        looker.count(to - from, s.use[i] == SampleUse::sequential, from != reached);
        reached = to;
      }
    });
    std::vector<std::int64_t>& samples = out.samplesOf.emplace_back(schedule.kinds);
    for (const Sight& part : parts) {
      out.samples += part.samples;
      out.dropped += part.dropped;
      out.sampledNs += part.sampledNs;
      out.idle += part.idle;
      out.foreign += part.foreign;
      for (std::size_t k = 0; k < part.kinds.size(); ++k) {
        samples[k] += part.kinds[k].samples;
        out.kinds[k].add(part.kinds[k]);
      }
    }
    if (stop.stop_requested()) return out;
  }
  for (const Operation& op : schedule.ops) ++out.kinds[op.kind].run;
  finish(out.kinds);
  return out;
}

std::vector<KindSight> glance(const Schedule& schedule, const std::vector<SeriesView>& series,
                              std::size_t stride) {
  std::vector<KindSight> kinds(schedule.kinds);
  for (const SeriesView& s : series) {
    Looker looker(schedule, kinds);
    for (std::size_t at = 0; at < s.size(); at += kChunk * stride) {
      for (std::size_t i = at; i < std::min(at + kChunk, s.size()); ++i) {
        looker.moveTo(s.beginNs(i), s.endNs(i));
        looker.count(s.endNs(i) - s.beginNs(i));
      }
    }
  }
  finish(kinds);
  return kinds;
}

}  // namespace warpmeter::analyzer
