// SPDX-License-Identifier: Apache-2.0
#include "support/attribution_cases.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "support/view_of.h"
#include "warpmeter/profile/sample_pack.h"
#include "warpmeter/profile/writer.h"

namespace warpmeter::support {
namespace {

using analyzer::KernelCounters;
using analyzer::Metric;

constexpr double kDramBytesPerUs = 4e6;

SimKernel randomKernel(SampleSimulator& s, double leastUs, double mostUs) {
  SimKernel k;
  k.us = std::exp(s.uniform(std::log(leastUs), std::log(mostUs)));
  k.jitter = s.uniform(0.01, 0.06);
  k.vary = s.uniform(0.01, 0.06);
  k.warps = s.uniform(4, 60);
  k.cover = s.uniform(0, 1) < 0.7 ? 1 : s.uniform(0.3, 1);
  k.instPerUs = s.uniform(2e4, 4e5);
  k.readPerUs = s.uniform(0, 1) < 0.3 ? s.uniform(0, 2e5) : s.uniform(2e5, 3e6);
  k.writePerUs = s.uniform(0, 1.5e6);
  k.rampUs = std::min(s.uniform(0.3, 1.5), k.us / 3);
  k.tailUs = std::min(s.uniform(0.3, 2.5), k.us / 2.5);
  k.rampFrom = s.uniform(0, 0.5);
  k.tailTo = s.uniform(0, 0.5);
  return k;
}

struct Shape {
  double leastUs, mostUs, leastGapUs, mostGapUs;
  std::int64_t intervalNs;
};
Shape shapeOf(Schedule schedule) {
  switch (schedule) {
    case Schedule::mlp:
      return {5, 100, 0.8, 1.6, 2000};
    case Schedule::mlpFine:
      return {5, 100, 0.8, 1.6, 1000};
    case Schedule::graph:
      return {3, 15, 0.3, 0.9, 1000};
    case Schedule::isolated:
      return {5, 100, 12, 30, 2000};
    case Schedule::streams:
      return {5, 60, 0.8, 10, 2000};
    case Schedule::coarse:
      return {20, 100, 0.8, 1.6, 20'000};
  }
  return {};
}

std::vector<SimSet> setsOf(Schedule schedule) {
  const std::int64_t ns = shapeOf(schedule).intervalNs;
  using enum SimCounter;
  if (schedule == Schedule::coarse) return {{{cycles, warps, inst, read, write}, ns}};
  return {{{cycles, warps, inst}, ns}, {{read, write}, ns}};
}

Outcome compare(Schedule schedule, Quantity quantity, const SimKernel& kernel, double truth,
                const Metric& metric) {
  Outcome out;
  out.schedule = schedule;
  out.quantity = quantity;
  out.kernelUs = kernel.us;
  out.truth = truth;
  out.metric = metric;
  out.measured = metric.value.has_value();
  if (!out.measured) return out;
  double scale = 1;  // points
  if (quantity == Quantity::instructions) scale = 100 / truth;
  if (quantity == Quantity::dramRead) scale = 100 / std::max(truth, kDramBytesPerUs * kernel.us / 3);
  out.error = (*metric.value - truth) * scale;
  out.width = (*metric.high - *metric.low) * scale;
  return out;
}

}  // namespace

std::string_view nameOf(Schedule schedule) {
  constexpr std::array<std::string_view, kSchedules> kNames{"back to back, 2 us", "back to back, 1 us",
                                                            "graph, 1 us",        "isolated, 2 us",
                                                            "two streams, 2 us",  "back to back, 20 us"};
  return kNames[static_cast<std::size_t>(schedule)];
}

std::string_view nameOf(Quantity quantity) {
  constexpr std::array<std::string_view, 3> kNames{"occupancy", "instructions", "DRAM read"};
  return kNames[static_cast<std::size_t>(quantity)];
}

bool Outcome::covered(double stretch) const {
  if (!measured) return false;
  // The lower end may have been cut at 0: the upper one says how wide the interval is.
  const double half = (*metric.high - *metric.value) * stretch;
  return std::abs(*metric.value - truth) <= half;
}

SampleSimulator simulate(Schedule schedule, std::uint64_t seed, double seconds) {
  SampleSimulator sim(seed);
  const Shape shape = shapeOf(schedule);
  const auto count = static_cast<std::uint32_t>(sim.pick(5, 10));
  for (std::uint32_t i = 0; i < count; ++i) sim.add(randomKernel(sim, shape.leastUs, shape.mostUs));
  const auto gap = [&] { return sim.uniform(shape.leastGapUs, shape.mostGapUs); };
  const auto endNs = static_cast<std::int64_t>(seconds * 1e9);
  while (sim.endOf(0) < endNs) {
    if (schedule == Schedule::streams) {
      const std::uint32_t half = count / 2;
      for (std::uint32_t i = 0; i < half; ++i) sim.launch(i, 0, gap());
      while (sim.endOf(1) < sim.endOf(0)) {
        for (std::uint32_t i = half; i < count; ++i) sim.launch(i, 1, gap() * 3);
      }
      if (sim.uniform(0, 1) < 0.2) sim.copy(2, sim.uniform(50, 500), sim.uniform(5, 80));
      continue;
    }
    for (std::uint32_t i = 0; i < count; ++i) sim.launch(i, 0, gap());
    if (sim.uniform(0, 1) < 0.5) sim.launch(0, 0, sim.uniform(5, 40));
  }
  return sim;
}

void writeSimulated(const std::filesystem::path& path, const SampleSimulator& simulator,
                    const std::vector<SimSet>& sets, const std::vector<SimBatch>& batches) {
  SessionInfo session;
  session.counters = "sampled";
  ProfileWriter writer = must(ProfileWriter::create(path, session));
  GpuInfo gpu;
  gpu.id = 0, gpu.cuDevice = 0, gpu.name = "NVIDIA H200", gpu.chipName = "GH100";
  gpu.computeMajor = 9, gpu.computeMinor = 0, gpu.smCount = 132, gpu.maxWarpsPerSm = 64;
  must(writer.put(gpu));
  std::vector<KernelRow> kernels;
  std::vector<MemcpyRow> copies;
  std::int64_t id = 0;
  for (const SimLaunch& l : simulator.launches()) {
    ++id;
    if (l.kernel >= simulator.kernels().size()) {
      MemcpyRow c;
      c.start = l.startNs, c.end = l.endNs, c.deviceId = 0, c.contextId = 1, c.streamId = 7 + l.stream;
      c.correlationId = id, c.globalPid = makeGlobalPid(100).value;
      c.bytes = 1 << 20, c.copyKind = 1, c.srcKind = 1, c.dstKind = 2;
      copies.push_back(c);
      continue;
    }
    KernelRow k;
    k.start = l.startNs, k.end = l.endNs;
    k.deviceId = 0, k.contextId = 1, k.streamId = 7 + l.stream, k.correlationId = id;
    k.globalPid = makeGlobalPid(100).value;
    k.demangledName = k.shortName = k.mangledName = writer.intern("kernel" + std::to_string(l.kernel)).value;
    k.registersPerThread = 32, k.gridX = 1000, k.blockX = 256;
    k.gridY = k.gridZ = k.blockY = k.blockZ = 1;
    k.staticSharedMemory = k.dynamicSharedMemory = k.localMemoryPerThread = k.localMemoryTotal = k.gridId = 0;
    kernels.push_back(k);
  }
  must(writer.append(std::span<const KernelRow>(kernels)));
  must(writer.append(std::span<const MemcpyRow>(copies)));
  for (std::size_t s = 0; s < sets.size(); ++s) {
    SampleSetInfo info{0, static_cast<std::int64_t>(s), "GH100", {}};
    for (const SimCounter c : sets[s].counters) info.metrics.emplace_back(nameOf(c));
    must(writer.put(info));
  }
  std::vector<PackedSamples> packed;
  for (const SimBatch& b : batches) {
    PackedSamples p;
    p.setId = static_cast<std::int64_t>(b.set);
    p.startNs = b.startNs, p.endNs = b.endNs.back();
    p.intervalNs = sets[b.set].intervalNs;
    p.samples = static_cast<std::int64_t>(b.endNs.size());
    p.metrics = static_cast<std::int64_t>(b.values.size());
    p.data = packSamples(b.startNs, b.endNs, b.values);
    packed.push_back(std::move(p));
  }
  must(writer.append(std::span<const PackedSamples>(packed)));
  must(writer.finish(session));
}

std::vector<Outcome> evaluate(Schedule schedule, std::uint64_t seed, double seconds) {
  SampleSimulator sim = simulate(schedule, seed, seconds);
  const std::vector<SimSet> sets = setsOf(schedule);
  SimOptions options;
  if (schedule == Schedule::coarse) options.burstMs = 100, options.pauseMs = 0;
  const auto batches = sim.sample(sets, options);
  const TempDir dir;
  const auto path = dir.path() / "simulated.wm.sqlite";
  writeSimulated(path, sim, sets, batches);
  const auto view =
      viewOfFile(path, analyzer::Tables::kernels | analyzer::Tables::copies | analyzer::Tables::counters);
  const auto summary = must(analyzer::summarizeCounters(view));
  std::vector<std::int64_t> launches(sim.kernels().size());
  for (const SimLaunch& l : sim.launches()) {
    if (l.kernel < launches.size()) ++launches[l.kernel];
  }
  std::vector<Outcome> out;
  for (std::uint32_t k = 0; k < sim.kernels().size(); ++k) {
    const auto function = view.findName("kernel" + std::to_string(k));
    const auto distinct = std::ranges::find_if(
        view.distinctKernels(),
        [&](const analyzer::DistinctKernel& d) { return view.functions()[d.function].key == function; });
    if (distinct == view.distinctKernels().end()) continue;
    const KernelCounters& c =
        summary.kernels[static_cast<std::size_t>(distinct - view.distinctKernels().begin())];
    const SimTruth truth = sim.truth(k);
    const SimKernel& kernel = sim.kernels()[k];
    out.push_back(compare(schedule, Quantity::occupancy, kernel, truth.occupancyPct(), c.occupancyPct));
    out.push_back(compare(schedule, Quantity::instructions, kernel, truth.inst, c.instructions));
    out.push_back(compare(schedule, Quantity::dramRead, kernel, truth.read, c.dramReadBytes));
    for (std::size_t i = out.size() - 3; i < out.size(); ++i) out[i].launches = launches[k];
  }
  return out;
}

Coverage coverageOf(std::span<const Outcome> outcomes) {
  Coverage out;
  for (const Outcome& o : outcomes) {
    ++out.values;
    if (!o.measured) continue;
    ++out.measured;
    out.covered += o.covered();
    out.byHalf += o.covered(0.5);
    out.byDouble += o.covered(2);
    out.meanError += std::abs(o.error);
    out.worstError = std::max(out.worstError, std::abs(o.error));
    out.meanWidth += o.width;
  }
  if (out.measured > 0) {
    out.meanError /= static_cast<double>(out.measured);
    out.meanWidth /= static_cast<double>(out.measured);
  }
  return out;
}

}  // namespace warpmeter::support
