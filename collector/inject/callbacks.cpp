// SPDX-License-Identifier: Apache-2.0
#include "callbacks.h"

#include <cstring>

#include "api_list.h"
#include "clock.h"
#include "exit_hooks.h"
#include "own_records.h"
#include "session.h"
#include "warpmeter/counters_guest/exact.h"
#include "warpmeter/counters_guest/pc.h"

namespace warpmeter::inject {
namespace {

// MarkKind of the file (profile/rows.h); the numbers are part of its format.
constexpr std::uint32_t kCuInitFinished = 4, kContextCreated = 5, kContextDestroyed = 6, kModuleLoaded = 7,
                        kModuleUnloaded = 8;

// Before CUPTI 12.9 a request that gets no buffer ends in a crash: this one goes round when the pool is empty, and
// what is written into it counts as lost.
constexpr std::size_t kLossBytes = 64 * 1024;
alignas(64) constinit std::uint8_t gLossBuffer[kLossBytes] = {};

// Threads begin with small buffers. One that fills a buffer within a flush period gets larger ones; one that needs a
// buffer only now and then goes back.
struct RequestHistory {
  std::int64_t lastNs;
  std::uint8_t classIndex;
};
constinit thread_local RequestHistory tHistory{};

int chooseClass(RequestHistory& history, std::int64_t now, std::int64_t flushNs) {
  const std::int64_t since = now - history.lastNs;
  if (history.lastNs != 0 && since < flushNs * 3 / 4 && history.classIndex < wire::kClassCount - 1) {
    ++history.classIndex;
  } else if (since > flushNs * 8 && history.classIndex > 0) {
    --history.classIndex;
  }
  history.lastNs = now;
  return history.classIndex;
}

void noBuffer(std::uint8_t** buffer, std::size_t* size) {
  *buffer = nullptr;
  *size = 0;
}

void giveLossBuffer(std::uint8_t** buffer, std::size_t* size) {
  if (gSession.cupti.version >= kNullBufferCupti) {
    noBuffer(buffer, size);
    return;
  }
  std::memset(gLossBuffer, 0, sizeof gLossBuffer);
  *buffer = gLossBuffer;
  *size = sizeof gLossBuffer;
}

std::uint32_t contextIdOf(CUcontext context) {
  const auto& cupti = gSession.cupti.functions;
  std::uint32_t id = 0;
  if (context == nullptr || cupti.cuptiGetContextId == nullptr) return 0;
  return cupti.cuptiGetContextId(context, &id) == CUPTI_SUCCESS ? id : 0;
}

void onInitFinished() {
  appendMark(kCuInitFinished, 0, 0, 0);
  installExitHook();  // again: handlers run last in, first out, and the driver has installed its own by now
}

void onResource(CUpti_CallbackId id, const CUpti_ResourceData& resource) {
  switch (id) {
    case CUPTI_CBID_RESOURCE_CONTEXT_CREATED:
      appendMark(kContextCreated, contextIdOf(resource.context), 0, 0);
      counters::pcContextCreated(resource.context);
      installExitHook();
      break;
    case CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      appendMark(kContextDestroyed, contextIdOf(resource.context), 0, 0);
      counters::pcContextEnds(resource.context);
      break;
    case CUPTI_CBID_RESOURCE_MODULE_LOADED:
    case CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING: {
      const auto* module = static_cast<const CUpti_ModuleResourceData*>(resource.resourceDescriptor);
      if (module == nullptr) break;
      const bool loaded = id == CUPTI_CBID_RESOURCE_MODULE_LOADED;
      appendMark(loaded ? kModuleLoaded : kModuleUnloaded, contextIdOf(resource.context), module->moduleId,
                 module->cubinSize);
      // A name's address may mean another kernel once the next module lies there.
      if (!loaded) gSession.names.newGeneration();
      if (!loaded) counters::pcModuleUnloads(resource.context);
      if (loaded) {
        counters::exactModuleLoaded();
        counters::pcModuleLoaded(module->pCubin, module->cubinSize);
      }
      break;
    }
    default:
      break;
  }
}

void onState(CUpti_CallbackId id, const CUpti_StateData& state) {
  if (id != CUPTI_CBID_STATE_FATAL_ERROR) return;
  Session& session = gSession;
  if (session.attached.exchange(0, std::memory_order_acq_rel) == 0) return;
  session.setStatus(wire::GuestStatus::disabled, state.notification.message != nullptr
                                                     ? state.notification.message
                                                     : "CUPTI met a fatal error and ended the recording");
}

// Only calls that destroy a context are subscribed to. Flushing is allowed in API callbacks and nowhere else.
void onApi(const CUpti_CallbackData& call) {
  if (call.callbackSite != CUPTI_API_ENTER) return;
  counters::exactContextEnds();
  counters::pcResetComes();
  gSession.cupti.functions.cuptiActivityFlushAll(0);
}

}  // namespace

void CUPTIAPI bufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* maxNumRecords) noexcept {
  *maxNumRecords = 0;
  Session& session = gSession;
  if (!recordingHere() || session.attached.load(std::memory_order_relaxed) == 0) {
    giveLossBuffer(buffer, size);
    return;
  }
  const std::int64_t start = realtimeNs();
  RequestHistory& history = tHistory;
  OwnThread& own = tOwn;
  if (own.tid == 0) own.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
  const int wanted = chooseClass(history, start, std::int64_t{session.options.flushMs} * 1000000);
  const bool stopped = session.header->recorderAlive.load(std::memory_order_relaxed) == 2;
  const std::int64_t slot = stopped ? -1 : session.pool.take(wanted, wire::SlotSource::cupti, own.tid, start);
  if (slot < 0) {
    if (!stopped) session.header->poolEmpty.fetch_add(1, std::memory_order_relaxed);
    giveLossBuffer(buffer, size);
  } else {
    session.lentBuffers.fetch_add(1, std::memory_order_relaxed);
    *buffer = static_cast<std::uint8_t*>(session.memory.base) + session.slots[slot].offset;
    *size = session.slots[slot].bytes;
  }
  session.wakeWorkerIfLow();
  session.header->requestCount.fetch_add(1, std::memory_order_relaxed);
  session.header->requestNs.fetch_add(static_cast<std::uint64_t>(realtimeNs() - start), std::memory_order_relaxed);
}

void CUPTIAPI bufferCompleted(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t validSize) noexcept {
  Session& session = gSession;
  if (buffer == nullptr || !recordingHere()) return;
  if (buffer == gLossBuffer) {
    const std::uint64_t records = countRecords(session.records, buffer, validSize < kLossBytes ? validSize : kLossBytes);
    session.header->droppedByCupti.fetch_add(records, std::memory_order_relaxed);
    return;
  }
  const std::int64_t slot = session.pool.slotAt(buffer);
  if (slot < 0 || validSize > session.slots[slot].bytes) {
    session.fault("CUPTI returned a buffer that it had not been given");
    return;
  }
  const std::int64_t start = realtimeNs();
  const WalkResult walk = walkBuffer(session.records, session.names, buffer, validSize);
  if (!walk.complete) session.header->invalidRecords.fetch_add(1, std::memory_order_relaxed);
  session.header->walkRecords.fetch_add(walk.records, std::memory_order_relaxed);
  session.header->walkNs.fetch_add(static_cast<std::uint64_t>(realtimeNs() - start), std::memory_order_relaxed);
  session.lentBuffers.fetch_sub(1, std::memory_order_relaxed);
  session.complete(static_cast<std::uint32_t>(slot), validSize);
}

void CUPTIAPI onCallback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) noexcept {
  Session& session = gSession;
  if (!recordingHere() || session.attached.load(std::memory_order_relaxed) == 0) return;
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && id == CUPTI_CBID_RESOURCE_CU_INIT_FINISHED) {
    onInitFinished();  // comes without data: there is no context yet
    return;
  }
  if (data == nullptr) return;
  // Before anything else: while exact mode listens, these come at every launch.
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
      counters::exactCallback(id, *static_cast<const CUpti_CallbackData*>(data))) {
    return;
  }
  const std::int64_t start = realtimeNs();
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) onResource(id, *static_cast<const CUpti_ResourceData*>(data));
  if (domain == CUPTI_CB_DOMAIN_STATE) onState(id, *static_cast<const CUpti_StateData*>(data));
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API || domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    onApi(*static_cast<const CUpti_CallbackData*>(data));
  }
  session.header->callbackCount.fetch_add(1, std::memory_order_relaxed);
  session.header->callbackNs.fetch_add(static_cast<std::uint64_t>(realtimeNs() - start), std::memory_order_relaxed);
}

void readDropCounter() noexcept {
  Session& session = gSession;
  const auto& cupti = session.cupti.functions;
  std::size_t dropped = 0;
  if (cupti.cuptiActivityGetNumDroppedRecords == nullptr ||
      cupti.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) != CUPTI_SUCCESS) {
    session.header->dropCounterState.store(2, std::memory_order_relaxed);  // stays: one unread count is lost for good
    return;
  }
  session.header->droppedByCupti.fetch_add(dropped, std::memory_order_relaxed);
  std::uint32_t never = 0;
  session.header->dropCounterState.compare_exchange_strong(never, 1, std::memory_order_relaxed);
}

}  // namespace warpmeter::inject
