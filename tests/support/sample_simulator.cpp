// SPDX-License-Identifier: Apache-2.0
#include "support/sample_simulator.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace warpmeter::support {
namespace {

constexpr std::int64_t kCellNs = 25;  // time is simulated in cells of this length
constexpr std::uint32_t kCopy = UINT32_MAX;

// Rate at time t of a launch of length d, relative to its middle: a trapezoid with raised ends.
struct Edges {
  double ramp, tail, from, to;
  double at(double t, double d) const {
    double out = 1;
    if (t < ramp) out = std::min(out, from + (1 - from) * t / ramp);
    if (d - t < tail) out = std::min(out, to + (1 - to) * (d - t) / tail);
    return out;
  }
};
// SMs get their first block early and lose their last one late: fewer cycles than warps are missing at the
// edges.
Edges warpEdges(const SimKernel& k) { return {k.rampUs, k.tailUs, k.rampFrom, k.tailTo}; }
Edges cycleEdges(const SimKernel& k) {
  return {k.rampUs / 2, k.tailUs / 2, 0.5 + k.rampFrom / 2, 0.5 + k.tailTo / 2};
}

}  // namespace

const char* nameOf(SimCounter counter) {
  constexpr std::array<const char*, kSimCounters> kNames{"sm__cycles_active.sum", "sm__warps_active.sum",
                                                         "sm__inst_executed.sum", "dram__bytes_read.sum",
                                                         "dram__bytes_write.sum", "sm__cycles_elapsed.sum"};
  return kNames[static_cast<std::size_t>(counter)];
}

std::uint32_t SampleSimulator::add(SimKernel kernel) {
  kernels_.push_back(std::move(kernel));
  return static_cast<std::uint32_t>(kernels_.size() - 1);
}

std::int64_t SampleSimulator::endOf(std::uint32_t stream) const {
  return stream < streamEnd_.size() ? streamEnd_[stream] : 0;
}

void SampleSimulator::launch(std::uint32_t kernel, std::uint32_t stream, double gapUs,
                             std::int64_t notBefore) {
  if (stream >= streamEnd_.size()) streamEnd_.resize(stream + 1, 0);
  const SimKernel& k = kernels_[kernel];
  const std::int64_t start =
      std::max<std::int64_t>(notBefore, streamEnd_[stream] + std::llround(gapUs * 1e3));
  const double us = k.us * std::max(0.3, 1 + k.jitter * normal());
  const std::int64_t end = start + std::max<std::int64_t>(200, std::llround(us * 1e3));
  launches_.push_back({kernel, stream, start, end});
  const auto draw = [&](double vary) { return static_cast<float>(std::max(0.05, 1 + vary * normal())); };
  // Warps and cycles move together for the most part.
  const float both = draw(k.vary);
  draws_.push_back({both, both * draw(k.vary / 2), draw(k.vary), draw(k.vary)});
  streamEnd_[stream] = end;
}

void SampleSimulator::copy(std::uint32_t stream, double gapUs, double us) {
  if (stream >= streamEnd_.size()) streamEnd_.resize(stream + 1, 0);
  const std::int64_t start = streamEnd_[stream] + std::llround(gapUs * 1e3);
  launches_.push_back({kCopy, stream, start, start + std::llround(us * 1e3)});
  draws_.emplace_back();
  streamEnd_[stream] = launches_.back().endNs;
}

SimTruth SampleSimulator::truth(std::uint32_t kernel) const {
  const SimKernel& k = kernels_[kernel];
  double cycles = 0, warps = 0;
  const Edges c = cycleEdges(k), w = warpEdges(k);
  constexpr int kSteps = 4000;
  for (int i = 0; i < kSteps; ++i) {
    const double t = (i + 0.5) * k.us / kSteps;
    cycles += c.at(t, k.us) * k.us / kSteps;
    warps += w.at(t, k.us) * k.us / kSteps;
  }
  const double perUs = kSms * kCyclesPerUs * k.cover;
  return {perUs * cycles, perUs * k.warps * warps, k.instPerUs * warps, k.readPerUs * warps,
          k.writePerUs * warps};
}

std::vector<SimBatch> SampleSimulator::sample(const std::vector<SimSet>& sets, const SimOptions& options) {
  std::vector<std::size_t> order(launches_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return launches_[i].startNs; });
  std::int64_t end = 0;
  for (const SimLaunch& l : launches_) end = std::max(end, l.endNs);

  std::vector<SimBatch> out;
  std::size_t first = 0, set = 0;
  bool foreignOn = false;
  std::int64_t at = std::llround(uniform(0, 2000));
  while (at < end) {
    const SimSet& of = sets[set % sets.size()];
    const std::int64_t length = std::llround(options.burstMs * 1e6),
                       stop = std::min(at + length, end + 50'000);
    const auto cells = static_cast<std::size_t>((stop - at) / kCellNs + 1);
    std::array<std::vector<float>, kSimCounters> count;
    for (auto& c : count) c.assign(cells, 0.0f);
    while (first < order.size() && launches_[order[first]].endNs < at) ++first;
    const double perNs = kSms * kCyclesPerUs * 1e-3;
    for (std::size_t o = first; o < order.size() && launches_[order[o]].startNs < stop; ++o) {
      const SimLaunch& l = launches_[order[o]];
      const Draw& draw = draws_[order[o]];
      const double d = static_cast<double>(l.endNs - l.startNs) * 1e-3;
      const std::int64_t from = std::max(l.startNs, at), to = std::min(l.endNs, stop);
      for (std::int64_t t = from; t < to;) {
        const auto cell = static_cast<std::size_t>((t - at) / kCellNs);
        const std::int64_t next = std::min(to, at + static_cast<std::int64_t>(cell + 1) * kCellNs);
        const double us = static_cast<double>(next - t) * 1e-3;
        const auto add = [&](SimCounter c, double v) {
          count[static_cast<std::size_t>(c)][cell] += static_cast<float>(v);
        };
        if (l.kernel == kCopy) {
          add(SimCounter::write, 25'000 * us);
        } else {
          const SimKernel& k = kernels_[l.kernel];
          const double x = static_cast<double>(t + next) * 0.5e-3 - static_cast<double>(l.startNs) * 1e-3;
          // A launch that takes longer than the mean does the same work slower.
          const double work = k.us / d;
          const double w = warpEdges(k).at(x, d) * us, c = cycleEdges(k).at(x, d) * us;
          add(SimCounter::cycles, perNs * 1e3 * k.cover * c);
          add(SimCounter::warps, perNs * 1e3 * k.cover * k.warps * w * draw.warps / draw.cycles);
          add(SimCounter::inst, k.instPerUs * w * draw.inst * work);
          add(SimCounter::read, k.readPerUs * w * draw.memory * work);
          add(SimCounter::write, k.writePerUs * w * draw.memory * work);
        }
        t = next;
      }
    }
    auto& cycles = count[static_cast<std::size_t>(SimCounter::cycles)];
    auto& elapsed = count[static_cast<std::size_t>(SimCounter::elapsed)];
    for (std::size_t c = 0; c < cells; ++c) {
      elapsed[c] = static_cast<float>(perNs * kCellNs);
      cycles[c] = std::min(cycles[c], elapsed[c]);  // an SM is active once, however many kernels it has
    }
    if (options.foreign > 0) {  // time slices of 2 ms
      for (std::size_t c = 0; c < cells; ++c) {
        if (c % (2'000'000 / kCellNs) == 0) foreignOn = uniform(0, 1) < options.foreign;
        if (!foreignOn) continue;
        cycles[c] = std::min(cycles[c] + elapsed[c] * 0.4f, elapsed[c]);
        count[static_cast<std::size_t>(SimCounter::warps)][c] += elapsed[c] * 8;
        count[static_cast<std::size_t>(SimCounter::inst)][c] += 30.0f * kCellNs;
      }
    }

    SimBatch batch;
    batch.set = set % sets.size();
    batch.startNs = at + options.clockOffsetNs;
    batch.values.resize(of.counters.size());
    std::int64_t begin = 0;  // within the burst
    while (begin + of.intervalNs <= stop - at) {
      // The hardware's period is exact to a few nanoseconds.
      const std::int64_t finish = begin + of.intervalNs;
      for (std::size_t m = 0; m < of.counters.size(); ++m) {
        const auto& c = count[static_cast<std::size_t>(of.counters[m])];
        double sum = 0;
        for (std::int64_t t = begin / kCellNs; t < finish / kCellNs; ++t)
          sum += c[static_cast<std::size_t>(t)];
        if (sum > 0 && of.counters[m] != SimCounter::elapsed) {
          sum *= 1 + options.noise * normal();
          sum += std::sqrt(sum) * normal();
        }
        batch.values[m].push_back(std::max<std::int64_t>(0, std::llround(sum)));
      }
      batch.endNs.push_back(at + options.clockOffsetNs + finish);
      begin = finish;
    }
    if (!batch.endNs.empty()) out.push_back(std::move(batch));
    ++set;
    at = stop + std::llround(options.pauseMs * 1e6 * uniform(0.8, 1.2));
    if (options.pauseMs == 0) at = stop;
  }
  return out;
}

}  // namespace warpmeter::support
