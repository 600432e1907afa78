// SPDX-License-Identifier: Apache-2.0
#include "pc_session.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include "warpmeter/wire/strings.h"

namespace warpmeter::counters {
namespace {

constexpr std::size_t kNameBytes = CUPTI_STALL_REASON_STRING_SIZE;
constexpr std::uint32_t kWorkerSleepMs =
    20;  // CUPTI's own default of 100 would need a larger hardware buffer

// Everything that CUPTI writes into; pages that it never touches cost nothing.
struct Memory {
  CUpti_PCSamplingData data[2];
  CUpti_PCSamplingPCData pcs[2][PcSession::kPcs];
  CUpti_PCSamplingStallReason reasons[2][PcSession::kPcs][PcSession::kMaxReasons];
  char names[PcSession::kMaxReasons][kNameBytes];
  char* namePointers[PcSession::kMaxReasons];
};
Memory* memoryOf(CUpti_PCSamplingData* first) { return reinterpret_cast<Memory*>(first); }

template <class Params>
Params sized(std::size_t bytes, CUcontext context) {
  Params params{};
  params.size = bytes;
  params.ctx = context;
  return params;
}
#define WARPMETER_PC_PARAMS(Type, name) auto name = sized<Type##Params>(Type##ParamsSize, context_)

}  // namespace

bool PcSession::reserve() noexcept {
  if (fetched_ != nullptr) return true;
  void* memory = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  auto* all = static_cast<Memory*>(memory);
  fetched_ = &all->data[0];
  last_ = &all->data[1];
  for (std::uint32_t i = 0; i < kMaxReasons; ++i) all->namePointers[i] = all->names[i];
  return true;
}

void PcSession::prepare(CUpti_PCSamplingData& data) noexcept {
  Memory& all = *memoryOf(fetched_);
  const int which = &data == fetched_ ? 0 : 1;
  data = CUpti_PCSamplingData{};
  data.size = sizeof data;
  data.collectNumPcs = kPcs;
  data.pPcData = all.pcs[which];
  for (std::size_t i = 0; i < kPcs; ++i) {
    CUpti_PCSamplingPCData& pc = all.pcs[which][i];
    pc = CUpti_PCSamplingPCData{};
    pc.size = sizeof pc;
    pc.stallReason = all.reasons[which][i];
  }
}

bool PcSession::open(const PcFunctions& functions, const PcHost& host, CUcontext context,
                     std::uint32_t device, StepFailure& failure) noexcept {
  functions_ = &functions;
  host_ = &host;
  failure = {"mmap", CUPTI_ERROR_OUT_OF_MEMORY};
  if (!reserve()) return false;
  CUpti_Profiler_Initialize_Params initialize{};
  initialize.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
  failure = {"cuptiProfilerInitialize", functions.cuptiProfilerInitialize(&initialize)};
  if (failure.result != CUPTI_SUCCESS) return false;
  CUpti_Device_GetChipName_Params chip{};
  chip.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE;
  chip.deviceIndex = device;
  failure = {"cuptiDeviceGetChipName", functions.cuptiDeviceGetChipName(&chip)};
  if (failure.result != CUPTI_SUCCESS) return false;
  std::snprintf(chip_, sizeof chip_, "%s", chip.pChipName == nullptr ? "?" : chip.pChipName);

  context_ = context;
  WARPMETER_PC_PARAMS(CUpti_PCSamplingEnable, enable);
  failure = {"cuptiPCSamplingEnable", functions.cuptiPCSamplingEnable(&enable)};
  if (failure.result != CUPTI_SUCCESS) {
    context_ = nullptr;
    return false;
  }
  if (nameReasons(failure) && configure(failure)) {
    readPeriod();
    return true;
  }
  const StepFailure why = failure;
  disable();
  failure = why;
  return false;
}

bool PcSession::nameReasons(StepFailure& failure) noexcept {
  Memory& all = *memoryOf(fetched_);
  WARPMETER_PC_PARAMS(CUpti_PCSamplingGetNumStallReasons, count);
  count.numStallReasons = &reasons_;
  failure = {"cuptiPCSamplingGetNumStallReasons", functions_->cuptiPCSamplingGetNumStallReasons(&count)};
  if (failure.result != CUPTI_SUCCESS) return false;
  if (reasons_ > kMaxReasons) {
    failure = {"more stall reasons than 128", CUPTI_ERROR_NOT_SUPPORTED};
    return false;
  }
  WARPMETER_PC_PARAMS(CUpti_PCSamplingGetStallReasons, names);
  names.numStallReasons = reasons_;
  names.stallReasonIndex = reasonIndex_;
  names.stallReasons = all.namePointers;
  failure = {"cuptiPCSamplingGetStallReasons", functions_->cuptiPCSamplingGetStallReasons(&names)};
  if (failure.result != CUPTI_SUCCESS) return false;
  for (std::size_t i = 0; i < reasons_; ++i) {
    const char* name = all.names[i];
    reasonAgain_[i] = wire::countsAgain({name, strnlen(name, kNameBytes)});
    reasonName_[i] =
        static_cast<std::uint32_t>(host_->nameOf(name, strnlen(name, kNameBytes)) & ~wire::kStringBit);
  }
  return true;
}

bool PcSession::configure(StepFailure& failure) noexcept {
  prepare(*fetched_);
  prepare(*last_);
  CUpti_PCSamplingConfigurationInfo info[6] = {};
  std::size_t used = 0;
  const auto add = [&](CUpti_PCSamplingConfigurationAttributeType type) -> auto& {
    info[used].attributeType = type;
    return info[used++].attributeData;
  };
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE).collectionModeData.collectionMode =
      CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
      .samplingDataBufferData.samplingDataBuffer = last_;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN)
      .workerThreadPeriodicSleepSpanData.workerThreadPeriodicSleepSpan = kWorkerSleepMs;
  // On Blackwell fetching was seen to break once one of these two had been set.
  if (std::strncmp(chip_, "GB", 2) != 0) {
    const std::uint32_t mib = host_->bufferMiB != 0 ? host_->bufferMiB : kPcBufferMiB;
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE)
        .hardwareBufferSizeData.hardwareBufferSize = std::size_t{mib} << 20;
    add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD).samplingPeriodData.samplingPeriod =
        host_->period == wire::kPcAutoPeriod ? wire::kPcUsualPeriod : host_->period;
  }
  WARPMETER_PC_PARAMS(CUpti_PCSamplingConfigurationInfo, configuration);
  configuration.numAttributes = used;
  configuration.pPCSamplingConfigurationInfo = info;
  failure = {"cuptiPCSamplingSetConfigurationAttribute",
             functions_->cuptiPCSamplingSetConfigurationAttribute(&configuration)};
  return failure.result == CUPTI_SUCCESS;
}

void PcSession::readPeriod() noexcept {
  CUpti_PCSamplingConfigurationInfo info{};
  info.attributeType = CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD;
  WARPMETER_PC_PARAMS(CUpti_PCSamplingConfigurationInfo, query);
  query.numAttributes = 1;
  query.pPCSamplingConfigurationInfo = &info;
  const bool known = functions_->cuptiPCSamplingGetConfigurationAttribute(&query) == CUPTI_SUCCESS;
  const std::uint32_t period = info.attributeData.samplingPeriodData.samplingPeriod;
  periodLog2_ = known && period >= wire::kPcLeastPeriod && period <= wire::kPcMostPeriod ? period : 0;
}

StepFailure PcSession::fetch() noexcept {
  prepare(*fetched_);
  WARPMETER_PC_PARAMS(CUpti_PCSamplingGetData, get);
  get.pcSamplingData = fetched_;
  return {"cuptiPCSamplingGetData", functions_->cuptiPCSamplingGetData(&get)};
}

StepFailure PcSession::disable() noexcept {
  WARPMETER_PC_PARAMS(CUpti_PCSamplingDisable, disable);
  context_ = nullptr;
  return {"cuptiPCSamplingDisable", functions_->cuptiPCSamplingDisable(&disable)};
}

std::size_t PcSession::placeOf(std::uint32_t index) const noexcept {
  for (std::size_t i = 0; i < reasons_; ++i) {
    if (reasonIndex_[i] == index) return i;
  }
  return kMaxReasons;
}

std::uint32_t PcSession::reasonOf(std::uint32_t index) const noexcept {
  const std::size_t place = placeOf(index);
  return place == kMaxReasons ? 0 : reasonName_[place];
}

bool PcSession::countsAgain(std::uint32_t index) const noexcept {
  const std::size_t place = placeOf(index);
  return place != kMaxReasons && reasonAgain_[place];
}

}  // namespace warpmeter::counters
