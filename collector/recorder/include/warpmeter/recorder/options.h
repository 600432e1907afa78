// SPDX-License-Identifier: Apache-2.0
// Command line of warpmeter-recorder. The program is started by `warpmeter record`, never by people, so there is no
// --help; an argument that is not understood is an error.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "warpmeter/profile/counters.h"
#include "warpmeter/profile/result.h"

namespace warpmeter::recorder {

enum class ApiMode : std::uint8_t { work, all, none };
const char* nameOf(ApiMode mode);

// What part of the run is stored. At most one of the two ways is set.
struct CaptureOptions {
  std::int64_t delayNs = 0;                   // from the start of the session
  std::optional<std::int64_t> durationNs;     // after the delay
  bool profilerApi = false;                   // between cudaProfilerStart and cudaProfilerStop
  std::string nvtxRange;                      // while a range of this name is open on any thread
  bool byRange() const { return profilerApi || !nvtxRange.empty(); }
  bool byTime() const { return delayNs > 0 || durationNs.has_value(); }
};

// What was measured on a GPU before this run (`warpmeter calibrate`), by UUID.
struct KnownCeiling {
  std::string uuid;
  CeilingInfo ceiling;                        // gpuId not set
};

struct Options {
  std::array<unsigned char, 16> run{};
  std::string socketPath, output;
  int controlFd = -1;
  bool force = false;
  bool nvtxRequested = false;
  CaptureOptions capture;
  ApiMode api = ApiMode::work;
  std::int64_t flushMs = 100;
  std::uint64_t maxMemoryBytes = 0;           // of all guests' buffers together; 0 = default
  std::uint64_t maxSizeBytes = 0;             // of output and spill file together; 0 = no limit
  bool sampleCounters = false, exactCounters = false, pcCounters = false;
  std::string exactMetrics = "basic";         // basic, full
  double samplerCores = 0.5;                  // CPU budget of the sampler
  std::string sampler;                        // its program; empty: beside the recorder
  std::vector<KnownCeiling> ceilings;         // of GPUs that the run may use or not
  std::string version = "unknown";
  bool queryGpus = false;                     // the child mode of gpu_query.h
};

// Errors: usage, one line.
Result<Options> parseOptions(int argc, const char* const* argv);

// min(1 GiB, 1/8 of the memory limit of this process' control group or of the machine).
std::uint64_t defaultMaxMemoryBytes();

}  // namespace warpmeter::recorder
