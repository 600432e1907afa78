// SPDX-License-Identifier: Apache-2.0
// Counter data of a profile: sampled series (WM_SAMPLE_SET, WM_SAMPLE), values of single launches (WM_RANGED), stall
// reasons (WM_PC) and ceilings (WM_CEILING). Times: ns since session start.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "warpmeter/profile/ids.h"

namespace warpmeter {

// WM_SAMPLE_SET: one row per metric of a set. Metrics are CUPTI's names ("sm__warps_active.sum").
struct SampleSetInfo {
  std::int64_t gpuId = 0, setId = 0;  // gpuId = TARGET_INFO_GPU.id; setId is unique in the file
  std::string chip;                   // "GH100"
  std::vector<std::string> metrics;   // in the order of the batch's columns
};

// WM_SAMPLE: one row per decode batch. Sample i lasts from endNs[i - 1] (startNs for the first) to endNs[i]: a batch
// has no holes. values[m][i] = what metric m counted during sample i, over the whole GPU.
struct SampleBatch {
  std::int64_t setId = 0, startNs = 0, intervalNs = 0;  // intervalNs: as asked of the GPU
  std::vector<std::int64_t> endNs;
  std::vector<std::vector<std::int64_t>> values;
  std::size_t samples() const { return endNs.size(); }
};

// Where a batch is in the file, before it is unpacked.
struct SamplePlace {
  std::int64_t startNs = 0, rowid = 0, setId = 0;
  std::size_t samples = 0;  // at most, for making room; 0 for a damaged row, which readSamples() tells of
};

// A batch with its columns packed as they are stored, see sample_pack.h.
struct PackedSamples {
  std::int64_t setId = 0, startNs = 0, endNs = 0, intervalNs = 0, samples = 0, metrics = 0;
  std::vector<std::byte> data;
};

// WM_RANGED: one value of one launch, measured in a range around it alone.
struct RangedValue {
  std::int64_t globalPid = kNull, correlationId = kNull;  // of the kernel row
  std::int64_t configuration = 0;                         // which one-pass set of metrics
  std::string metric;                                     // CUPTI's name
  double value = 0;
};

// WM_PC: samples of one instruction for one stall reason. Rows of one instruction and reason add up.
struct PcSamples {
  std::int64_t globalPid = kNull;
  std::string function;      // mangled
  std::int64_t pcOffset = 0; // bytes from the function's start
  std::string stallReason;   // CUPTI's name ("smsp__pcsamp_warps_issue_stalled_long_scoreboard")
  std::int64_t samples = 0;
  std::string file;          // empty without -lineinfo
  std::int64_t line = kNull;
};

// WM_PC_RUN: what PC sampling did on one GPU of one process. The multiprocessors note the instruction of a warp
// every periodCycles cycles: a sample. samples = those in WM_PC's rows + otherKernels + dropped, as far as none was lost on the way.
struct PcRun {
  std::int64_t globalPid = kNull, deviceId = 0;  // deviceId: CUDA's ordinal in that process
  std::string chip;                              // "GH100"
  std::int64_t periodCycles = kNull;             // kNull: CUPTI did not say
  std::int64_t samples = 0;                      // all that CUPTI counted
  std::int64_t otherKernels = 0;                 // in kernels that are not the application's: without instructions
  std::int64_t dropped = 0;                      // by the hardware
};

// WM_CEILING: what this GPU can reach. kind: dram fp32 fp64 int tensor l2 (analyzer's Bound ids; tensor.tf32,
// tensor.bf16 ... by type); value in bytes/s or operations/s; source: calibrated, shipped, theoretical.
struct CeilingInfo {
  std::int64_t gpuId = 0;
  std::string kind;
  double value = 0;
  std::string source;
};

// TARGET_INFO_GPU_METRICS: a metric of GPU_METRICS.
struct GpuMetricInfo {
  std::int64_t typeId = 0, sourceId = 0, metricId = 0;
  std::string typeName, metricName;   // "General Metrics for NVIDIA H200", "SMs Active [Throughput %]"
};

}  // namespace warpmeter
