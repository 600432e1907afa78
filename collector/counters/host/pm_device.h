// SPDX-License-Identifier: Apache-2.0
// The border to CUPTI's PM sampling of one GPU: what the sampler asks of it, and what comes back. The real
// one is CuptiPmDevice, tests have a simulated one. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "metric_sets.h"

namespace warpmeter::sampler {

// CUptiResult of the call that failed; 0 = fine. (Not Result<T>: what to do next depends on the number.)
struct PmStatus {
  int code = 0;
  const char* call = "";
  bool ok() const { return code == 0; }
};

// Decoded samples, appended row by row. Times: ns of CLOCK_REALTIME. values: samples x columns of the set;
// NaN where CUPTI had no value.
struct SampleBlock {
  std::size_t columns = 0;
  std::vector<std::int64_t> startNs, endNs;
  std::vector<double> values;
  std::size_t samples() const { return endNs.size(); }
  void clear(std::size_t newColumns) {
    columns = newColumns;
    startNs.clear();
    endNs.clear();
    values.clear();
  }
};

struct DecodeResult {
  PmStatus status;
  bool full = false;      // more samples than were asked for in prepare(): the rest is lost
  bool overflow = false;  // the hardware buffer was full: nothing behind its last sample was measured
};

// Order of calls: open, configure, then for each burst prepare, start, stop, decode; close.
class PmDevice {
 public:
  virtual ~PmDevice() = default;
  virtual PmStatus open() = 0;  // takes the GPU's counters; may be called again after close()
  virtual void close() = 0;     // gives them back; stops first if necessary
  // Once after each open(): CUPTI 13.0 says yes to a second configuration and goes on with the first (H200).
  // The group and its sets must outlive the device.
  virtual PmStatus configure(const MetricGroup& group, std::int64_t intervalNs, std::size_t bufferBytes) = 0;
  // What the next decode() reads, a set of the configured group, and how many samples it has room for.
  virtual PmStatus prepare(const MetricSet& set, std::size_t samples) = 0;
  virtual PmStatus start() = 0;
  virtual PmStatus stop() = 0;
  // Appends what the burst yielded to `block`. Once after each stop(): what a full image had no room for
  // comes back without times and values.
  virtual DecodeResult decode(SampleBlock& block) = 0;
};

}  // namespace warpmeter::sampler
