// SPDX-License-Identifier: Apache-2.0
#include "probe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "burst_plan.h"
#include "cupti_pm_device.h"
#include "gpu_session.h"

namespace warpmeter::sampler {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kProbeTime{20};
constexpr std::int64_t kProbeIntervalNs = 20'000;
constexpr std::chrono::milliseconds kProbeBurst{5};
constexpr std::size_t kProbeSamples = 1000;

void printLine(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

Json line(const Json& uuid, const Json& chip, const std::optional<Unavailable>& why,
          const std::vector<MetricGroup>& groups) {
  Json names = Json::array();
  for (const MetricGroup& group : groups) {
    for (const MetricSet& set : group.sets) {
      Json columns = Json::array();
      for (const MetricColumn& column : set.columns) columns.push_back(column.name);
      names.push_back(std::move(columns));
    }
  }
  return {{"uuid", uuid},
          {"chip", chip},
          {"available", !why},
          {"reason", why ? Json(std::string(why->reason)) : Json(nullptr)},
          {"text", why ? Json(why->text) : Json(nullptr)},
          {"sets", names}};
}

PmStatus tryBurst(PmDevice& device, const MetricGroup& group, bool verbose) {
  const MetricSet& set = group.sets.front();
  if (const PmStatus s = device.configure(group, kProbeIntervalNs, kLeastBuffer); !s.ok()) return s;
  if (const PmStatus s = device.prepare(set, kProbeSamples); !s.ok()) return s;
  if (const PmStatus s = device.start(); !s.ok()) return s;
  std::this_thread::sleep_for(kProbeBurst);
  if (const PmStatus s = device.stop(); !s.ok()) return s;
  SampleBlock block;
  block.clear(set.columns.size());
  const DecodeResult decoded = device.decode(block);
  if (verbose) fmt::print(stderr, "sampler: probe decoded {} samples\n", block.samples());
  return decoded.status;
}

void probeGpu(const Cupti& cupti, const GpuDevice& gpu, bool verbose) {
  std::string chip;
  std::optional<Unavailable> why = findChip(cupti, gpu, chip);
  std::vector<MetricGroup> groups;
  if (!why) {
    CuptiMetricHost host(cupti, chip);
    groups = buildGroups(host);
    if (groups.empty())
      why = {kUnsupportedChip, "this chip cannot count active warps and instructions in one pass"};
  }
  if (!why) {
    CuptiPmDevice device(cupti, gpu, chip, verbose);
    PmStatus status = device.open();
    if (status.ok()) status = tryBurst(device, groups.front(), verbose);
    device.close();
    if (!status.ok()) why = explainFailure(cupti, status, chip);
  }
  printLine(line(gpu.uuid, chip.empty() ? Json(nullptr) : Json(chip), why, groups));
}

}  // namespace

int probeMain(const Options& options) {
  std::thread([] {
    std::this_thread::sleep_for(kProbeTime);
    printLine(line(nullptr, nullptr,
                   Unavailable{kNotRecorded, "the driver or CUPTI did not answer within 20 s"}, {}));
    _exit(0);
  }).detach();
  const Cupti cupti = loadCupti(options.cupti);
  GpuList list;
  if (cupti.problem.empty()) list = listGpus();
  const std::string& problem = cupti.problem.empty() ? list.problem : cupti.problem;
  PmStatus status;
  if (problem.empty()) status = initializeProfiler(cupti);
  if (!problem.empty()) {
    printLine(line(nullptr, nullptr, explainMissing(problem), {}));
  } else if (!status.ok()) {
    printLine(line(nullptr, nullptr, explainFailure(cupti, status, {}), {}));
  } else {
    if (options.verbose) fmt::print(stderr, "sampler: CUPTI {} from {}\n", cupti.version, cupti.path);
    for (const GpuDevice& gpu : list.gpus) probeGpu(cupti, gpu, options.verbose);
  }
  std::fflush(stdout);
  _exit(0);  // not through the driver's exit handlers
}

int listSetsMain(const Options& options) {
  const Cupti cupti = loadCupti(options.cupti);
  if (!cupti.problem.empty()) {
    fmt::print(stderr, "warpmeter-sampler: {}\n", cupti.problem);
    return 1;
  }
  CuptiMetricHost host(cupti, options.listSets);
  std::vector<MetricGroup> groups;
  if (host.check().ok()) groups = buildGroups(host);
  if (groups.empty()) {
    fmt::print(stderr, "warpmeter-sampler: CUPTI {} cannot sample a chip named '{}'; it knows {}\n",
               cupti.version, options.listSets, fmt::join(supportedChips(cupti), " "));
    return 2;
  }
  int number = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const MetricGroup& group = groups[i];
    fmt::print("group {}, {} counters, from {} us, weight {} among short kernels, {} among longer ones\n", i,
               group.asked().size(), group.minIntervalNs / 1000, group.fineWeight, group.coarseWeight);
    for (const MetricSet& set : group.sets) {
      fmt::print("  set {}, weight {}:", number++, set.weight);
      for (const MetricColumn& column : set.columns) {
        fmt::print(" {}", column.name);
        if (column.factor >= 0) fmt::print(" (from {})", column.asked);
      }
      fmt::print("\n");
    }
  }
  return 0;
}

}  // namespace warpmeter::sampler
