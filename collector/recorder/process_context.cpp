// SPDX-License-Identifier: Apache-2.0
#include "process_context.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

#include "kernel_names.h"
#include "proc_info.h"

namespace warpmeter::recorder {
namespace {

constexpr std::string_view kLostText = "(name lost)";
constexpr std::int64_t kHour = 3600LL * 1'000'000'000;

}  // namespace

ProcessContext::ProcessContext(Session& session, std::shared_ptr<const GuestMemory> memory, std::int64_t pid)
    : session_(session),
      memory_(std::move(memory)),
      pid_(pid),
      globalPid_(makeGlobalPid(pid)),
      correlations_([&session] { return session.processIndexes++; }) {}

std::int64_t ProcessContext::time(std::uint64_t cuptiNs) {
  const auto raw = static_cast<std::int64_t>(cuptiNs);
  if (!clockChecked_ && cuptiNs != 0) {
    clockChecked_ = true;
    const wire::Header& h = memory_->header();
    const std::int64_t offset = h.cuptiTimestampRealtimeNs - h.cuptiTimestampNs;
    const std::int64_t now = realtimeNs();
    const bool near = raw <= now + kHour && raw >= now - 24 * kHour;
    const std::int64_t moved = raw > 0 && h.cuptiTimestampNs > 0 ? raw + offset : raw;
    if (!near && moved <= now + kHour && moved >= now - 24 * kHour) clockOffsetNs_ = offset;
  }
  std::int64_t result = 0;
  if (__builtin_add_overflow(raw, clockOffsetNs_, &result)) result = raw;
  return __builtin_sub_overflow(result, session_.startRealtimeNs, &result) ? 0 : result;
}

std::int64_t ProcessContext::thread(std::uint32_t tid) {
  if (tid == 0) return kNull;
  // Inside a pid namespace of its own the main thread has another number here.
  if (tid == memory_->pidInGuest()) tid = static_cast<std::uint32_t>(pid_);
  const std::int64_t id = makeGlobalTid(pid_, tid).value;
  if (tid != lastTid_) {
    lastTid_ = tid;
    if (threads_.insert(tid).second) newThreads_.insert(id);
  }
  return id;
}

const KernelNames& ProcessContext::intern(std::uint64_t reference) {
  const auto text = memory_->text(reference);
  if (!text || reference == wire::kNameLost) {
    countLoss(loss::kNames, "names of kernels were not announced before the process ended, or did not fit", 1);
    if (isNull(lost_.mangled)) {
      const std::int64_t id = session_.intern(kLostText);
      lost_ = {id, id, id};
    }
    return lost_;
  }
  const std::string demangled = demangle(*text);
  KernelNames names;
  names.mangled = session_.intern(*text);
  names.demangled = session_.intern(demangled);
  names.shortName = session_.intern(shortKernelName(demangled));
  return kernels_.emplace(reference, names).first->second;
}

const KernelNames& ProcessContext::kernelNames(std::uint64_t field) {
  if (field == lastKernelReference_ && lastKernel_ != nullptr) return *lastKernel_;
  std::uint64_t reference = field;
  if ((field & wire::kStringBit) == 0) {
    readAnnounced();
    const auto at = nameOfPointer_.find(field);
    reference = at == nameOfPointer_.end() ? wire::kNameLost : at->second;
  }
  const auto known = kernels_.find(reference);
  const KernelNames& names = known != kernels_.end() ? known->second : intern(reference);
  if (&names != &lost_ && reference == field) {  // map nodes do not move
    lastKernelReference_ = field;
    lastKernel_ = &names;
  }
  return names;
}

std::int64_t ProcessContext::textId(std::uint64_t reference) {
  if (reference == wire::kNoString) return kNull;
  const auto known = texts_.find(reference);
  if (known != texts_.end()) return known->second;
  auto text = memory_->text(reference);
  if (!text || reference == wire::kNameLost) {
    countLoss(loss::kNames, "texts of NVTX did not fit", 1);
    return session_.intern(kLostText);
  }
  return texts_.emplace(reference, session_.intern(*text)).first->second;
}

std::string ProcessContext::text(std::uint64_t reference) {
  return memory_->text(reference).value_or(std::string());
}

void ProcessContext::readAnnounced() {
  for (const auto& entry : memory_->announcedSince(announcedCursor_, dead_)) {
    switch (entry.kind) {
      case wire::StringKind::name: nameOfPointer_[entry.key] = entry.reference; break;
      case wire::StringKind::runtimeApi: apiReference_[entry.key & 0xffffffff] = entry.reference; break;
      case wire::StringKind::driverApi:
        apiReference_[std::uint64_t{1} << 32 | (entry.key & 0xffffffff)] = entry.reference;
        break;
      default: break;
    }
  }
}

std::int64_t ProcessContext::apiName(bool driver, std::uint32_t cbid) {
  const std::uint64_t key = std::uint64_t{driver} << 32 | cbid;
  const auto known = apiId_.find(key);
  if (known != apiId_.end()) return known->second;
  auto at = apiReference_.find(key);
  if (at == apiReference_.end()) {
    readAnnounced();
    at = apiReference_.find(key);
  }
  const auto name = at == apiReference_.end() ? std::nullopt : memory_->text(at->second);
  // Not remembered when unknown: the guest's thread may announce it a moment later.
  if (!name) return session_.intern(fmt::format("{} cbid {}", driver ? "driver" : "runtime", cbid));
  return apiId_.emplace(key, session_.intern(*name)).first->second;
}

std::int64_t ProcessContext::deviceOf(std::uint32_t context) const {
  const auto at = contextDevice_.find(context);
  return at == contextDevice_.end() ? 0 : std::int64_t{at->second};
}

void ProcessContext::countLoss(std::string_view kind, std::string_view why, std::int64_t count, std::int64_t atNs) {
  session_.losses.add(kind, why, count, atNs, atNs, globalPid_);
}

}  // namespace warpmeter::recorder
