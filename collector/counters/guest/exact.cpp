// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/counters_guest/exact.h"

#include <cstdio>
#include <cstring>

#include "clock.h"
#include "exact_session.h"
#include "kernel_table.h"
#include "launch.h"
#include "reasons.h"

namespace warpmeter::counters {
namespace {

using wire::ExactState;

constexpr std::int64_t kMs = 1000000;
constexpr std::int64_t kConfigurationsWaitNs = 6000 * kMs;  // once, at the first launch that could be ranged
constexpr std::int64_t kCaptureWaitNs = 10000 * kMs;
// Changing the configuration costs about 8 ms. A program's first changes are free, so that short ones are
// measured whole; later ones wait until the session was of no use for a while.
constexpr std::uint32_t kFreeSessions = 16;
constexpr std::int64_t kSessionPauseNs = 50 * kMs;
constexpr std::uint64_t kUselessLaunches = 64;
constexpr std::int64_t kUselessNs = 50 * kMs;
constexpr std::uint32_t kMaxFailures = 20;         // ranges of a kernel that did not count
constexpr std::int64_t kQuietNs = 1000 * kMs;      // nothing new for so long: callbacks off
constexpr std::int64_t kLookEveryNs = 5000 * kMs;  // then on again for one tick

enum class Phase : std::uint32_t { off, asking, measuring, ended };

struct Exact {
  ExactHost host;
  RangeFunctions functions;
  std::atomic<Phase> phase{Phase::off};
  std::atomic<std::uint32_t> turn{0};  // 1: a thread is about to open, use or close a session
  std::atomic<std::uint32_t> rangeOpen{0};
  std::atomic<std::uint32_t> disturbed{0};
  std::atomic<std::int32_t> captures{0};
  std::atomic<std::uint64_t> seen{0};       // launches
  std::atomic<std::int64_t> progressNs{0};  // last new kernel or range
  std::atomic<std::uint32_t> closeWanted{0}, callbacksOn{0}, newModules{0};
  std::int64_t lookedNs = 0;  // worker only

  // Of the thread that has the turn.
  ExactSession session;
  Kernel* current = nullptr;
  std::uint32_t configurations = 0;
  std::uint32_t sessions = 0;
  std::int64_t sessionNs = 0, usedNs = 0;  // last opened, last used
  std::uint64_t usedSeen = 0;
  std::uint32_t needy[wire::kMaxConfigurations] = {};  // kernels launched twice that still need it
};
constinit Exact gExact;
constinit KernelTable gKernels;
constinit thread_local bool tRanging = false;  // this thread has a range open

bool takeTurn() noexcept { return gExact.turn.exchange(1, std::memory_order_seq_cst) == 0; }
void endTurn() noexcept { gExact.turn.store(0, std::memory_order_seq_cst); }
void add(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
  counter.fetch_add(n, std::memory_order_relaxed);
}

void end(const char* reason, const char* text, CUptiResult result) noexcept {
  if (gExact.phase.exchange(Phase::ended, std::memory_order_seq_cst) == Phase::ended) return;
  wire::ExactArea& area = *gExact.host.area;
  std::snprintf(area.reason, sizeof area.reason, "%s", reason);
  std::snprintf(area.reasonText, sizeof area.reasonText, "%s", text);
  area.error = result;
  area.state.store(static_cast<std::uint32_t>(ExactState::ended), std::memory_order_release);
}

void endBy(const StepFailure& failure) noexcept {
  char text[sizeof wire::ExactArea::reasonText];
  describe(failure, gExact.functions.cuptiGetResultString, text, sizeof text);
  end(reasonOf(failure.result), text, failure.result);
}

CUptiResult switchCalls(std::span<const CUpti_CallbackId> calls, std::uint32_t on) noexcept {
  CUptiResult first = CUPTI_SUCCESS;
  for (const CUpti_CallbackId id : calls) {
    const CUptiResult result =
        gExact.functions.cuptiEnableCallback(on, gExact.host.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    // A call that this CUPTI is too old to know is not there to be missed.
    if (result != CUPTI_SUCCESS && result != CUPTI_ERROR_INVALID_PARAMETER && first == CUPTI_SUCCESS)
      first = result;
  }
  return first;
}

// The first launch of all: which chip is it?
void askForConfigurations(CUcontext context) noexcept {
  const RangeFunctions& f = gExact.functions;
  CUpti_Profiler_Initialize_Params initialize{};
  initialize.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
  StepFailure failure{"cuptiProfilerInitialize", f.cuptiProfilerInitialize(&initialize)};
  std::uint32_t device = 0;
  if (failure.result == CUPTI_SUCCESS) failure = {"cuptiGetDeviceId", f.cuptiGetDeviceId(context, &device)};
  CUpti_Device_GetChipName_Params chip{};
  chip.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE;
  chip.deviceIndex = device;
  if (failure.result == CUPTI_SUCCESS) failure = {"cuptiDeviceGetChipName", f.cuptiDeviceGetChipName(&chip)};
  if (failure.result != CUPTI_SUCCESS) {
    endBy(failure);
    return;
  }
  wire::ExactArea& area = *gExact.host.area;
  std::snprintf(area.chip, sizeof area.chip, "%s", chip.pChipName == nullptr ? "?" : chip.pChipName);
  area.state.store(static_cast<std::uint32_t>(ExactState::configurations), std::memory_order_release);
  gExact.host.runBeforeExit();
  Phase off = Phase::off;
  gExact.phase.compare_exchange_strong(off, Phase::asking, std::memory_order_acq_rel);
}

// With the turn. True once there are configurations; waits for them once, unless a capture begins meanwhile.
bool haveConfigurations() noexcept {
  if (gExact.configurations != 0) return true;
  wire::ExactArea& area = *gExact.host.area;
  const std::int64_t start = monotonicNow();
  auto answer = wire::ExactAnswer::none;
  while (true) {
    answer = static_cast<wire::ExactAnswer>(area.answer.load(std::memory_order_acquire));
    if (answer != wire::ExactAnswer::none || gExact.captures.load(std::memory_order_seq_cst) != 0) break;
    if (monotonicNow() - start > kConfigurationsWaitNs) break;
    pauseMicroseconds(500);
  }
  add(area.waitNs, static_cast<std::uint64_t>(monotonicNow() - start));
  if (answer == wire::ExactAnswer::none) {
    if (gExact.captures.load(std::memory_order_seq_cst) == 0) {
      end("not_recorded", "the recorder prepared no configurations within 6 s", CUPTI_SUCCESS);
    }
    return false;
  }
  const wire::Configurations& all = *wire::configurationsOf(&area);
  if (answer == wire::ExactAnswer::refused) {
    char text[sizeof area.refusal];
    std::memcpy(text, area.refusal, sizeof text);
    text[sizeof text - 1] = 0;
    char* blank = text;
    while (*blank != 0 && *blank != ' ') ++blank;
    const char* rest = *blank == 0 ? blank : blank + 1;
    *blank = 0;
    end(text, rest, CUPTI_SUCCESS);
    return false;
  }
  if (!wire::soundConfigurations(&all, all.bytes) ||
      std::memcmp(all.chip, area.chip, std::strlen(area.chip) + 1) != 0) {
    end("not_recorded", "the configurations in the shared memory are not sound", CUPTI_SUCCESS);
    return false;
  }
  gExact.configurations = all.count;
  area.state.store(static_cast<std::uint32_t>(ExactState::measuring), std::memory_order_seq_cst);
  gExact.phase.store(Phase::measuring, std::memory_order_release);
  return true;
}

bool needs(const Kernel& kernel, std::uint32_t configuration) noexcept {
  return kernel.done[configuration].load(std::memory_order_relaxed) < gExact.host.launchesPerKernel;
}

// With the turn: from its second launch on a kernel counts among those that need something.
void countNeeds(Kernel& kernel) noexcept {
  if (kernel.counted != 0) return;
  kernel.counted = 1;
  for (std::uint32_t c = 0; c < gExact.configurations; ++c) ++gExact.needy[c];
}

// With the turn.
void settle(Kernel& kernel, std::uint32_t configuration) noexcept {
  if (gExact.needy[configuration] > 0) --gExact.needy[configuration];
  for (std::uint32_t c = 0; c < gExact.configurations; ++c) {
    if (needs(kernel, c)) return;
  }
  kernel.complete.store(1, std::memory_order_relaxed);
}
void giveUp(Kernel& kernel) noexcept {
  for (std::uint32_t c = 0; c < gExact.configurations; ++c) {
    if (needs(kernel, c) && gExact.needy[c] > 0) --gExact.needy[c];
  }
  kernel.complete.store(1, std::memory_order_relaxed);
  add(gExact.host.area->gaveUp);
}

bool anythingNeeded() noexcept {
  for (std::uint32_t c = 0; c < gExact.configurations; ++c) {
    if (gExact.needy[c] != 0) return true;
  }
  return false;
}

// With the turn.
void closeSession() noexcept {
  if (!gExact.session.isOpen()) return;
  const std::int64_t start = monotonicNow();
  StepFailure failure;
  const bool ok = gExact.session.close(failure);
  add(gExact.host.area->sessionNs, static_cast<std::uint64_t>(monotonicNow() - start));
  gExact.closeWanted.store(0, std::memory_order_relaxed);
  if (!ok) endBy(failure);
}

// With the turn. Whether closing the session now (and perhaps opening another) is worth its time.
bool mayReplace(std::int64_t now) noexcept {
  if (gExact.sessions >= kFreeSessions && now - gExact.sessionNs < kSessionPauseNs) return false;
  if (gExact.needy[gExact.session.configuration()] == 0) return true;
  return gExact.seen.load(std::memory_order_relaxed) - gExact.usedSeen >= kUselessLaunches ||
         now - gExact.usedNs >= kUselessNs;
}

// With the turn. True: a session for this configuration is open.
bool openSession(CUcontext context, std::uint32_t configuration) noexcept {
  const std::int64_t start = monotonicNow();
  if (gExact.session.isOpen()) {
    if (!mayReplace(start)) return false;
    closeSession();
    if (gExact.phase.load(std::memory_order_relaxed) != Phase::measuring) return false;
  } else if (gExact.sessions >= kFreeSessions && start - gExact.sessionNs < kSessionPauseNs) {
    return false;
  }
  wire::ExactArea& area = *gExact.host.area;
  area.state.store(static_cast<std::uint32_t>(ExactState::measuring), std::memory_order_seq_cst);
  if (area.lease.load(std::memory_order_seq_cst) == 0) {  // the sampler has the counters from now on
    area.state.store(static_cast<std::uint32_t>(ExactState::quiet), std::memory_order_seq_cst);
    gExact.phase.store(Phase::ended, std::memory_order_release);
    return false;
  }
  const std::int64_t opening = monotonicNow();
  StepFailure failure;
  const auto opened = gExact.session.open(gExact.functions, gExact.host, context, configuration, failure);
  add(area.setupNs, static_cast<std::uint64_t>(monotonicNow() - opening));
  gExact.sessionNs = monotonicNow();
  if (opened == ExactSession::Opened::failed) endBy(failure);
  if (opened == ExactSession::Opened::noSlot) add(area.imagesLost);
  if (opened != ExactSession::Opened::yes) return false;
  ++gExact.sessions;
  add(area.sessions);
  return true;
}

// The open session's configuration if the kernel needs it, else the first that it needs; -1 = none.
std::int64_t choose(const Kernel& kernel, CUcontext context) noexcept {
  const std::uint32_t open = gExact.session.configuration();
  if (gExact.session.matches(context, open) && needs(kernel, open)) return open;
  for (std::uint32_t c = 0; c < gExact.configurations; ++c) {
    if (needs(kernel, c)) return c;
  }
  return -1;
}

// With the turn, which stays taken until the launch returns when this says true.
bool openRange(Kernel& kernel, CUcontext context) noexcept {
  if (gExact.captures.load(std::memory_order_seq_cst) != 0) return false;
  if (!haveConfigurations()) return false;
  countNeeds(kernel);
  const std::int64_t configuration = choose(kernel, context);
  if (configuration < 0) return false;
  const auto wanted = static_cast<std::uint32_t>(configuration);
  if (!gExact.session.matches(context, wanted) && !openSession(context, wanted)) return false;
  // Opening took a while. Whoever begins to capture from here on sees the turn taken and waits.
  if (gExact.captures.load(std::memory_order_seq_cst) != 0) return false;
  gExact.disturbed.store(0, std::memory_order_relaxed);
  gExact.rangeOpen.store(1, std::memory_order_release);
  const std::int64_t start = monotonicNow();
  StepFailure failure;
  const bool pushed = gExact.session.push(failure);
  add(gExact.host.area->rangeNs, static_cast<std::uint64_t>(monotonicNow() - start));
  if (pushed) {
    gExact.current = &kernel;
    return true;
  }
  gExact.rangeOpen.store(0, std::memory_order_relaxed);
  endBy(failure);
  closeSession();
  return false;
}

void closeRange(const CUpti_CallbackData& call) noexcept {
  wire::ExactArea& area = *gExact.host.area;
  Kernel& kernel = *gExact.current;
  const std::uint32_t configuration = gExact.session.configuration();
  const auto* result = static_cast<const CUresult*>(call.functionReturnValue);
  const bool failed = result != nullptr && *result != CUDA_SUCCESS;
  const std::int64_t start = monotonicNow();
  StepFailure failure;
  const bool popped = gExact.session.pop(call.correlationId, kernel.number, failure);
  const std::int64_t now = monotonicNow();
  add(area.rangeNs, static_cast<std::uint64_t>(now - start));
  gExact.rangeOpen.store(0, std::memory_order_relaxed);
  gExact.usedNs = now;
  gExact.usedSeen = gExact.seen.load(std::memory_order_relaxed);
  gExact.progressNs.store(now, std::memory_order_relaxed);
  if (!popped) {
    endBy(failure);
    closeSession();
    return;
  }
  // Closing takes a while, and what is launched meanwhile may count in the range.
  std::uint32_t flags = failed ? wire::kRangeFailed : 0;
  if (gExact.disturbed.load(std::memory_order_relaxed) != 0) flags |= wire::kRangeDisturbed;
  gExact.session.markLast(flags);
  add(area.ranges);
  if (flags == 0) {
    if (kernel.done[configuration].fetch_add(1, std::memory_order_relaxed) + 1u >=
        gExact.host.launchesPerKernel) {
      settle(kernel, configuration);
    }
  } else {
    add(area.disturbed);
    if (++kernel.failures >= kMaxFailures) giveUp(kernel);
  }
  if (gExact.session.isFull() || (!anythingNeeded() && mayReplace(now))) closeSession();
}

// With the turn: the session is of no use any more, or our thread wants it closed.
void closeIdleSession() noexcept {
  if (!gExact.session.isOpen()) return;
  const bool wanted = gExact.closeWanted.load(std::memory_order_relaxed) != 0;
  if ((wanted || (!anythingNeeded() && mayReplace(monotonicNow()))) &&
      gExact.captures.load(std::memory_order_seq_cst) == 0) {
    closeSession();
  }
}

void launchEnters(CUpti_CallbackId id, const CUpti_CallbackData& call) noexcept {
  if (gExact.rangeOpen.load(std::memory_order_relaxed) != 0)
    gExact.disturbed.store(1, std::memory_order_relaxed);
  const Phase phase = gExact.phase.load(std::memory_order_acquire);
  if (phase == Phase::ended || gExact.captures.load(std::memory_order_relaxed) != 0) return;
  const Launch launch = readLaunch(id, call);
  if (launch.key == 0) return;
  const std::uint64_t seen = gExact.seen.fetch_add(1, std::memory_order_relaxed);
  bool fresh = false;
  Kernel* kernel = gKernels.find(launch.key, fresh);
  if (kernel == nullptr) {
    add(gExact.host.area->tableFull);
    return;
  }
  if (fresh) {
    add(gExact.host.area->kernels);
    gExact.progressNs.store(monotonicNow(), std::memory_order_relaxed);
    if (launch.cooperative || isCommunication(call.symbolName))
      kernel->never.store(1, std::memory_order_relaxed);
  }
  const bool first = kernel->launches.fetch_add(1, std::memory_order_relaxed) == 0;
  const bool nothing = first || kernel->never.load(std::memory_order_relaxed) != 0 ||
                       kernel->complete.load(std::memory_order_relaxed) != 0;
  if (nothing && phase != Phase::off && seen % kUselessLaunches != 0 &&
      gExact.closeWanted.load(std::memory_order_relaxed) == 0) {
    return;
  }
  if (!takeTurn()) return;
  if (gExact.phase.load(std::memory_order_relaxed) == Phase::off) askForConfigurations(call.context);
  if (!nothing && gExact.phase.load(std::memory_order_relaxed) != Phase::ended &&
      openRange(*kernel, call.context)) {
    tRanging = true;  // the turn ends when the launch returns
    return;
  }
  closeIdleSession();
  endTurn();
}

void launchReturns(const CUpti_CallbackData& call) noexcept {
  if (!tRanging) return;
  closeRange(call);
  tRanging = false;
  endTurn();
}

void captureCall(bool begins, const CUpti_CallbackData& call) noexcept {
  const auto* result = static_cast<const CUresult*>(call.functionReturnValue);
  if (begins && call.callbackSite == CUPTI_API_ENTER) {
    gExact.captures.fetch_add(1, std::memory_order_seq_cst);
    // A range that is open now must be closed before the capture begins, or the capture would be invalid.
    const std::int64_t start = monotonicNow();
    while (gExact.turn.load(std::memory_order_seq_cst) != 0 && monotonicNow() - start < kCaptureWaitNs) {
      pauseMicroseconds(20);
    }
  } else if (begins && result != nullptr && *result != CUDA_SUCCESS) {
    gExact.captures.fetch_sub(1, std::memory_order_seq_cst);
  } else if (!begins && call.callbackSite == CUPTI_API_EXIT && result != nullptr && endsCapture(*result)) {
    // One that began before we listened ends here too: never below 0.
    std::int32_t now = gExact.captures.load(std::memory_order_relaxed);
    while (now > 0 && !gExact.captures.compare_exchange_weak(now, now - 1, std::memory_order_seq_cst)) {
    }
  }
}

// Waits a little for another thread's range; false: it took too long.
bool waitForTurn() noexcept {
  for (int i = 0; i < 2000; ++i) {
    if (takeTurn()) return true;
    pauseMicroseconds(100);
  }
  return false;
}

bool isOn() noexcept {
  const Phase phase = gExact.phase.load(std::memory_order_acquire);
  return phase == Phase::asking || phase == Phase::measuring;
}

}  // namespace

void exactBegin(const ExactHost& host) noexcept {
  if (host.launchesPerKernel == 0 || host.area == nullptr) return;
  gExact.host = host;
  if (gExact.host.launchesPerKernel > 200) gExact.host.launchesPerKernel = 200;
  host.area->lease.store(1, std::memory_order_relaxed);
  if (const char* missing = loadRangeFunctions(gExact.functions, host.libraryPath)) {
    char text[sizeof wire::ExactArea::reasonText];
    std::snprintf(text, sizeof text, "this CUPTI has no %s: CUDA 12.6 Update 2 or newer is needed", missing);
    end("not_recorded", text, CUPTI_SUCCESS);
    return;
  }
  gExact.progressNs.store(monotonicNow(), std::memory_order_relaxed);
  CUptiResult result = switchCalls(captureCalls(), 1);
  if (result == CUPTI_SUCCESS) result = switchCalls(launchCalls(), 1);
  gExact.callbacksOn.store(1, std::memory_order_release);
  if (result == CUPTI_SUCCESS) return;
  switchCalls(launchCalls(), 0);
  switchCalls(captureCalls(), 0);
  gExact.callbacksOn.store(0, std::memory_order_release);
  endBy({"cuptiEnableCallback", result});
}

bool exactCallback(CUpti_CallbackId id, const CUpti_CallbackData& call) noexcept {
  const CallKind kind = callKindOf(id);
  switch (kind) {
    case CallKind::none:
      return false;
    case CallKind::launch:
      if (call.callbackSite == CUPTI_API_ENTER) {
        launchEnters(id, call);
      } else {
        launchReturns(call);
      }
      return true;
    case CallKind::otherWork:
      if (gExact.rangeOpen.load(std::memory_order_relaxed) != 0)
        gExact.disturbed.store(1, std::memory_order_relaxed);
      return true;
    case CallKind::beginCapture:
    case CallKind::endCapture:
      captureCall(kind == CallKind::beginCapture, call);
      return true;
  }
  return false;
}

void exactContextEnds() noexcept {
  if (!isOn() || tRanging || !waitForTurn()) return;
  if (gExact.captures.load(std::memory_order_seq_cst) == 0) closeSession();
  endTurn();
}

void exactModuleLoaded() noexcept {
  if (isOn()) gExact.newModules.store(1, std::memory_order_relaxed);
}

void exactTick() noexcept {
  const Phase phase = gExact.phase.load(std::memory_order_acquire);
  const bool on = gExact.callbacksOn.load(std::memory_order_relaxed) != 0;
  wire::ExactArea* area = gExact.host.area;
  if (area == nullptr || (phase == Phase::ended && !on)) return;
  area->launchesSeen.store(gExact.seen.load(std::memory_order_relaxed), std::memory_order_relaxed);
  const std::int64_t now = monotonicNow();
  const bool modules = gExact.newModules.exchange(0, std::memory_order_relaxed) != 0;
  if (on) {
    const bool idle =
        phase != Phase::off && now - gExact.progressNs.load(std::memory_order_relaxed) > kQuietNs;
    if (modules || (phase != Phase::ended && !idle) || !takeTurn()) return;
    if (phase != Phase::ended && gExact.session.isOpen()) {  // closing needs a thread with the context
      gExact.closeWanted.store(1, std::memory_order_relaxed);
    } else {
      switchCalls(launchCalls(), 0);
      if (phase == Phase::ended) switchCalls(captureCalls(), 0);
      gExact.callbacksOn.store(0, std::memory_order_release);
      gExact.lookedNs = now;
      if (phase != Phase::ended) {
        area->state.store(static_cast<std::uint32_t>(ExactState::quiet), std::memory_order_seq_cst);
      }
    }
    endTurn();
  } else if (modules || now - gExact.lookedNs > kLookEveryNs) {
    if (area->lease.load(std::memory_order_seq_cst) == 0) {
      gExact.phase.store(Phase::ended, std::memory_order_release);
      return;
    }
    gExact.callbacksOn.store(1, std::memory_order_release);
    switchCalls(launchCalls(), 1);
    gExact.lookedNs = now;
    // One tick's worth of launches, unless something new turns up.
    gExact.progressNs.store(now - kQuietNs, std::memory_order_relaxed);
  }
}

void exactAtExit() noexcept {
  if (!isOn() || tRanging || !waitForTurn()) return;
  closeSession();
  gExact.phase.store(Phase::ended, std::memory_order_release);
  endTurn();
}

void exactForget() noexcept {
  gExact.phase.store(Phase::off, std::memory_order_relaxed);
  gExact.host = ExactHost{};
  gExact.session.forget();
  gExact.turn.store(0, std::memory_order_relaxed);
  gExact.rangeOpen.store(0, std::memory_order_relaxed);
  gExact.captures.store(0, std::memory_order_relaxed);
  gExact.callbacksOn.store(0, std::memory_order_relaxed);
  gExact.configurations = gExact.sessions = 0;
  for (std::uint32_t& n : gExact.needy) n = 0;
  gKernels.clear();
  tRanging = false;
}

}  // namespace warpmeter::counters
