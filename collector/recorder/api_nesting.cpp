// SPDX-License-Identifier: Apache-2.0
#include "api_nesting.h"

#include <cuda.h>
#include <cupti_driver_cbid.h>

#include <algorithm>
#include <iterator>

namespace warpmeter::recorder {
namespace {

// Calls that load, link or unload code, resolve it, or make, activate or destroy a context. Getters and setters of a
// context are left out: they cost nothing and say nothing. cuCtxSynchronize is a wait, not a context call.
constexpr std::uint32_t kKept[] = {
    CUPTI_DRIVER_TRACE_CBID_cuCtxCreate, CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v2,
    CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v3, CUPTI_DRIVER_TRACE_CBID_cuCtxCreate_v4,
    CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy, CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2,
    CUPTI_DRIVER_TRACE_CBID_cuCtxFromGreenCtx, CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate,
    CUPTI_DRIVER_TRACE_CBID_cuGreenCtxDestroy, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRetain,
    CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2,
    CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset, CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoad, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadData,
    CUPTI_DRIVER_TRACE_CBID_cuModuleLoadDataEx, CUPTI_DRIVER_TRACE_CBID_cuModuleLoadFatBinary,
    CUPTI_DRIVER_TRACE_CBID_cuModuleUnload, CUPTI_DRIVER_TRACE_CBID_cuModuleGetFunction,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadData, CUPTI_DRIVER_TRACE_CBID_cuLibraryLoadFromFile,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload, CUPTI_DRIVER_TRACE_CBID_cuLibraryGetKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryGetModule, CUPTI_DRIVER_TRACE_CBID_cuKernelGetFunction,
    CUPTI_DRIVER_TRACE_CBID_cuFuncLoad, CUPTI_DRIVER_TRACE_CBID_cuLinkCreate,
    CUPTI_DRIVER_TRACE_CBID_cuLinkCreate_v2, CUPTI_DRIVER_TRACE_CBID_cuLinkAddData,
    CUPTI_DRIVER_TRACE_CBID_cuLinkAddData_v2, CUPTI_DRIVER_TRACE_CBID_cuLinkAddFile,
    CUPTI_DRIVER_TRACE_CBID_cuLinkAddFile_v2, CUPTI_DRIVER_TRACE_CBID_cuLinkComplete,
    CUPTI_DRIVER_TRACE_CBID_cuLinkDestroy};

bool inside(const ApiRow& row, std::int64_t start, std::int64_t end) { return row.start >= start && row.end <= end; }

}  // namespace

bool isKeptInsideRuntimeCall(std::uint32_t cbid) {
  return std::find(std::begin(kKept), std::end(kKept), cbid) != std::end(kKept);
}

ApiNesting::Thread& ApiNesting::threadOf(std::int64_t globalTid) {
  if (last_ == nullptr || globalTid != lastThread_) {
    last_ = &threads_[globalTid];  // nodes do not move
    lastThread_ = globalTid;
  }
  return *last_;
}

// The runtime calls of one thread do not overlap, so only the last one that started before can be around the row.
bool ApiNesting::insideRemembered(const Thread& thread, const ApiRow& row) {
  const auto& calls = thread.runtime;
  if (calls.empty() || row.start > calls.back().end) return false;
  auto at = std::upper_bound(calls.begin(), calls.end(), row.start,
                             [](std::int64_t start, const Interval& call) { return start < call.start; });
  return at != calls.begin() && inside(row, std::prev(at)->start, std::prev(at)->end);
}

void ApiNesting::runtimeCall(const ApiRow& row, std::vector<ApiRow>& out) {
  Thread& thread = threadOf(row.globalTid);
  while (!thread.held.empty() && inside(thread.held.back().row, row.start, row.end)) {
    thread.held.pop_back();
    --held_;
  }
  auto& calls = thread.runtime;
  if (calls.empty() || calls.back().start <= row.start) {
    calls.push_back({row.start, row.end});
  } else {
    calls.insert(std::upper_bound(calls.begin(), calls.end(), row.start,
                                  [](std::int64_t start, const Interval& call) { return start < call.start; }),
                 {row.start, row.end});
  }
  if (calls.size() > kRemembered) calls.pop_front();
  out.push_back(row);
}

void ApiNesting::driverCall(const ApiRow& row, std::uint32_t cbid, std::int64_t nowNs, std::vector<ApiRow>& out) {
  if (isKeptInsideRuntimeCall(cbid)) {
    out.push_back(row);
    return;
  }
  Thread& thread = threadOf(row.globalTid);
  if (insideRemembered(thread, row)) return;
  thread.held.push_back({row, nowNs});
  ++held_;
  if (thread.held.size() > kMaxHeld) decideOldest(thread, out);
}

void ApiNesting::decideOldest(Thread& thread, std::vector<ApiRow>& out) {
  if (!insideRemembered(thread, thread.held.front().row)) out.push_back(thread.held.front().row);
  thread.held.pop_front();
  --held_;
}

void ApiNesting::expire(std::int64_t nowNs, std::vector<ApiRow>& out) {
  if (held_ == 0) return;
  for (auto& [tid, thread] : threads_) {
    while (!thread.held.empty() && nowNs - thread.held.front().arrivedNs > kHoldNs) decideOldest(thread, out);
  }
}

void ApiNesting::flush(std::vector<ApiRow>& out) {
  for (auto& [tid, thread] : threads_) {
    while (!thread.held.empty()) decideOldest(thread, out);
  }
}

}  // namespace warpmeter::recorder
