// SPDX-License-Identifier: Apache-2.0
// The functions of libcupti and libcuda that sampling needs, opened at run time, never linked. Typed by the
// toolkit's headers, so that a changed declaration fails to compile.
#pragma once

#include <cuda.h>
#include <cupti_result.h>
#include <cupti_pcsampling.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <cstdint>
#include <string>
#include <vector>

namespace warpmeter::sampler {

#define WARPMETER_SAMPLER_CUPTI(X)             \
  X(cuptiGetVersion)                           \
  X(cuptiProfilerInitialize)                   \
  X(cuptiProfilerDeviceSupported)              \
  X(cuptiDeviceGetChipName)                    \
  X(cuptiProfilerHostInitialize)               \
  X(cuptiProfilerHostDeinitialize)             \
  X(cuptiProfilerHostConfigAddMetrics)         \
  X(cuptiProfilerHostGetConfigImageSize)       \
  X(cuptiProfilerHostGetConfigImage)           \
  X(cuptiProfilerHostGetNumOfPasses)           \
  X(cuptiProfilerHostEvaluateToGpuValues)      \
  X(cuptiProfilerHostGetSupportedChips)        \
  X(cuptiPmSamplingEnable)                     \
  X(cuptiPmSamplingDisable)                    \
  X(cuptiPmSamplingSetConfig)                  \
  X(cuptiPmSamplingStart)                      \
  X(cuptiPmSamplingStop)                       \
  X(cuptiPmSamplingDecodeData)                 \
  X(cuptiPmSamplingGetCounterDataSize)         \
  X(cuptiPmSamplingCounterDataImageInitialize) \
  X(cuptiPmSamplingGetCounterDataInfo)         \
  X(cuptiPmSamplingCounterDataGetSampleInfo)

struct Cupti {
#define WARPMETER_DECLARE(name) decltype(&::name) name = nullptr;
  WARPMETER_SAMPLER_CUPTI(WARPMETER_DECLARE)
#undef WARPMETER_DECLARE
  decltype(&::cuptiGetResultString) cuptiGetResultString = nullptr;  // these two may be absent
  decltype(&::cuptiGetSassToSourceCorrelation) cuptiGetSassToSourceCorrelation = nullptr;
  std::uint32_t version = 0;
  std::string path;
  std::string problem;  // one line: why it cannot be used; empty = usable
};

inline constexpr std::uint32_t kOldestSamplingCupti = 24;  // CUDA 12.6 brought PM sampling
inline constexpr std::uint32_t kRefusedCupti = 130000;     // CUDA 13.0 without Update 1

// explicitPath empty: the places of wire/cupti_paths.h.
Cupti loadCupti(const std::string& explicitPath);

// "35 CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
std::string resultText(const Cupti& cupti, int code);

struct GpuDevice {
  int ordinal = 0;
  std::string uuid;  // 32 hexadecimal digits with dashes
  std::string name;
  int clockKhz = 0;  // highest SM clock
};

struct GpuList {
  std::vector<GpuDevice> gpus;
  std::string problem;  // why there is none; empty = fine
};

// cuInit and the list of GPUs; creates no context.
GpuList listGpus();

}  // namespace warpmeter::sampler
