// SPDX-License-Identifier: Apache-2.0
// The measuring loop of the programs that time one kernel, and the figures that come out of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/ceilings.h"
#include "common/gpu.h"

namespace warpmeter::kernels {

// The program's own options, then those that measure() reads.
inline std::vector<Option> measuredOptions(std::vector<Option> own, std::int64_t repetitions,
                                           std::int64_t seconds) {
  own.push_back({"repetitions", repetitions, 1, 10'000'000, "measured launches, between two CUDA events"});
  own.push_back(
      {"seconds", seconds, 0, 3600, "repeat that until so much GPU time has passed; 0: do it once"});
  return own;
}

// Calls launch, which does the work once and lists its kernels where it knows them, in rounds. Returns the
// mean time of a call in ns and reports it.
template <class Launch>
double measure(Run& run, const char* kernel, const Launch& launch) {
  Phase phase(run.nvtx, "measure");
  const std::int64_t repetitions = run.arguments["repetitions"];
  const double wantedNs = 1e9 * static_cast<double>(run.arguments["seconds"]);
  EventTimer timer;
  double elapsedNs = 0;
  std::int64_t rounds = 0;
  do {
    const std::int64_t first = run.report.launches.total();
    timer.start();
    for (std::int64_t i = 0; i < repetitions; ++i) {
      launch();
    }
    const double roundNs = timer.stopNs();
    checkLaunch(kernel);
    if (run.report.launches.total() - first == repetitions) {  // not of a library, or of several kernels
      run.report.events({kernel, first, repetitions, roundNs});
    }
    elapsedNs += roundNs;
    ++rounds;
  } while (elapsedNs < wantedNs);
  const double launchNs = elapsedNs / static_cast<double>(repetitions * rounds);
  run.report.value("launchNs", "one launch", launchNs, Unit::nanoseconds);
  return launchNs;
}

inline Ceilings deviceCeilings(const Run& run) {
  return ceilingsOf({deviceAttribute(run, cudaDevAttrComputeCapabilityMajor),
                     deviceAttribute(run, cudaDevAttrComputeCapabilityMinor),
                     deviceAttribute(run, cudaDevAttrMultiProcessorCount),
                     1e3 * deviceAttribute(run, cudaDevAttrClockRate),
                     1e3 * deviceAttribute(run, cudaDevAttrMemoryClockRate),
                     deviceAttribute(run, cudaDevAttrGlobalMemoryBusWidth)});
}

// A rate with its share of a ceiling, where that is known.
inline void reportRate(Run& run, const char* key, const char* label, double perSec, Unit unit,
                       double ceiling) {
  run.report.value(key, label, perSec, unit);
  if (ceiling > 0) {
    run.report.value(unit == Unit::bytesPerSec ? "ceilingBytesPerSec" : "ceilingFlopPerSec",
                     "ceiling, clock x width", ceiling, unit);
    run.report.value("sharePct", "share of it", 100 * perSec / ceiling, Unit::percent);
  }
}

// bytes: what one launch reads and writes.
inline void reportTraffic(Run& run, double bytes, double launchNs) {
  reportRate(run, "bandwidthBytesPerSec", "memory traffic", 1e9 * bytes / launchNs, Unit::bytesPerSec,
             deviceCeilings(run).dramBytesPerSec);
}

}  // namespace warpmeter::kernels
