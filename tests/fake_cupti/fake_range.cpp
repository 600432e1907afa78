// SPDX-License-Identifier: Apache-2.0
#include "fake_range.h"

#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "fake_buffers.h"
#include "fake_records.h"

using namespace warpmeter::fake;

namespace {

constexpr std::uint32_t kImageMagic = 0x474d4946;  // "FIMG"
constexpr std::size_t kMostInOnePass = 8;

struct ImageHead {
  std::uint32_t magic, ranges;
};

struct Ranges {
  std::mutex mutex;
  CUcontext context = nullptr;  // enabled there; one at a time
  bool started = false, open = false, configured = false;
  std::uint8_t* image = nullptr;
  std::size_t imageBytes = 0, most = 0;
  std::vector<double> values;  // of finished ranges
  std::uint32_t launches = 0;  // in the open one
  double grid = 0;
  std::atomic<std::uint64_t> calls{0}, pushes{0}, duringCapture{0};
  std::atomic<int> captures{0};
  std::atomic<bool> captureBroken{false};
};
Ranges& ranges() {
  static auto* r = new Ranges;
  return *r;
}

[[maybe_unused]] void waitForIdleGpu(std::int64_t longer) {
  if (std::getenv("FAKE_CUPTI_HASTY_RANGES") != nullptr) return;
  while (nowNs() < busyUntilNs() + longer) usleep(20);
}

// Counts the call; false: it comes during a capture.
[[maybe_unused]] bool countCall() {
  Ranges& r = ranges();
  ++r.calls;
  if (r.captures == 0) return true;
  ++r.duringCapture;
  r.captureBroken = true;
  return false;
}

}  // namespace

namespace warpmeter::fake {

bool launchInRange(const Call& call) {
  Ranges& r = ranges();
  const std::lock_guard lock(r.mutex);
  if (!r.open) return false;
  ++r.launches;
  r.grid = call.grid[0];
  return true;
}

void addRangeState(State& state) {
  Ranges& r = ranges();
  const std::lock_guard lock(r.mutex);
  state.rangeCalls = r.calls;
  state.pushedRanges = r.pushes;
  state.openRanges = r.open ? 1 : 0;
  state.openSessions = r.context != nullptr ? 1 : 0;
  state.callsDuringCapture = r.duringCapture;
}

}  // namespace warpmeter::fake

extern "C" {

bool warpmeterFakeCuptiCapture(int change) {
  Ranges& r = ranges();
  r.captures += change;
  return change < 0 && r.captureBroken.exchange(false);
}

#ifndef WARPMETER_FAKE_OLD

#define FAKE_CALL(name)                         \
  if (!countCall()) return CUPTI_ERROR_UNKNOWN; \
  FAIL_IF_SCRIPTED(name)

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext, uint32_t* device) {
  FAIL_IF_SCRIPTED("cuptiGetDeviceId");
  *device = 0;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params*) {
  FAKE_CALL("cuptiProfilerInitialize");
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* p) {
  FAIL_IF_SCRIPTED("cuptiDeviceGetChipName");
  const char* chip = std::getenv("FAKE_CUPTI_CHIP");
  p->pChipName = chip != nullptr ? chip : "GH100";
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* p) {
  FAKE_CALL("cuptiRangeProfilerEnable");
  Ranges& r = ranges();
  const std::lock_guard lock(r.mutex);
  if (r.context != nullptr || p->ctx == nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  r.context = p->ctx;
  p->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(&r);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params*) {
  FAKE_CALL("cuptiRangeProfilerDisable");
  Ranges& r = ranges();
  const std::lock_guard lock(r.mutex);
  if (r.context == nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  r.context = nullptr;
  r.started = r.open = r.configured = false;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* p) {
  FAKE_CALL("cuptiRangeProfilerGetCounterDataSize");
  const char* bytes = std::getenv("FAKE_CUPTI_RANGE_BYTES");
  const auto each = bytes != nullptr ? static_cast<std::size_t>(std::atol(bytes)) : 1000;
  if (p->numMetrics == 0 || p->maxNumRangeTreeNodes < p->maxNumOfRanges) return CUPTI_ERROR_INVALID_PARAMETER;
  p->counterDataSize = sizeof(ImageHead) + p->maxNumOfRanges * each;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI
cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params* p) {
  FAKE_CALL("cuptiRangeProfilerCounterDataImageInitialize");
  std::memset(p->pCounterData, 0xee, p->counterDataSize);  // every byte of it is used
  const ImageHead head{kImageMagic, 0};
  std::memcpy(p->pCounterData, &head, sizeof head);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* p) {
  FAKE_CALL("cuptiRangeProfilerSetConfig");
  Ranges& r = ranges();
  const std::lock_guard lock(r.mutex);
  if (r.context == nullptr || p->range != CUPTI_UserRange || p->replayMode != CUPTI_UserReplay ||
      p->configSize < 3 || std::memcmp(p->pConfig, "CFG", 3) != 0) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  }
  r.image = p->pCounterDataImage;
  r.imageBytes = p->counterDataImageSize;
  r.most = p->maxRangesPerPass;
  r.values.clear();
  r.configured = true;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
  FAKE_CALL("cuptiRangeProfilerStart");
  Ranges& r = ranges();
  const std::lock_guard lock(r.mutex);
  if (!r.configured || r.started) return CUPTI_ERROR_INVALID_OPERATION;
  r.started = true;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* p) {
  FAKE_CALL("cuptiRangeProfilerPushRange");
  waitForIdleGpu(0);
  Ranges& r = ranges();
  const std::lock_guard lock(r.mutex);
  if (!r.started || r.open || p->pRangeName == nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  FAIL_IF_SCRIPTED("cuptiRangeProfilerPushRange", static_cast<long>(r.pushes));
  ++r.pushes;
  r.open = true;
  r.launches = 0;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params*) {
  FAKE_CALL("cuptiRangeProfilerPopRange");
  waitForIdleGpu(30000);
  Ranges& r = ranges();
  const std::lock_guard lock(r.mutex);
  if (!r.open) return CUPTI_ERROR_INVALID_OPERATION;
  r.open = false;
  r.values.push_back(r.launches == 1 ? r.grid * 1000 : -1.0 - r.launches);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* p) {
  FAKE_CALL("cuptiRangeProfilerStop");
  Ranges& r = ranges();
  const std::lock_guard lock(r.mutex);
  if (!r.started || r.open) return CUPTI_ERROR_INVALID_OPERATION;
  r.started = false;
  p->isAllPassSubmitted = 1;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* p) {
  FAKE_CALL("cuptiRangeProfilerDecodeData");
  Ranges& r = ranges();
  const std::lock_guard lock(r.mutex);
  if (r.started || r.image == nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  const std::size_t kept = r.values.size() < r.most ? r.values.size() : r.most;
  p->numOfRangeDropped = r.values.size() - kept;
  const ImageHead head{kImageMagic, static_cast<std::uint32_t>(kept)};
  std::memcpy(r.image, &head, sizeof head);
  std::memcpy(r.image + sizeof head, r.values.data(), kept * sizeof(double));
  return CUPTI_SUCCESS;
}

// Host side.
struct CUpti_Profiler_Host_Object {
  std::string names;
  std::size_t metrics = 0;
};

CUptiResult CUPTIAPI cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* p) {
  FAIL_IF_SCRIPTED("cuptiProfilerHostInitialize");
  if (std::strcmp(p->pChipName, "GH100") != 0) return CUPTI_ERROR_INVALID_CHIP_NAME;
  p->pHostObject = new CUpti_Profiler_Host_Object;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* p) {
  delete p->pHostObject;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* p) {
  for (size_t i = 0; i < p->numMetrics; ++i) p->pHostObject->names += std::string(p->ppMetricNames[i]) + "\n";
  p->pHostObject->metrics += p->numMetrics;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* p) {
  p->configImageSize = 4 + p->pHostObject->names.size();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* p) {
  std::memcpy(p->pConfigImage, "CFG", 3);
  p->pConfigImage[3] = static_cast<uint8_t>(p->pHostObject->metrics);
  std::memcpy(p->pConfigImage + 4, p->pHostObject->names.data(), p->pHostObject->names.size());
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* p) {
  p->numOfPasses = p->pConfigImage[3] <= kMostInOnePass ? 1 : 2;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* p) {
  FAIL_IF_SCRIPTED("cuptiProfilerHostEvaluateToGpuValues");
  ImageHead head{};
  if (p->counterDataImageSize < sizeof head) return CUPTI_ERROR_INVALID_PARAMETER;
  std::memcpy(&head, p->pCounterDataImage, sizeof head);
  if (head.magic != kImageMagic || p->rangeIndex >= head.ranges) return CUPTI_ERROR_INVALID_PARAMETER;
  double value = 0;
  std::memcpy(&value, p->pCounterDataImage + sizeof head + p->rangeIndex * sizeof value, sizeof value);
  for (size_t m = 0; m < p->numMetrics; ++m) p->pMetricValues[m] = value + static_cast<double>(m);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerHostGetSupportedChips(CUpti_Profiler_Host_GetSupportedChips_Params* p) {
  static const char* const kChips[] = {"GH100"};
  p->numChips = 1;
  p->ppChipNames = kChips;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params*) {
  return CUPTI_ERROR_NOT_SUPPORTED;
}

// There is nothing to sample here; the program that makes configurations looks for these all the same.
#define NOT_HERE(name) \
  CUptiResult CUPTIAPI name(void*) { return CUPTI_ERROR_NOT_SUPPORTED; }
NOT_HERE(cuptiPmSamplingEnable)
NOT_HERE(cuptiPmSamplingDisable)
NOT_HERE(cuptiPmSamplingSetConfig)
NOT_HERE(cuptiPmSamplingStart)
NOT_HERE(cuptiPmSamplingStop)
NOT_HERE(cuptiPmSamplingDecodeData)
NOT_HERE(cuptiPmSamplingGetCounterDataSize)
NOT_HERE(cuptiPmSamplingCounterDataImageInitialize)
NOT_HERE(cuptiPmSamplingGetCounterDataInfo)
NOT_HERE(cuptiPmSamplingCounterDataGetSampleInfo)

#endif

}  // extern "C"
