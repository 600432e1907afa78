// SPDX-License-Identifier: Apache-2.0
#include "nvtx.h"

#include "clock.h"
#include "nvtx_text.h"
#include "own_records.h"
#include "session.h"

namespace warpmeter::inject {
namespace {

using wire::NvtxRecord;
using wire::OwnKind;

constinit std::atomic<std::uint64_t> gNextRangeId{1};

NvtxRecord* begin(OwnThread& own, OwnKind kind, std::uint32_t domainId, std::uint64_t text, std::int64_t t) {
  auto* record = reinterpret_cast<NvtxRecord*>(beginOwn(own, static_cast<std::uint32_t>(kind), sizeof(NvtxRecord), t));
  if (record == nullptr) return nullptr;
  record->text = text;
  record->domainId = domainId;
  return record;
}

void fillEvent(NvtxRecord& record, const nvtxEventAttributes_t& event) {
  record.category = event.category;
  if (event.colorType == NVTX_COLOR_ARGB) {
    record.color = event.color;
    record.hasColor = 1;
  }
  // Larger types belong to extensions whose payload is a pointer.
  if (event.payloadType > NVTX_PAYLOAD_UNKNOWN && event.payloadType <= NVTX_PAYLOAD_TYPE_FLOAT) {
    record.payload = event.payload.ullValue;
    record.payloadType = static_cast<std::uint32_t>(event.payloadType);
  }
}

void store(OwnThread& own, OwnKind kind, std::uint32_t domainId, std::uint64_t text, std::uint64_t rangeId) {
  if (!recordingHere()) return;
  NvtxRecord* record = begin(own, kind, domainId, text, realtimeNs());
  if (record == nullptr) return;
  record->rangeId = rangeId;
  publishOwn(own, &record->header);
}
void store(OwnKind kind, std::uint32_t domainId, std::uint64_t text, std::uint64_t rangeId) {
  store(tOwn, kind, domainId, text, rangeId);
}

void storeEvent(OwnKind kind, std::uint32_t domainId, const nvtxEventAttributes_t* event, std::uint64_t rangeId) {
  if (!recordingHere()) return;
  OwnThread& own = tOwn;
  const std::int64_t t = realtimeNs();
  const bool known = event != nullptr && event->size >= sizeof *event;
  const std::uint64_t text = known ? nvtxMessage(*event) : wire::kNoString;  // may take a while: before begin()
  NvtxRecord* record = begin(own, kind, domainId, text, t);
  if (record == nullptr) return;
  record->rangeId = rangeId;
  if (known) fillEvent(*record, *event);
  publishOwn(own, &record->header);
}

// Programs test what push and pop return, so levels are right even where nothing is recorded.
int enter(OwnThread& own, std::uint32_t domainId) {
  return domainId < OwnThread::kDomains ? own.depth[domainId]++ : 0;
}
int leave(OwnThread& own, std::uint32_t domainId) {
  if (domainId >= OwnThread::kDomains) return 0;
  return own.depth[domainId] > 0 ? --own.depth[domainId] : -1;
}

template <class Char>
std::uint64_t textHere(const Char* text) {
  return recordingHere() ? nvtxText(text) : wire::kNoString;
}

// Core functions, default domain.
template <class Char>
void mark(const Char* message) { store(OwnKind::nvtxMark, 0, textHere(message), 0); }
void markEx(const nvtxEventAttributes_t* event) { storeEvent(OwnKind::nvtxMark, 0, event, 0); }

template <class Char>
nvtxRangeId_t rangeStart(const Char* message) {
  const std::uint64_t id = gNextRangeId.fetch_add(1, std::memory_order_relaxed);
  store(OwnKind::nvtxStart, 0, textHere(message), id);
  return id;
}
nvtxRangeId_t domainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::uint64_t id = gNextRangeId.fetch_add(1, std::memory_order_relaxed);
  storeEvent(OwnKind::nvtxStart, nvtxDomainId(domain), event, id);
  return id;
}
nvtxRangeId_t rangeStartEx(const nvtxEventAttributes_t* event) { return domainRangeStartEx(nullptr, event); }
void domainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) { store(OwnKind::nvtxEnd, nvtxDomainId(domain), 0, id); }
void rangeEnd(nvtxRangeId_t id) { domainRangeEnd(nullptr, id); }

template <class Char>
int rangePush(const Char* message) {
  const std::uint64_t text = textHere(message);
  OwnThread& own = tOwn;
  store(own, OwnKind::nvtxPush, 0, text, 0);
  return enter(own, 0);
}
int domainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  const std::uint32_t id = nvtxDomainId(domain);
  storeEvent(OwnKind::nvtxPush, id, event, 0);
  return enter(tOwn, id);
}
int rangePushEx(const nvtxEventAttributes_t* event) { return domainRangePushEx(nullptr, event); }
int domainRangePop(nvtxDomainHandle_t domain) {
  const std::uint32_t id = nvtxDomainId(domain);
  OwnThread& own = tOwn;
  store(own, OwnKind::nvtxPop, id, 0, 0);
  return leave(own, id);
}
int rangePop() { return domainRangePop(nullptr); }

template <class Char>
void domainNameCategory(nvtxDomainHandle_t domain, std::uint32_t category, const Char* name) {
  if (!recordingHere()) return;
  OwnThread& own = tOwn;
  NvtxRecord* record = begin(own, OwnKind::nvtxCategory, nvtxDomainId(domain), nvtxText(name), realtimeNs());
  if (record == nullptr) return;
  record->category = category;
  publishOwn(own, &record->header);
}
template <class Char>
void nameCategory(std::uint32_t category, const Char* name) { domainNameCategory(nullptr, category, name); }
template <class Char>
void nameOsThread(std::uint32_t threadId, const Char* name) {
  store(OwnKind::nvtxThreadName, 0, textHere(name), threadId);
}

// Domains and registered strings.
void domainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  storeEvent(OwnKind::nvtxMark, nvtxDomainId(domain), event, 0);
}
template <class Char>
nvtxDomainHandle_t domainCreate(const Char* name) {
  if (!recordingHere()) return nullptr;
  const std::uint64_t text = nvtxText(name);
  nvtxDomainHandle_t domain = nvtxDomainFor(text);
  store(OwnKind::nvtxDomain, nvtxDomainId(domain), text, 0);
  return domain;
}
void domainDestroy(nvtxDomainHandle_t domain) { store(OwnKind::nvtxDomainDestroy, nvtxDomainId(domain), 0, 0); }
template <class Char>
nvtxStringHandle_t domainRegisterString(nvtxDomainHandle_t, const Char* text) {
  return nvtxHandleOf(textHere(text));
}

class ModuleTable {
 public:
  ModuleTable(const NvtxExportTableCallbacks& callbacks, NvtxCallbackModule module) {
    if (callbacks.GetModuleFunctionTable(module, &table_, &size_) == 0) size_ = 0;
  }
  template <class Function>
  void set(unsigned int id, Function function) {
    if (table_ != nullptr && id < size_ && table_[id] != nullptr) {
      *table_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
    }
  }

 private:
  NvtxFunctionTable table_ = nullptr;
  unsigned int size_ = 0;
};

void setCore(ModuleTable table) {
  table.set(NVTX_CBID_CORE_MarkEx, markEx);
  table.set(NVTX_CBID_CORE_MarkA, mark<char>);
  table.set(NVTX_CBID_CORE_MarkW, mark<wchar_t>);
  table.set(NVTX_CBID_CORE_RangeStartEx, rangeStartEx);
  table.set(NVTX_CBID_CORE_RangeStartA, rangeStart<char>);
  table.set(NVTX_CBID_CORE_RangeStartW, rangeStart<wchar_t>);
  table.set(NVTX_CBID_CORE_RangeEnd, rangeEnd);
  table.set(NVTX_CBID_CORE_RangePushEx, rangePushEx);
  table.set(NVTX_CBID_CORE_RangePushA, rangePush<char>);
  table.set(NVTX_CBID_CORE_RangePushW, rangePush<wchar_t>);
  table.set(NVTX_CBID_CORE_RangePop, rangePop);
  table.set(NVTX_CBID_CORE_NameCategoryA, nameCategory<char>);
  table.set(NVTX_CBID_CORE_NameCategoryW, nameCategory<wchar_t>);
  table.set(NVTX_CBID_CORE_NameOsThreadA, nameOsThread<char>);
  table.set(NVTX_CBID_CORE_NameOsThreadW, nameOsThread<wchar_t>);
}

void setDomains(ModuleTable table) {
  table.set(NVTX_CBID_CORE2_DomainMarkEx, domainMarkEx);
  table.set(NVTX_CBID_CORE2_DomainRangeStartEx, domainRangeStartEx);
  table.set(NVTX_CBID_CORE2_DomainRangeEnd, domainRangeEnd);
  table.set(NVTX_CBID_CORE2_DomainRangePushEx, domainRangePushEx);
  table.set(NVTX_CBID_CORE2_DomainRangePop, domainRangePop);
  table.set(NVTX_CBID_CORE2_DomainNameCategoryA, domainNameCategory<char>);
  table.set(NVTX_CBID_CORE2_DomainNameCategoryW, domainNameCategory<wchar_t>);
  table.set(NVTX_CBID_CORE2_DomainRegisterStringA, domainRegisterString<char>);
  table.set(NVTX_CBID_CORE2_DomainRegisterStringW, domainRegisterString<wchar_t>);
  table.set(NVTX_CBID_CORE2_DomainCreateA, domainCreate<char>);
  table.set(NVTX_CBID_CORE2_DomainCreateW, domainCreate<wchar_t>);
  table.set(NVTX_CBID_CORE2_DomainDestroy, domainDestroy);
}

}  // namespace

bool attachNvtx(NvtxGetExportTable getExportTable) noexcept {
  if (getExportTable == nullptr || !ensureSession(EntryPoint::nvtx)) return false;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(getExportTable(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof *callbacks) return false;
  const auto* version = static_cast<const NvtxExportTableVersionInfo*>(getExportTable(NVTX_ETID_VERSIONINFO));
  if (version != nullptr && version->struct_size >= sizeof *version && version->SetInjectionNvtxVersion != nullptr) {
    version->SetInjectionNvtxVersion(NVTX_VERSION);
  }
  setCore(ModuleTable(*callbacks, NVTX_CB_MODULE_CORE));
  setDomains(ModuleTable(*callbacks, NVTX_CB_MODULE_CORE2));
  gSession.header->nvtxAttached = 1;
  return true;
}

}  // namespace warpmeter::inject
