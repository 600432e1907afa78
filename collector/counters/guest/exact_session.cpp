// SPDX-License-Identifier: Apache-2.0
#include "exact_session.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "clock.h"

namespace warpmeter::counters {
namespace {

constexpr std::uint32_t kMaxMetrics = 64;

// CUPTI's parameter structures say their own size.
#define WARPMETER_PARAMS(Type, name) \
  Type##_Params name{};              \
  name.structSize = Type##_Params_STRUCT_SIZE

// Ranges of one name would be added up, so each has its own; CUPTI may keep the pointer.
constexpr std::uint32_t kNameBytes = 4;
constinit char gNames[wire::kMaxRanges][kNameBytes] = {};

std::uint32_t namesOf(const wire::Configurations& all, const wire::Configuration& c,
                      const char* (&names)[kMaxMetrics]) {
  const char* at = reinterpret_cast<const char*>(&all) + c.namesOffset;
  std::uint32_t count = 0;
  for (; count < c.metrics && count < kMaxMetrics; ++count, at += std::strlen(at) + 1) names[count] = at;
  return count;
}

}  // namespace

ExactSession::Opened ExactSession::open(const RangeFunctions& functions, const ExactHost& host,
                                        CUcontext context, std::uint32_t configuration,
                                        StepFailure& failure) noexcept {
  functions_ = &functions;
  host_ = &host;
  context_ = context;
  configuration_ = configuration;
  WARPMETER_PARAMS(CUpti_RangeProfiler_Enable, enable);
  enable.ctx = context;
  failure = {"cuptiRangeProfilerEnable", functions.cuptiRangeProfilerEnable(&enable)};
  if (failure.result != CUPTI_SUCCESS) return Opened::failed;
  object_ = enable.pRangeProfilerObject;

  bool noSlot = false;
  if (!prepareImage(failure, noSlot)) {
    disable();
    return noSlot ? Opened::noSlot : Opened::failed;
  }
  const wire::Configurations& all = *wire::configurationsOf(host.area);
  const wire::Configuration& chosen = all.entries[configuration];
  WARPMETER_PARAMS(CUpti_RangeProfiler_SetConfig, set);
  set.pRangeProfilerObject = object_;
  set.configSize = chosen.imageBytes;
  set.pConfig = reinterpret_cast<const std::uint8_t*>(&all) + chosen.imageOffset;
  set.counterDataImageSize = imageBytes_;
  set.pCounterDataImage = image_;
  set.range = CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;  // with one pass there is nothing to replay
  set.maxRangesPerPass = capacity_;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.passIndex = 0;
  set.targetNestingLevel = 1;
  failure = {"cuptiRangeProfilerSetConfig", functions.cuptiRangeProfilerSetConfig(&set)};
  if (failure.result == CUPTI_SUCCESS) {
    WARPMETER_PARAMS(CUpti_RangeProfiler_Start, start);
    start.pRangeProfilerObject = object_;
    failure = {"cuptiRangeProfilerStart", functions.cuptiRangeProfilerStart(&start)};
  }
  if (failure.result == CUPTI_SUCCESS) return Opened::yes;
  disable();
  dropSlot();
  return Opened::failed;
}

// The recorder zeroes what a slot is said to hold, and here that is nothing.
void ExactSession::dropSlot() noexcept {
  std::memset(slot_.start, 0, sizeof *record_ + imageBytes_);
  host_->giveSlot(slot_, 0);
  record_ = nullptr;
}

bool ExactSession::prepareImage(StepFailure& failure, bool& noSlot) noexcept {
  const wire::Configurations& all = *wire::configurationsOf(host_->area);
  const char* names[kMaxMetrics];
  const std::uint32_t metrics = namesOf(all, all.entries[configuration_], names);
  std::uint64_t bytes = 0;
  for (capacity_ = wire::kMaxRanges; capacity_ >= 1; capacity_ /= 2) {
    WARPMETER_PARAMS(CUpti_RangeProfiler_GetCounterDataSize, size);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names;
    size.numMetrics = metrics;
    size.maxNumOfRanges = capacity_;
    size.maxNumRangeTreeNodes = capacity_;
    failure = {"cuptiRangeProfilerGetCounterDataSize",
               functions_->cuptiRangeProfilerGetCounterDataSize(&size)};
    if (failure.result != CUPTI_SUCCESS) return false;
    imageBytes_ = size.counterDataSize;
    bytes = (sizeof(wire::RangedImageRecord) + imageBytes_ + 7) / 8 * 8;
    if (bytes <= kSlotBytes) break;
  }
  if (capacity_ == 0) {
    failure = {"counter data image larger than 4 MiB", CUPTI_ERROR_OUT_OF_MEMORY};
    return false;
  }
  slot_ = host_->takeSlot(bytes);
  if (slot_.start == nullptr) {
    noSlot = true;
    return false;
  }
  record_ = reinterpret_cast<wire::RangedImageRecord*>(slot_.start);
  image_ = reinterpret_cast<std::uint8_t*>(record_ + 1);
  WARPMETER_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize, initialize);
  initialize.pRangeProfilerObject = object_;
  initialize.counterDataSize = imageBytes_;
  initialize.pCounterData = image_;
  failure = {"cuptiRangeProfilerCounterDataImageInitialize",
             functions_->cuptiRangeProfilerCounterDataImageInitialize(&initialize)};
  if (failure.result == CUPTI_SUCCESS) return true;
  dropSlot();
  return false;
}

void ExactSession::disable() noexcept {
  WARPMETER_PARAMS(CUpti_RangeProfiler_Disable, disable);
  disable.pRangeProfilerObject = object_;
  functions_->cuptiRangeProfilerDisable(&disable);
  object_ = nullptr;
}

bool ExactSession::push(StepFailure& failure) noexcept {
  char* name = gNames[record_->launches];
  std::snprintf(name, kNameBytes, "%u", record_->launches);
  WARPMETER_PARAMS(CUpti_RangeProfiler_PushRange, push);
  push.pRangeProfilerObject = object_;
  push.pRangeName = name;
  failure = {"cuptiRangeProfilerPushRange", functions_->cuptiRangeProfilerPushRange(&push)};
  pushedNs_ = realtimeNow();
  return failure.result == CUPTI_SUCCESS;
}

bool ExactSession::pop(std::uint32_t correlationId, std::uint32_t kernel, StepFailure& failure) noexcept {
  WARPMETER_PARAMS(CUpti_RangeProfiler_PopRange, pop);
  pop.pRangeProfilerObject = object_;
  failure = {"cuptiRangeProfilerPopRange", functions_->cuptiRangeProfilerPopRange(&pop)};
  if (failure.result != CUPTI_SUCCESS) return false;
  wire::RangedLaunch& launch = record_->launch[record_->launches++];
  launch.pushedNs = pushedNs_;
  launch.poppedNs = realtimeNow();
  launch.correlationId = correlationId;
  launch.kernel = kernel;
  launch.flags = 0;
  return true;
}

bool ExactSession::close(StepFailure& failure) noexcept {
  WARPMETER_PARAMS(CUpti_RangeProfiler_Stop, stop);
  stop.pRangeProfilerObject = object_;
  failure = {"cuptiRangeProfilerStop", functions_->cuptiRangeProfilerStop(&stop)};
  std::uint64_t dropped = 0;
  if (failure.result == CUPTI_SUCCESS) {
    WARPMETER_PARAMS(CUpti_RangeProfiler_DecodeData, decode);
    decode.pRangeProfilerObject = object_;
    failure = {"cuptiRangeProfilerDecodeData", functions_->cuptiRangeProfilerDecodeData(&decode)};
    dropped = decode.numOfRangeDropped;
  }
  disable();
  if (failure.result != CUPTI_SUCCESS || record_->launches == 0) {
    dropSlot();
    return failure.result == CUPTI_SUCCESS;
  }
  wire::RangedImageRecord& record = *record_;
  record_ = nullptr;
  record.header.kind = static_cast<std::uint32_t>(wire::OwnKind::rangedImage);
  record.header.bytes = static_cast<std::uint32_t>((sizeof record + imageBytes_ + 7) / 8 * 8);
  record.header.t = realtimeNow();
  record.header.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  record.configuration = configuration_;
  record.imageBytes = imageBytes_;
  record.dropped = dropped;
  std::memcpy(record.chip, wire::configurationsOf(host_->area)->chip, sizeof record.chip);
  host_->giveSlot(slot_, record.header.bytes);
  return true;
}
#undef WARPMETER_PARAMS

}  // namespace warpmeter::counters
