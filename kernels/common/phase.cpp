// SPDX-License-Identifier: Apache-2.0
#include "common/phase.h"

#include <nvtx3/nvToolsExt.h>

namespace warpmeter::kernels {
namespace {

constexpr const char* kDomain = "warpmeter.kernels";

nvtxEventAttributes_t attributes(void* registeredString) {
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff4e79a7;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = static_cast<nvtxStringHandle_t>(registeredString);
  return event;
}

nvtxDomainHandle_t handle(void* domain) { return static_cast<nvtxDomainHandle_t>(domain); }

}  // namespace

// The domain is never destroyed: the process ends with it.
Nvtx::Nvtx(bool on) : on_(on) {
  if (on_) {
    domain_ = nvtxDomainCreateA(kDomain);
  }
}

void* Nvtx::registered(const char* name) {
  for (const Registered& known : strings_) {
    if (known.name == name) {
      return known.handle;
    }
  }
  void* made = nvtxDomainRegisterStringA(handle(domain_), name);
  strings_.push_back({name, made});
  return made;
}

void Nvtx::count(const char* name, const char* kind, bool defaultDomain) {
  for (Count& known : counts_) {
    if (known.name == name && std::string_view(known.kind) == kind && known.defaultDomain == defaultDomain) {
      ++known.count;
      return;
    }
  }
  counts_.push_back({name, kind, defaultDomain, 1});
}

void Nvtx::push(const char* name) {
  if (on_) {
    const nvtxEventAttributes_t event = attributes(registered(name));
    nvtxDomainRangePushEx(handle(domain_), &event);
    count(name, "pushPop", false);
  }
}

void Nvtx::pop() {
  if (on_) {
    nvtxDomainRangePop(handle(domain_));
  }
}

void Nvtx::pushPlain(const char* name) {
  if (on_) {
    nvtxRangePushA(name);
    count(name, "pushPop", true);
  }
}

void Nvtx::popPlain() {
  if (on_) {
    nvtxRangePop();
  }
}

std::uint64_t Nvtx::start(const char* name) {
  if (!on_) {
    return 0;
  }
  const nvtxEventAttributes_t event = attributes(registered(name));
  count(name, "startEnd", false);
  return nvtxDomainRangeStartEx(handle(domain_), &event);
}

void Nvtx::end(std::uint64_t id) {
  if (on_) {
    nvtxDomainRangeEnd(handle(domain_), id);
  }
}

void Nvtx::mark(const char* name) {
  if (on_) {
    const nvtxEventAttributes_t event = attributes(registered(name));
    nvtxDomainMarkEx(handle(domain_), &event);
    count(name, "mark", false);
  }
}

void Nvtx::write(JsonWriter& json) const {
  std::int64_t total = 0;
  for (const Count& entry : counts_) {
    total += entry.count;
  }
  json.beginObject();
  json.member("domain", kDomain);
  json.member("registeredStrings", strings_.size());
  json.member("total", total);
  json.key("ranges");
  json.beginArray();
  for (const Count& entry : counts_) {
    json.beginObject();
    json.member("name", entry.name);
    json.member("kind", entry.kind);
    json.key("domain");
    if (entry.defaultDomain) {
      json.null();
    } else {
      json.value(kDomain);
    }
    json.member("count", entry.count);
    json.endObject();
  }
  json.endArray();
  json.endObject();
}

}  // namespace warpmeter::kernels
