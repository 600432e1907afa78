// SPDX-License-Identifier: Apache-2.0
// A libcupti that samples: what cuptiPmSamplingStart began yields one sample per interval of real time,
// metric j of it the value 100 (j + 1). As CUPTI 13.0 does, a session keeps its first configuration, and what
// a full image had no room for comes back without times. FAKE_PM says what goes wrong: "denied" (Enable),
// "hang" (Start), "hang-load", "version N".
#include <cuda.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#define EXPORT extern "C" __attribute__((visibility("default")))

struct CUpti_Profiler_Host_Object {
  int metrics;
};
struct CUpti_PmSampling_Object {
  std::uint64_t intervalNs, nextNs, stoppedNs;
  bool sampling, lost;
};

namespace {

struct Image {
  std::uint64_t capacity, count;
  struct {
    std::uint64_t start, end;
  } samples[1];
};

std::string_view mode() {
  const char* text = std::getenv("FAKE_PM");
  return text == nullptr ? "" : text;
}

std::uint64_t nowNs() {
  timespec t = {};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

[[noreturn]] void hang() {
  while (true) pause();
}

// The owner of the counters; one session per process is enough here.
bool taken = false;

}  // namespace

EXPORT CUptiResult cuptiGetVersion(std::uint32_t* version) {
  if (mode() == "hang-load") hang();
  *version =
      mode().starts_with("version ") ? static_cast<std::uint32_t>(std::atoi(mode().data() + 8)) : 130001;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiGetResultString(CUptiResult result, const char** text) {
  *text =
      result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR";
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params*) { return CUPTI_SUCCESS; }
EXPORT CUptiResult cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* p) {
  p->isSupported = CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  p->pChipName = "GH100";
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params* p) {
  static const char* const chips[] = {"GH100"};
  p->numChips = 1;
  p->ppChipNames = chips;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  if (p->profilerType != CUPTI_PROFILER_TYPE_PM_SAMPLING) return CUPTI_ERROR_INVALID_PARAMETER;
  if (std::strcmp(p->pChipName, "GH100") != 0) return CUPTI_ERROR_INVALID_CHIP_NAME;
  p->pHostObject = new CUpti_Profiler_Host_Object{0};
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* p) {
  delete p->pHostObject;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  p->pHostObject->metrics = static_cast<int>(p->numMetrics);
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  p->configImageSize = 1;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  p->pConfigImage[0] = static_cast<std::uint8_t>(p->pHostObject->metrics);
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  p->numOfPasses = 1;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  const auto* image = reinterpret_cast<const Image*>(p->pCounterDataImage);
  if (p->rangeIndex >= image->count) return CUPTI_ERROR_INVALID_PARAMETER;
  for (std::size_t i = 0; i < p->numMetrics; ++i) p->pMetricValues[i] = 100.0 * static_cast<double>(i + 1);
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params* p) {
  if (mode() == "denied") return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  if (std::exchange(taken, true)) return CUPTI_ERROR_INVALID_OPERATION;
  p->pPmSamplingObject = new CUpti_PmSampling_Object{};
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params* p) {
  if (p->pPmSamplingObject->sampling) return CUPTI_ERROR_INVALID_OPERATION;
  delete p->pPmSamplingObject;
  taken = false;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params* p) {
  if (p->pPmSamplingObject->sampling || p->triggerMode != CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL) {
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  if (p->pPmSamplingObject->intervalNs == 0) p->pPmSamplingObject->intervalNs = p->samplingInterval;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params* p) {
  if (mode() == "hang") hang();
  if (p->pPmSamplingObject->sampling || p->pPmSamplingObject->intervalNs == 0)
    return CUPTI_ERROR_INVALID_OPERATION;
  p->pPmSamplingObject->sampling = true;
  p->pPmSamplingObject->nextNs = nowNs();
  p->pPmSamplingObject->lost = false;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params* p) {
  if (!p->pPmSamplingObject->sampling) return CUPTI_ERROR_INVALID_OPERATION;
  p->pPmSamplingObject->sampling = false;
  p->pPmSamplingObject->stoppedNs = nowNs();
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params* p) {
  p->counterDataSize = sizeof(Image) + p->maxSamples * sizeof(Image::samples);
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult
cuptiPmSamplingCounterDataImageInitialize(CUpti_PmSampling_CounterDataImage_Initialize_Params* p) {
  auto* image = reinterpret_cast<Image*>(p->pCounterData);
  image->capacity = (p->counterDataSize - sizeof(Image)) / sizeof(Image::samples);
  image->count = 0;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params* p) {
  auto* image = reinterpret_cast<Image*>(p->pCounterDataImage);
  if (image->count != 0) return CUPTI_ERROR_INVALID_PARAMETER;  // not initialized again
  CUpti_PmSampling_Object& o = *p->pPmSamplingObject;
  const std::uint64_t until = o.sampling ? nowNs() : o.stoppedNs;
  for (; image->count < image->capacity && o.nextNs + o.intervalNs <= until;
       ++image->count, o.nextNs += o.intervalNs) {
    image->samples[image->count].start = o.lost ? 0 : o.nextNs;
    image->samples[image->count].end = o.lost ? 0 : o.nextNs + o.intervalNs;
  }
  o.lost = image->count == image->capacity;
  p->decodeStopReason = image->count == image->capacity
                            ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
                            : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
  p->overflow = 0;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params* p) {
  p->numCompletedSamples = reinterpret_cast<const Image*>(p->pCounterDataImage)->count;
  return CUPTI_SUCCESS;
}
EXPORT CUptiResult
cuptiPmSamplingCounterDataGetSampleInfo(CUpti_PmSampling_CounterData_GetSampleInfo_Params* p) {
  const auto* image = reinterpret_cast<const Image*>(p->pCounterDataImage);
  p->startTimestamp = image->samples[p->sampleIndex].start;
  p->endTimestamp = image->samples[p->sampleIndex].end;
  return CUPTI_SUCCESS;
}
