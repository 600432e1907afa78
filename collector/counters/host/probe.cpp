// SPDX-License-Identifier: Apache-2.0
#include "probe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "cupti_pm_device.h"
#include "gpu_session.h"

namespace warpmeter::sampler {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::chrono::seconds kProbeTime{20};
constexpr std::int64_t kProbeIntervalNs = 20'000;
constexpr std::chrono::milliseconds kProbeBurst{5};

void printLine(const Json& json) {
  fmt::print("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

Json line(const Json& uuid, const Json& chip, const std::optional<Unavailable>& why,
          const std::vector<MetricSet>& sets) {
  Json names = Json::array();
  for (const MetricSet& set : sets) {
    Json columns = Json::array();
    for (const MetricColumn& column : set.columns) columns.push_back(column.name);
    names.push_back(std::move(columns));
  }
  return {{"uuid", uuid},
          {"chip", chip},
          {"available", !why},
          {"reason", why ? Json(std::string(why->reason)) : Json(nullptr)},
          {"text", why ? Json(why->text) : Json(nullptr)},
          {"sets", names}};
}

PmStatus tryBurst(PmDevice& device, const MetricSet& set, bool verbose) {
  if (const PmStatus s = device.configure(set, kProbeIntervalNs); !s.ok()) return s;
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
  std::vector<MetricSet> sets;
  if (!why) {
    CuptiMetricHost host(cupti, chip);
    sets = buildSets(host);
    if (sets.empty())
      why = {kUnsupportedChip, "this chip cannot count active warps and instructions in one pass"};
  }
  if (!why) {
    CuptiPmDevice device(cupti, gpu, chip, verbose);
    PmStatus status = device.open();
    if (status.ok()) status = tryBurst(device, sets.front(), verbose);
    device.close();
    if (!status.ok()) why = explainFailure(cupti, status, chip);
  }
  printLine(line(gpu.uuid, chip.empty() ? Json(nullptr) : Json(chip), why, sets));
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
  std::vector<MetricSet> sets;
  if (host.check().ok()) sets = buildSets(host);
  if (sets.empty()) {
    fmt::print(stderr, "warpmeter-sampler: CUPTI {} cannot sample a chip named '{}'; it knows {}\n",
               cupti.version, options.listSets, fmt::join(supportedChips(cupti), " "));
    return 2;
  }
  for (std::size_t i = 0; i < sets.size(); ++i) {
    fmt::print("set {}, from {} us, weight {} among short kernels, {} among longer ones:", i,
               sets[i].minIntervalNs / 1000, sets[i].fineWeight, sets[i].coarseWeight);
    for (const MetricColumn& column : sets[i].columns) {
      fmt::print(" {}", column.name);
      if (column.factor >= 0) fmt::print(" (from {})", column.asked);
    }
    fmt::print("\n");
  }
  return 0;
}

}  // namespace warpmeter::sampler
