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
  bool more = false;      // the buffer holds further samples: decode again
  bool overflow = false;  // the hardware buffer was full: nothing behind its last sample was measured
};

class PmDevice {
 public:
  virtual ~PmDevice() = default;
  virtual PmStatus open() = 0;  // takes the GPU's counters; may be called again after close()
  virtual void close() = 0;     // gives them back; stops first if necessary
  // Sampling is stopped. The set must outlive the device.
  virtual PmStatus configure(const MetricSet& set, std::int64_t intervalNs) = 0;
  virtual PmStatus start() = 0;
  virtual PmStatus stop() = 0;
  // Appends what one decoding step yields to `block`. Also while sampling.
  virtual DecodeResult decode(SampleBlock& block) = 0;
};

}  // namespace warpmeter::sampler
