// SPDX-License-Identifier: Apache-2.0
#include "attach.h"

#include <cstdio>
#include <cstring>

#include "api_list.h"
#include "callbacks.h"
#include "clock.h"
#include "counters_host.h"
#include "record_sizes.h"
#include "worker.h"

namespace warpmeter::inject {
namespace {

// CUPTI keeps what the GPU wrote in buffers of 3.2 MB of device memory, 100 000 launches each. Its default allows 250
// of them per context, 800 MB taken from the application; 64 still hold six million launches in flight.
constexpr std::size_t kDeviceBuffersPerContext = 64;

struct KindChoice {
  Feature feature;
  CUpti_ActivityKind kind;
};
constexpr KindChoice kKinds[] = {
    {Feature::kernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
    {Feature::memcpy, CUPTI_ACTIVITY_KIND_MEMCPY},
    {Feature::memcpy2, CUPTI_ACTIVITY_KIND_MEMCPY2},
    {Feature::memset, CUPTI_ACTIVITY_KIND_MEMSET},
    {Feature::overhead, CUPTI_ACTIVITY_KIND_OVERHEAD},
    {Feature::synchronization, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION},
    {Feature::event, CUPTI_ACTIVITY_KIND_CUDA_EVENT},
    {Feature::context, CUPTI_ACTIVITY_KIND_CONTEXT},
    {Feature::stream, CUPTI_ACTIVITY_KIND_STREAM},
    {Feature::device, CUPTI_ACTIVITY_KIND_DEVICE},
    {Feature::memory, CUPTI_ACTIVITY_KIND_MEMORY2},
    {Feature::jit, CUPTI_ACTIVITY_KIND_JIT},
};
constexpr CUpti_CallbackIdResource kResourceCallbacks[] = {
    CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, CUPTI_CBID_RESOURCE_CONTEXT_CREATED,
    CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, CUPTI_CBID_RESOURCE_MODULE_LOADED,
    CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING};

void addDegraded(Session& session, const char* what, int argument, CUptiResult result) {
  wire::Header& header = *session.header;
  header.degradedCount.fetch_add(1, std::memory_order_relaxed);
  const std::size_t used = std::strlen(header.degradedText);
  const std::size_t room = sizeof header.degradedText - used;
  if (argument >= 0) {
    std::snprintf(header.degradedText + used, room, "%s%s(%d): %d", used == 0 ? "" : "; ", what, argument, result);
  } else {
    std::snprintf(header.degradedText + used, room, "%s%s: %d", used == 0 ? "" : "; ", what, result);
  }
}

CUptiResult useSystemThreadIds(Session& session) {
  const auto& cupti = session.cupti.functions;
  return cupti.cuptiSetThreadIdType == nullptr ? CUPTI_ERROR_NOT_SUPPORTED
                                               : cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

CUptiResult subscribe(Session& session) {
  const auto& cupti = session.cupti.functions;
  CUptiResult result;
  char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN * 2] = {};
  if (cupti.cuptiSubscribe_v2 != nullptr) {
    CUpti_SubscriberParams params{};
    params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
    params.subscriberName = "Warpmeter";
    params.oldSubscriberName = holder;
    params.oldSubscriberSize = sizeof holder;
    result = cupti.cuptiSubscribe_v2(&session.subscriber, onCallback, nullptr, &params);
  } else {
    result = cupti.cuptiSubscribe(&session.subscriber, onCallback, nullptr);
  }
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    holder[sizeof holder - 1] = 0;
    std::snprintf(session.cupti.problem, sizeof session.cupti.problem, "%s holds CUPTI in this process",
                  holder[0] != 0 ? holder : "another tool");
  }
  return result;
}
void unsubscribe(Session& session) {
  session.cupti.functions.cuptiUnsubscribe(session.subscriber);
  session.subscriber = nullptr;
}

template <class T>
CUptiResult setAttribute(Session& session, CUpti_ActivityAttribute attribute, T value) {
  const auto& cupti = session.cupti.functions;
  std::size_t size = sizeof value;
  return cupti.cuptiActivitySetAttribute == nullptr ? CUPTI_ERROR_NOT_SUPPORTED
                                                    : cupti.cuptiActivitySetAttribute(attribute, &size, &value);
}
CUptiResult promiseZeroedBuffers(Session& session) {
  return setAttribute(session, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, std::uint8_t{1});
}
CUptiResult limitDeviceBuffers(Session& session) {
  return setAttribute(session, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, kDeviceBuffersPerContext);
}

CUptiResult wantLaunchAttributes(Session& session) {  // clusters, carve-out; no cost that could be measured
  const auto& cupti = session.cupti.functions;
  return cupti.cuptiActivityEnableLaunchAttributes == nullptr ? CUPTI_ERROR_NOT_SUPPORTED
                                                              : cupti.cuptiActivityEnableLaunchAttributes(1);
}

// Without this each turn of a loop around cudaEventQuery() would leave a record.
CUptiResult skipUnfinishedQueries(Session& session) {
  const auto& cupti = session.cupti.functions;
  return cupti.cuptiActivityEnableAllSyncRecords == nullptr ? CUPTI_SUCCESS
                                                            : cupti.cuptiActivityEnableAllSyncRecords(0);
}

CUptiResult wantLaunchLatency(Session& session) {
  const auto& cupti = session.cupti.functions;
  if (session.options.latency == LatencyChoice::off) return CUPTI_SUCCESS;
  session.header->launchLatency = 2;
  if (session.options.latency == LatencyChoice::ifSafe && session.cupti.version < kLatencySafeCupti) return CUPTI_SUCCESS;
  if (cupti.cuptiActivityEnableLatencyTimestamps == nullptr) return CUPTI_ERROR_NOT_SUPPORTED;
  const CUptiResult result = cupti.cuptiActivityEnableLatencyTimestamps(1);
  if (result == CUPTI_SUCCESS) session.header->launchLatency = 1;
  return result;
}

CUptiResult registerBuffers(Session& session) {
  // Nothing takes a registration back; without a recording the callbacks answer "no buffer".
  return session.cupti.functions.cuptiActivityRegisterCallbacks(bufferRequested, bufferCompleted);
}

CUptiResult enableKinds(Session& session) {
  for (const KindChoice& choice : kKinds) {
    if (!session.options.wants(choice.feature)) continue;
    const CUptiResult result = session.cupti.functions.cuptiActivityEnable(choice.kind);
    if (result == CUPTI_SUCCESS) continue;
    if (choice.feature == Feature::kernel) return result;
    addDegraded(session, "cuptiActivityEnable", choice.kind, result);
  }
  return CUPTI_SUCCESS;
}
void disableKinds(Session& session) {
  for (const KindChoice& choice : kKinds) {
    if (session.options.wants(choice.feature)) session.cupti.functions.cuptiActivityDisable(choice.kind);
  }
}

// An id that this CUPTI does not know (it is older than our headers) is not worth a word.
void enableCalls(Session& session, CUptiResult (*enable)(CUpti_CallbackId, std::uint8_t), const char* name, ApiCalls calls) {
  CUptiResult failure = CUPTI_SUCCESS;
  for (const std::uint16_t id : calls) {
    const CUptiResult result = enable(id, 1);
    if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_INVALID_PARAMETER) failure = result;
  }
  if (failure != CUPTI_SUCCESS) addDegraded(session, name, -1, failure);
}

void enableApi(Session& session, Feature feature, CUpti_ActivityKind kind,
               CUptiResult (*enable)(CUpti_CallbackId, std::uint8_t), const char* name, ApiCalls work, ApiCalls always) {
  if (!session.options.wants(feature)) return;
  const wire::ApiMode mode = session.options.api;
  // CUPTI before 12.5 knows whole kinds only.
  if (mode == wire::ApiMode::all || (mode == wire::ApiMode::work && enable == nullptr)) {
    const CUptiResult result = session.cupti.functions.cuptiActivityEnable(kind);
    if (result != CUPTI_SUCCESS) addDegraded(session, "cuptiActivityEnable", kind, result);
  } else if (enable != nullptr) {
    if (mode == wire::ApiMode::work) enableCalls(session, enable, name, work);
    enableCalls(session, enable, name, always);
  }
}

CUptiResult enableApis(Session& session) {
  const auto& cupti = session.cupti.functions;
  enableApi(session, Feature::runtime, CUPTI_ACTIVITY_KIND_RUNTIME, cupti.cuptiActivityEnableRuntimeApi,
            "cuptiActivityEnableRuntimeApi", runtimeWork(), runtimeAlways());
  enableApi(session, Feature::driver, CUPTI_ACTIVITY_KIND_DRIVER, cupti.cuptiActivityEnableDriverApi,
            "cuptiActivityEnableDriverApi", driverWork(), driverAlways());
  return CUPTI_SUCCESS;
}
void disableApis(Session& session) {
  const auto& cupti = session.cupti.functions;
  if (cupti.cuptiActivityEnableRuntimeApi != nullptr) {
    for (const std::uint16_t id : runtimeWork()) cupti.cuptiActivityEnableRuntimeApi(id, 0);
    for (const std::uint16_t id : runtimeAlways()) cupti.cuptiActivityEnableRuntimeApi(id, 0);
  }
  if (cupti.cuptiActivityEnableDriverApi != nullptr) {
    for (const std::uint16_t id : driverWork()) cupti.cuptiActivityEnableDriverApi(id, 0);
    for (const std::uint16_t id : driverAlways()) cupti.cuptiActivityEnableDriverApi(id, 0);
  }
  cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME);
  cupti.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
}

CUptiResult enableResourceCallbacks(Session& session) {
  if (!session.options.wants(Feature::resource)) return CUPTI_SUCCESS;
  CUptiResult first = CUPTI_SUCCESS;
  for (const auto id : kResourceCallbacks) {
    const CUptiResult result =
        session.cupti.functions.cuptiEnableCallback(1, session.subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
    if (first == CUPTI_SUCCESS) first = result;
  }
  return first;
}

CUptiResult enableStateCallbacks(Session& session) {
  if (!session.options.wants(Feature::state)) return CUPTI_SUCCESS;
  return session.cupti.functions.cuptiEnableDomain(1, session.subscriber, CUPTI_CB_DOMAIN_STATE);
}

CUptiResult enableResetCallbacks(Session& session) {
  if (!session.options.wants(Feature::reset)) return CUPTI_SUCCESS;
  const auto& cupti = session.cupti.functions;
  CUptiResult first = CUPTI_SUCCESS;
  const auto enable = [&](CUpti_CallbackDomain domain, ApiCalls calls) {
    for (const std::uint16_t id : calls) {
      const CUptiResult result = cupti.cuptiEnableCallback(1, session.subscriber, domain, id);
      if (first == CUPTI_SUCCESS) first = result;
    }
  };
  enable(CUPTI_CB_DOMAIN_RUNTIME_API, runtimeReset());
  enable(CUPTI_CB_DOMAIN_DRIVER_API, driverReset());
  return first;
}

// Callbacks end with the subscription, attributes and thread ids change nothing as long as no kind is on.
constexpr AttachStep kSteps[] = {
    {"cuptiSetThreadIdType", false, useSystemThreadIds, nullptr},
    {"cuptiSubscribe", true, subscribe, unsubscribe},
    {"zeroed buffers", false, promiseZeroedBuffers, nullptr},
    {"device buffer limit", false, limitDeviceBuffers, nullptr},
    {"launch attributes", false, wantLaunchAttributes, nullptr},
    {"synchronization records", false, skipUnfinishedQueries, nullptr},
    {"latency timestamps", false, wantLaunchLatency, nullptr},
    {"cuptiActivityRegisterCallbacks", true, registerBuffers, nullptr},
    {"kernel records", true, enableKinds, disableKinds},
    {"API records", false, enableApis, disableApis},
    {"resource callbacks", false, enableResourceCallbacks, nullptr},
    {"state callbacks", false, enableStateCallbacks, nullptr},
    {"context reset callbacks", false, enableResetCallbacks, nullptr},
};
constexpr int kStepCount = sizeof kSteps / sizeof kSteps[0];

void announceNames(Session& session, CUpti_CallbackDomain domain, wire::StringKind kind) {
  const auto& cupti = session.cupti.functions;
  if (cupti.cuptiGetCallbackName == nullptr) return;
  for (std::uint32_t id = 1; id < 4096; ++id) {
    const char* name = nullptr;
    if (cupti.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || name == nullptr) break;
    wire::appendString(session.memory.base, kind, id, name, std::strlen(name));
  }
}

void readClocks(Session& session) {
  std::uint64_t cuptiNs = 0;
  const std::int64_t before = realtimeNs();
  if (session.cupti.functions.cuptiGetTimestamp(&cuptiNs) != CUPTI_SUCCESS) return;
  const std::int64_t after = realtimeNs();
  session.header->cuptiTimestampNs = static_cast<std::int64_t>(cuptiNs);
  session.header->cuptiTimestampRealtimeNs = before + (after - before) / 2;
}

void reportFailure(Session& session, const AttachStep& step, CUptiResult result) {
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    session.setStatus(wire::GuestStatus::blocked, session.cupti.problem);
    return;
  }
  const char* meaning = nullptr;
  if (session.cupti.functions.cuptiGetResultString != nullptr) {
    session.cupti.functions.cuptiGetResultString(result, &meaning);
  }
  char text[256];
  std::snprintf(text, sizeof text, "%s failed: %s (CUPTI error %d)", step.name, meaning == nullptr ? "?" : meaning,
                result);
  session.setStatus(wire::GuestStatus::refused, text);
}

}  // namespace

AttachSteps attachSteps() noexcept { return {kSteps, kStepCount}; }

bool runAttachSteps(Session& session) noexcept {
  session.attached.store(1, std::memory_order_release);  // from the first enable on buffers may be asked for
  for (int i = 0; i < kStepCount; ++i) {
    const CUptiResult result = kSteps[i].run(session);
    if (result == CUPTI_SUCCESS) continue;
    if (!kSteps[i].required) {
      addDegraded(session, kSteps[i].name, -1, result);
      continue;
    }
    session.attached.store(0, std::memory_order_release);
    // The failing step may have come half way, so its own undo runs too, unless it is the subscription itself.
    for (int u = kSteps[i].run == subscribe ? i - 1 : i; u >= 0; --u) {
      if (kSteps[u].undo != nullptr) kSteps[u].undo(session);
    }
    session.header->injectionDoneNs = realtimeNs();
    reportFailure(session, kSteps[i], result);
    return false;
  }
  session.header->injectionDoneNs = realtimeNs();  // before the status makes it valid
  session.setStatus(wire::GuestStatus::recording, nullptr);
  beginCounters(session);
  return true;
}

void identifyCupti() noexcept {
  Session& session = gSession;
  if (session.cupti.version != 0 || session.cupti.problem[0] != 0) return;
  const bool usable = loadCupti(session.cupti, session.options.cuptiPath);
  session.header->cuptiVersion = session.cupti.version;
  std::memcpy(session.header->cuptiPath, session.cupti.path, sizeof session.header->cuptiPath);
  if (!usable) return;
  askRecordSizes(session.cupti.functions, session.header->recordBytes);
  fillRecordTable(session.records, session.header->recordBytes);
}

void attachCuda() noexcept {
  const std::int64_t enteredNs = realtimeNs();
  if (!ensureSession(EntryPoint::cuda)) return;
  Session& session = gSession;
  if (session.cudaEntered.exchange(1, std::memory_order_acq_rel) != 0) return;
  session.header->injectionEnteredNs = enteredNs;
  identifyCupti();
  if (session.cupti.problem[0] != 0) {
    session.header->injectionDoneNs = realtimeNs();
    session.setStatus(wire::GuestStatus::refused, session.cupti.problem);
    return;
  }
  announceNames(session, CUPTI_CB_DOMAIN_RUNTIME_API, wire::StringKind::runtimeApi);
  announceNames(session, CUPTI_CB_DOMAIN_DRIVER_API, wire::StringKind::driverApi);
  readClocks(session);
  runAttachSteps(session);
  session.wakeWorker();
}

}  // namespace warpmeter::inject
