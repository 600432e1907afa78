// SPDX-License-Identifier: Apache-2.0
#include "fake_pc.h"

#include <cupti.h>
#include <cupti_pcsampling.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fake_buffers.h"
#include "fake_range.h"
#include "fake_records.h"

using namespace warpmeter::fake;

namespace {

constexpr std::uint32_t kReasonIndex[kPcReasons + 1] = {8, 3, 21,
                                                        9};  // no places in an array; the last is the twin

struct Instruction {
  std::uint64_t crc;
  std::string function;
  std::uint64_t offset;
  friend bool operator<(const Instruction& a, const Instruction& b) {
    return std::tie(a.crc, a.function, a.offset) < std::tie(b.crc, b.function, b.offset);
  }
};
struct Launch {
  std::uint64_t crc;
  std::string function;
  std::int64_t endNs;
};

struct Sampling {
  std::mutex mutex;
  CUcontext context = nullptr;
  CUpti_PCSamplingData* last = nullptr;
  std::uint32_t period = kPcDefaultPeriod;
  bool full = false;
  std::vector<Launch> running;  // not delivered yet
  std::map<Instruction, std::map<std::uint32_t, std::uint32_t>> ready;
  std::uint64_t total = 0, foreign = 0, dropped = 0;  // since the last delivery
  std::map<std::string, char*> names;                 // as they are handed out
  std::uint64_t calls = 0, taken = 0, nameless = 0, fetches = 0;
};
Sampling& sampling() {
  static auto* s = new Sampling;
  return *s;
}

long numberOf(const char* variable) {
  const char* text = std::getenv(variable);
  return text == nullptr ? 0 : std::atol(text);
}

std::uint64_t crcOf(const void* image, std::uint64_t bytes) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::uint64_t i = 0; i < bytes; ++i)
    hash = (hash ^ static_cast<const std::uint8_t*>(image)[i]) * 0x100000001b3u;
  return hash;
}

// Launches that the GPU is done with become samples.
[[maybe_unused]] void settle(Sampling& s, bool all) {
  const std::size_t late = !all && std::getenv("FAKE_CUPTI_PC_LATE") != nullptr ? 1 : 0;
  std::vector<Launch> left;
  for (std::size_t n = 0; n < s.running.size(); ++n) {
    const Launch& launch = s.running[n];
    if (n + late >= s.running.size() || (!all && launch.endNs > nowNs())) {
      left.push_back(launch);
      continue;
    }
    for (std::uint32_t i = 0; i < kPcOffsets; ++i) {
      auto& counts = s.ready[{launch.crc, launch.function, (i + 1) * 0x10u}];
      counts[kReasonIndex[i % kPcReasons]] += i + 1;
      if (i % kPcReasons == 0 && i > 0) counts[kReasonIndex[kPcReasons]] += i;
    }
    const auto dropped = static_cast<std::uint64_t>(numberOf("FAKE_CUPTI_PC_DROP"));
    s.total += kPcPerLaunch + 1 + dropped;
    s.foreign += 1;
    s.dropped += dropped;
  }
  s.running = std::move(left);
}

[[maybe_unused]] void deliver(Sampling& s, CUpti_PCSamplingData& data) {
  data.totalSamples = std::exchange(s.total, 0);
  data.nonUsrKernelsTotalSamples = std::exchange(s.foreign, 0);
  data.droppedSamples = std::exchange(s.dropped, 0);
  std::size_t n = 0;
  for (; n < data.collectNumPcs && !s.ready.empty(); ++n) {
    const auto first = s.ready.begin();
    CUpti_PCSamplingPCData& pc = data.pPcData[n];
    pc.cubinCrc = first->first.crc;
    pc.pcOffset = first->first.offset;
    char*& name = s.names[first->first.function];
    if (name == nullptr) name = strdup(first->first.function.c_str());
    pc.functionName = name;
    pc.correlationId = 0;
    std::size_t r = 0;
    for (const auto& [reason, samples] : first->second) pc.stallReason[r++] = {reason, samples};
    pc.stallReasonCount = r;
    s.ready.erase(first);
  }
  data.totalNumPcs = n;
  data.remainingNumPcs = s.ready.size();
}

}  // namespace

namespace warpmeter::fake {

void sampleLaunch(const Call& call) {
  Sampling& s = sampling();
  const std::lock_guard lock(s.mutex);
  if (s.context == nullptr || s.full) return;
  std::uint32_t enabled = 0;
  std::memcpy(&enabled, s.context, sizeof enabled);  // a fake CUcontext points to its id
  if (call.contextId != enabled) return;
  s.running.push_back({crcOf(call.image, call.imageBytes), call.name, call.endNs});
  s.taken += kPcPerLaunch;
}

void samplesLoseTheirCode(const void* image, std::uint64_t bytes) {
  Sampling& s = sampling();
  const std::lock_guard lock(s.mutex);
  const std::uint64_t crc = crcOf(image, bytes);
  std::erase_if(s.running, [&](const Launch& launch) {
    if (launch.crc == crc) s.nameless += kPcPerLaunch;
    return launch.crc == crc;
  });
  std::erase_if(s.ready, [&](const auto& entry) {
    if (entry.first.crc != crc) return false;
    for (const auto& [reason, samples] : entry.second) s.nameless += samples;
    return true;
  });
}

void addPcState(State& state) {
  Sampling& s = sampling();
  const std::lock_guard lock(s.mutex);
  state.pcCalls = s.calls;
  state.pcSessions = s.context != nullptr ? 1 : 0;
  state.pcSamples = s.taken;
  state.pcNameless = s.nameless;
}

}  // namespace warpmeter::fake

#ifndef WARPMETER_FAKE_OLD

extern "C" {

#define PC_CALL(name)                  \
  Sampling& s = sampling();            \
  const std::lock_guard lock(s.mutex); \
  ++s.calls;                           \
  FAIL_IF_SCRIPTED(name)
#define NEEDS_SESSION(p) \
  if (s.context == nullptr || (p)->ctx != s.context) return CUPTI_ERROR_INVALID_OPERATION

CUptiResult CUPTIAPI cuptiPCSamplingEnable(CUpti_PCSamplingEnableParams* p) {
  PC_CALL("cuptiPCSamplingEnable");
  if (p->size != CUpti_PCSamplingEnableParamsSize || p->ctx == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  if (s.context != nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  s.context = p->ctx;
  s.full = false;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPCSamplingDisable(CUpti_PCSamplingDisableParams* p) {
  PC_CALL("cuptiPCSamplingDisable");
  NEEDS_SESSION(p);
  settle(s, true);
  if (s.last != nullptr) deliver(s, *s.last);
  s.ready.clear();
  s.context = nullptr;
  s.last = nullptr;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPCSamplingGetNumStallReasons(CUpti_PCSamplingGetNumStallReasonsParams* p) {
  PC_CALL("cuptiPCSamplingGetNumStallReasons");
  NEEDS_SESSION(p);
  *p->numStallReasons = kPcReasons + 1;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPCSamplingGetStallReasons(CUpti_PCSamplingGetStallReasonsParams* p) {
  PC_CALL("cuptiPCSamplingGetStallReasons");
  NEEDS_SESSION(p);
  for (std::size_t i = 0; i < p->numStallReasons && i <= kPcReasons; ++i) {
    p->stallReasonIndex[i] = kReasonIndex[i];
    std::strncpy(p->stallReasons[i], i == kPcReasons ? kPcTwinName : kPcReasonNames[i],
                 CUPTI_STALL_REASON_STRING_SIZE);
  }
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPCSamplingSetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* p) {
  PC_CALL("cuptiPCSamplingSetConfigurationAttribute");
  NEEDS_SESSION(p);
  const char* chip = std::getenv("FAKE_CUPTI_CHIP");
  const bool blackwell = chip != nullptr && std::strncmp(chip, "GB", 2) == 0;
  for (std::size_t i = 0; i < p->numAttributes; ++i) {
    CUpti_PCSamplingConfigurationInfo& info = p->pPCSamplingConfigurationInfo[i];
    switch (info.attributeType) {
      case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD: {
        const std::uint32_t period = info.attributeData.samplingPeriodData.samplingPeriod;
        if (blackwell || period < 5 || period > 31)
          return info.attributeStatus = CUPTI_ERROR_INVALID_OPERATION;
        s.period = period;
        break;
      }
      case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE:
        if (blackwell) return info.attributeStatus = CUPTI_ERROR_INVALID_OPERATION;
        break;
      case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER:
        s.last =
            static_cast<CUpti_PCSamplingData*>(info.attributeData.samplingDataBufferData.samplingDataBuffer);
        break;
      case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE:
        if (info.attributeData.collectionModeData.collectionMode !=
            CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS)
          return CUPTI_ERROR_NOT_SUPPORTED;
        break;
      case CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_WORKER_THREAD_PERIODIC_SLEEP_SPAN:
        break;
      default:
        return info.attributeStatus = CUPTI_ERROR_INVALID_PARAMETER;
    }
    info.attributeStatus = CUPTI_SUCCESS;
  }
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPCSamplingGetConfigurationAttribute(CUpti_PCSamplingConfigurationInfoParams* p) {
  PC_CALL("cuptiPCSamplingGetConfigurationAttribute");
  NEEDS_SESSION(p);
  p->pPCSamplingConfigurationInfo[0].attributeData.samplingPeriodData.samplingPeriod = s.period;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiPCSamplingGetData(CUpti_PCSamplingGetDataParams* p) {
  PC_CALL("cuptiPCSamplingGetData");
  NEEDS_SESSION(p);
  FAIL_IF_SCRIPTED("cuptiPCSamplingGetData", static_cast<long>(s.fetches));
  auto& data = *static_cast<CUpti_PCSamplingData*>(p->pcSamplingData);
  if (&data == s.last) return CUPTI_ERROR_INVALID_PARAMETER;  // must be another one than the configured
  settle(s, false);
  if (numberOf("FAKE_CUPTI_PC_FULL") == static_cast<long>(++s.fetches)) s.full = true;
  if (s.full) {
    s.running.clear();
    s.ready.clear();
    s.total = s.foreign = s.dropped = 0;
    data.totalNumPcs = data.remainingNumPcs = 0;
    data.hardwareBufferFull = 1;
    return CUPTI_ERROR_OUT_OF_MEMORY;
  }
  data.hardwareBufferFull = 0;
  deliver(s, data);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetCubinCrc(CUpti_GetCubinCrcParams* p) {
  FAIL_IF_SCRIPTED("cuptiGetCubinCrc");
  p->cubinCrc = crcOf(p->cubin, p->cubinSize);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetSassToSourceCorrelation(CUpti_GetSassToSourceCorrelationParams* p) {
  FAIL_IF_SCRIPTED("cuptiGetSassToSourceCorrelation");
  const std::string image(static_cast<const char*>(p->cubin), p->cubinSize);
  p->lineNumber = 0;
  p->fileName = p->dirName = nullptr;
  if (image.find(".debug_line") == std::string::npos) return CUPTI_SUCCESS;
  p->lineNumber = static_cast<uint32_t>(10 + p->pcOffset / 16);
  p->fileName = strdup("kernels.cu");
  p->dirName = strdup("/src");
  return CUPTI_SUCCESS;
}

}  // extern "C"

#endif
