// SPDX-License-Identifier: Apache-2.0
// A libcupti that needs no GPU: the functions that the injected library uses, with CUPTI's record layouts. Built twice:
// as libcupti.so.13 and, with WARPMETER_FAKE_OLD, as the libcupti.so.12 of CUDA 12.4 (older layouts, fewer functions).
#include <cupti.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "fake_buffers.h"
#include "fake_calls.h"
#include "fake_pc.h"
#include "fake_range.h"
#include "fake_records.h"

using namespace warpmeter::fake;

namespace {

struct Tool {
  std::atomic<bool> subscribed{false};
  CUpti_CallbackFunc callback = nullptr;
  void* userdata = nullptr;
  std::atomic<bool> registered{false};
  std::atomic<std::uint64_t> kinds{0};
  std::atomic<bool> runtimeCalls[1024] = {}, driverCalls[1024] = {};
  std::atomic<bool> callbacks[8][1024] = {};
  std::atomic<std::uint64_t> flushes{0}, forcedFlushes{0};
  std::atomic<bool> launchAttributes{false}, latency{false};
  std::atomic<std::uint32_t> threadIdType{0};
};
Tool& tool() {
  static auto* t = new Tool;
  return *t;
}

}  // namespace

namespace warpmeter::fake {

// FAKE_CUPTI_FAIL="cuptiSubscribe_v2=39,cuptiActivityEnable:10=27": the code that a function shall return, 0 = none.
CUptiResult scripted(const char* function, long argument) {
  const std::string text = settings().failures;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(',', at);
    if (end == std::string::npos) end = text.size();
    const std::string item = text.substr(at, end - at);
    const std::size_t equals = item.find('=');
    const std::string name = item.substr(0, equals);
    if (name == function || name == std::string(function) + ":" + std::to_string(argument)) {
      return static_cast<CUptiResult>(std::atoi(item.c_str() + equals + 1));
    }
    at = end + 1;
  }
  return CUPTI_SUCCESS;
}

}  // namespace warpmeter::fake

namespace {

std::uint32_t count(const std::atomic<bool> (&flags)[1024]) {
  std::uint32_t n = 0;
  for (const auto& flag : flags) n += flag ? 1 : 0;
  return n;
}

CUptiResult subscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata) {
  Tool& t = tool();
  if (t.subscribed.exchange(true)) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  t.callback = callback;
  t.userdata = userdata;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&t);
  return CUPTI_SUCCESS;
}

void callBack(CUpti_CallbackDomain domain, std::uint32_t id, const void* data) {
  Tool& t = tool();
  if (t.subscribed && id < 1024 && t.callbacks[domain][id]) t.callback(t.userdata, domain, id, data);
}

void apiCallback(bool runtime, std::uint32_t cbid, bool enter, const Call& call) {
  CUpti_CallbackData data{};
  const int result = call.result;
  data.functionReturnValue = enter ? nullptr : const_cast<int*>(&result);
  data.context = static_cast<CUcontext>(call.context);
  data.symbolName = call.name;
  if (!runtime) data.functionParams = call.driverParameters;
  data.callbackSite = enter ? CUPTI_API_ENTER : CUPTI_API_EXIT;
  data.functionName = runtime ? runtimeName(cbid) : driverName(cbid);
  data.correlationId = call.correlationId;
  callBack(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, cbid, &data);
}

bool kindOn(std::uint32_t kind) { return tool().registered && (tool().kinds >> kind & 1) != 0; }

bool recordsApi(bool runtime, std::uint32_t cbid) {
  Tool& t = tool();
  if (!t.registered) return false;
  if (kindOn(runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER)) return true;
  return cbid < 1024 && (runtime ? t.runtimeCalls[cbid] : t.driverCalls[cbid]);
}

Reservation* beginApi(bool runtime, std::uint32_t cbid, std::uint32_t correlationId) {
  if (!recordsApi(runtime, cbid)) return nullptr;
  const std::int64_t start = nowNs();
  const std::uint32_t tid = threadId();
  const std::uint32_t kind = runtime ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  return reserve(kind, 0, [=](void* record, bool finished) {
    fillApi(record, kind, cbid, start, finished ? nowNs() : 0, tid, correlationId);
  });
}

std::uint32_t kindOf(Work work) {
  switch (work) {
    case Work::kernel: return CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    case Work::copy: return CUPTI_ACTIVITY_KIND_MEMCPY;
    case Work::set: return CUPTI_ACTIVITY_KIND_MEMSET;
    case Work::synchronize: return CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
    case Work::event: return CUPTI_ACTIVITY_KIND_CUDA_EVENT;
    case Work::allocate:
    case Work::release: return CUPTI_ACTIVITY_KIND_MEMORY2;
    case Work::none: break;
  }
  return 0;
}

void startWork(Call& call) {
  const std::uint32_t kind = kindOf(call.work);
  const bool onGpu = call.work == Work::kernel || call.work == Work::copy || call.work == Work::set;
  const std::int64_t start = onGpu ? nextFreeNs(call.streamId, call.durationNs) : nowNs();
  call.endNs = onGpu ? start + call.durationNs : start;
  if (kind == 0 || !kindOn(kind)) return;
  const Call copy = call;
  reserve(kind, call.endNs, [=](void* record, bool finished) { fillWork(record, kind, copy, start, finished); });
}

// The first launch of a process fills a command buffer, whose record owns memory.
void firstLaunchOverhead(std::uint32_t correlationId) {
  static std::atomic<bool> done{false};
  if (!kindOn(CUPTI_ACTIVITY_KIND_OVERHEAD) || done.exchange(true)) return;
  const std::int64_t now = nowNs();
  const std::uint32_t tid = threadId();
  reserve(CUPTI_ACTIVITY_KIND_OVERHEAD, now,
          [=](void* record, bool) { fillOverhead(record, now, tid, correlationId); });
}

}  // namespace

extern "C" {

extern const char warpmeterFakeCupti[];
const char warpmeterFakeCupti[] = "fake";

void warpmeterFakeCuptiCall(Call* call) {
  static std::atomic<std::uint32_t> correlation{0};
  call->correlationId = ++correlation;
  apiCallback(call->runtime, call->cbid, true, *call);
  Reservation* outer = beginApi(call->runtime, call->cbid, call->correlationId);
  Reservation* nested = nullptr;
  if (call->nestedCbid != 0) {
    apiCallback(false, call->nestedCbid, true, *call);
    nested = beginApi(false, call->nestedCbid, call->correlationId);
  }
  if (call->work == Work::kernel) firstLaunchOverhead(call->correlationId);
  if (call->inside != nullptr) call->inside(call);
  const bool ranged = call->work == Work::kernel && launchInRange(*call);
  startWork(*call);
  if (call->work == Work::kernel) sampleLaunch(*call);
  if (call->nestedCbid != 0) {
    finish(nested);
    apiCallback(false, call->nestedCbid, false, *call);
  }
  finish(outer);
  apiCallback(call->runtime, call->cbid, false, *call);
  if (ranged) {  // as on an H200: closing a range launches a kernel of CUPTI's own under the same id
    Call wait = *call;
    wait.name = "WaitNs";
    std::fill_n(wait.grid, 3, 1u);
    std::fill_n(wait.block, 3, 1u);
    wait.streamId = 6;
    wait.durationNs = 80'000;
    startWork(wait);
  }
}

void warpmeterFakeCuptiResource(std::uint32_t cbid, std::uint32_t contextId, std::uint32_t moduleId,
                                std::uint64_t bytes, std::uint32_t streamId, const void* image, void* context) {
  const std::int64_t now = nowNs();
  if (cbid == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED && kindOn(CUPTI_ACTIVITY_KIND_DEVICE)) {
    reserve(CUPTI_ACTIVITY_KIND_DEVICE, now, [](void* record, bool) { fillDevice(record); });
  }
  if (cbid == CUPTI_CBID_RESOURCE_CONTEXT_CREATED && kindOn(CUPTI_ACTIVITY_KIND_CONTEXT)) {
    reserve(CUPTI_ACTIVITY_KIND_CONTEXT, now, [=](void* record, bool) { fillContext(record, contextId); });
  }
  if (cbid == CUPTI_CBID_RESOURCE_STREAM_CREATED && kindOn(CUPTI_ACTIVITY_KIND_STREAM)) {
    reserve(CUPTI_ACTIVITY_KIND_STREAM, now, [=](void* record, bool) { fillStream(record, contextId, streamId); });
  }
  CUpti_ModuleResourceData module{};
  module.moduleId = moduleId;
  module.cubinSize = bytes;
  module.pCubin = static_cast<const char*>(image);
  CUpti_ResourceData data{};
  data.context = contextId == 0 ? nullptr : static_cast<CUcontext>(context);
  data.resourceDescriptor = &module;
  // The real one has nothing to say about the end of cuInit: its callback comes without data.
  callBack(CUPTI_CB_DOMAIN_RESOURCE, cbid, cbid == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED ? nullptr : &data);
  if (cbid == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING) samplesLoseTheirCode(image, bytes);
}

void warpmeterFakeCuptiState(State* state) {
  const Tool& t = tool();
  const BufferCounts counts = bufferCounts();
  *state = State{};
  state->version = settings().version;
  state->subscribed = t.subscribed;
  state->callbacksRegistered = t.registered;
  state->enabledKinds = static_cast<std::uint32_t>(__builtin_popcountll(t.kinds));
  state->enabledRuntimeCalls = count(t.runtimeCalls);
  state->enabledDriverCalls = count(t.driverCalls);
  for (const auto& domain : t.callbacks) state->enabledCallbacks += count(domain);
  state->recordsWritten = counts.written;
  state->recordsDropped = counts.dropped;
  state->buffersRequested = counts.requested;
  state->buffersRefused = counts.refused;
  state->buffersCompleted = counts.completed;
  state->dirtyBuffers = counts.dirty;
  state->flushes = t.flushes;
  state->forcedFlushes = t.forcedFlushes;
  state->launchAttributes = t.launchAttributes;
  state->latencyTimestamps = t.latency;
  state->threadIdType = t.threadIdType;
  addRangeState(*state);
  addPcState(*state);
}

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* version) {
  FAIL_IF_SCRIPTED("cuptiGetVersion");
  *version = settings().version;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t* timestamp) {
  *timestamp = static_cast<uint64_t>(nowNs());
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult, const char** text) {
  *text = "scripted failure";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t* id) {
  std::memcpy(id, context, sizeof *id);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
  *name = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtimeName(id) : driverName(id);
  return *name == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  FAIL_IF_SCRIPTED("cuptiSetThreadIdType");
  tool().threadIdType = type;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata) {
  FAIL_IF_SCRIPTED("cuptiSubscribe");
  return subscribe(subscriber, callback, userdata);
}
#ifndef WARPMETER_FAKE_OLD
CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void* userdata,
                                       CUpti_SubscriberParams* params) {
  if (params != nullptr && params->oldSubscriberName != nullptr) {
    std::strncpy(params->oldSubscriberName, settings().holder, params->oldSubscriberSize - 1);
  }
  FAIL_IF_SCRIPTED("cuptiSubscribe_v2");
  if (settings().holder[0] != 0) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  return subscribe(subscriber, callback, userdata);
}
CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) {
  FAIL_IF_SCRIPTED("cuptiActivityEnableRuntimeApi");
  if (runtimeName(id) == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  tool().runtimeCalls[id] = enable != 0;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable) {
  FAIL_IF_SCRIPTED("cuptiActivityEnableDriverApi");
  if (driverName(id) == nullptr) return CUPTI_ERROR_INVALID_PARAMETER;
  tool().driverCalls[id] = enable != 0;
  return CUPTI_SUCCESS;
}
#endif
CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle) {
  tool().subscribed = false;
  for (auto& domain : tool().callbacks) {
    for (auto& flag : domain) flag = false;
  }
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                         CUpti_CallbackId id) {
  FAIL_IF_SCRIPTED("cuptiEnableCallback", domain);
  tool().callbacks[domain][id] = enable != 0;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle, CUpti_CallbackDomain domain) {
  FAIL_IF_SCRIPTED("cuptiEnableDomain", domain);
  for (auto& flag : tool().callbacks[domain]) flag = enable != 0;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAIL_IF_SCRIPTED("cuptiActivityEnable", kind);
  if (recordBytes(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  tool().kinds |= std::uint64_t{1} << kind;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  tool().kinds &= ~(std::uint64_t{1} << kind);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t*, void* value) {
  FAIL_IF_SCRIPTED("cuptiActivitySetAttribute", attribute);
  if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER && *static_cast<uint8_t*>(value) != 0) {
    expectZeroedBuffers();
  }
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
  FAIL_IF_SCRIPTED("cuptiActivityRegisterCallbacks");
  setBufferFunctions(request, complete);
  tool().registered = true;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  ++(flag != 0 ? tool().forcedFlushes : tool().flushes);
  flushAll(flag != 0);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* buffer, size_t bytes, CUpti_Activity** record) {
  auto* at = reinterpret_cast<uint8_t*>(*record);
  if (at == nullptr) {
    at = buffer;
  } else {
    at += recordBytes((*record)->kind);
  }
  if (at + 8 > buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  uint32_t kind;
  std::memcpy(&kind, at, sizeof kind);
  if (recordBytes(kind) == 0 || (*record != nullptr && recordBytes((*record)->kind) == 0)) return CUPTI_ERROR_INVALID_KIND;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  FAIL_IF_SCRIPTED("cuptiActivityGetNumDroppedRecords");
  *dropped = takeDropped();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  tool().latency = enable != 0;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnableLaunchAttributes(uint8_t enable) {
  FAIL_IF_SCRIPTED("cuptiActivityEnableLaunchAttributes");
  tool().launchAttributes = enable != 0;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(uint8_t) { return CUPTI_SUCCESS; }

}  // extern "C"
