// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/counters_guest/pc.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>

#include "clock.h"
#include "cubin.h"
#include "pc_sender.h"
#include "pc_session.h"

namespace warpmeter::counters {
namespace {

constexpr std::int64_t kMs = 1000000;
constexpr std::uint32_t kMaxGpus = 16;
constexpr std::int64_t kContextWaitNs = 2000 * kMs, kUnloadWaitNs = 500 * kMs, kExitWaitNs = 1000 * kMs;
// A buffer that is full again and again will not get better by itself.
constexpr std::uint32_t kMaxRestarts = 1000;
constexpr std::uint64_t kMaxImagesBytes = std::uint64_t{256} << 20;  // of the process
constexpr std::uint32_t kImages = 4096;

// A GPU of the process.
struct Gpu {
  PcSession session;
  PcSender sender;
  std::uint32_t restarts = 0;
  bool failed = false, known = false;
};

struct Pc {
  PcHost host;
  PcFunctions functions;
  std::atomic<std::uint32_t> on{0};
  std::atomic<std::uint32_t> turn{0};  // 1: a thread calls CUPTI's PC sampling
  std::atomic<std::uint32_t> imagesLost{0};
  std::atomic<std::uint64_t> imagesBytes{0};
  std::atomic<std::uint64_t> images[kImages] = {};  // checksums of what was sent, by place
};
constinit Pc gPc;
constinit Gpu gGpus[kMaxGpus];
constinit thread_local bool tInside = false;  // CUPTI may call back from inside its own functions

// Whoever has it may use gGpus.
class Turn {
 public:
  explicit Turn(std::int64_t waitNs) noexcept {
    if (tInside) return;
    const std::int64_t end = monotonicNow() + waitNs;
    while (gPc.turn.exchange(1, std::memory_order_acquire) != 0) {
      if (monotonicNow() >= end) return;
      pauseMicroseconds(50);
    }
    tInside = taken_ = true;
  }
  ~Turn() {
    if (!taken_) return;
    tInside = false;
    gPc.turn.store(0, std::memory_order_release);
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  explicit operator bool() const noexcept { return taken_; }

 private:
  bool taken_ = false;
};

bool isOn() noexcept { return gPc.on.load(std::memory_order_acquire) != 0; }

// All with the turn from here on.

void fail(Gpu& gpu, const char* reason, const char* text, CUptiResult result) noexcept {
  wire::PcBatchRecord& pending = gpu.sender.pending();
  gpu.failed = true;
  pending.state = static_cast<std::uint32_t>(wire::PcState::failed);
  pending.error = result;
  std::snprintf(pending.reason, sizeof pending.reason, "%s", reason);
  std::snprintf(pending.text, sizeof pending.text, "%s", text);
}

void fail(Gpu& gpu, const StepFailure& failure) noexcept {
  char text[sizeof wire::PcBatchRecord::text];
  describe(failure, gPc.functions.cuptiGetResultString, text, sizeof text);
  fail(gpu, reasonOf(failure.result), text, failure.result);
}

void send(Gpu& gpu, const CUpti_PCSamplingData& portion) noexcept {
  gpu.sender.send(gPc.host, gpu.session, portion);
}

void closeSession(Gpu& gpu) noexcept {
  if (!gpu.session.isOpen()) return;
  StepFailure failure;
  if (!gpu.session.close(failure, [&](const auto& portion) { send(gpu, portion); })) fail(gpu, failure);
}

bool openSession(Gpu& gpu, CUcontext context, std::uint32_t device) noexcept {
  StepFailure failure;
  if (gpu.session.open(gPc.functions, gPc.host, context, device, failure)) return true;
  fail(gpu, failure);
  return false;
}

void restart(Gpu& gpu) noexcept {
  const CUcontext context = gpu.session.context();
  closeSession(gpu);
  if (gpu.failed) return;
  if (++gpu.restarts > kMaxRestarts) {
    fail(gpu, "not_recorded",
         "the hardware's buffer was full again and again: record with a longer --pc-period",
         CUPTI_ERROR_OUT_OF_MEMORY);
    return;
  }
  openSession(gpu, context, gpu.sender.pending().deviceId);
}

void flushPending(Gpu& gpu) noexcept {
  gpu.sender.pending().imagesLost += gPc.imagesLost.exchange(0, std::memory_order_relaxed);
  gpu.sender.flush(gPc.host, gpu.session);
}

// mayRestart: not inside callbacks, where a session can be neither ended nor begun for the wrong context.
void readSession(Gpu& gpu, bool mayRestart) noexcept {
  if (!gpu.session.isOpen()) return;
  bool full = false;
  StepFailure failure;
  const bool ok = gpu.session.read(full, failure, [&](const auto& portion) { send(gpu, portion); });
  if (full) {
    ++gpu.sender.pending().bufferFull;
    if (mayRestart) restart(gpu);
  } else if (!ok) {
    fail(gpu, failure);
    StepFailure ignored;
    gpu.session.close(ignored, [&](const auto& portion) { send(gpu, portion); });
  }
}

Gpu* gpuOf(CUcontext context) noexcept {
  for (Gpu& gpu : gGpus) {
    if (gpu.session.isOpen() && gpu.session.context() == context) return &gpu;
  }
  return nullptr;
}

// True the first time that a checksum comes; a full table sends again.
bool isNewImage(std::uint64_t crc) noexcept {
  for (std::uint32_t i = 0; i < 16; ++i) {
    std::uint64_t free = 0;
    auto& cell = gPc.images[(crc + i) % kImages];
    if (cell.compare_exchange_strong(free, crc, std::memory_order_relaxed)) return true;
    if (free == crc) return false;
  }
  return true;
}

bool sendImage(std::uint64_t crc, const void* image, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t kPiece = kSlotBytes - sizeof(wire::CubinRecord);
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t piece = bytes - at < kPiece ? bytes - at : kPiece;
    const std::uint64_t whole = (sizeof(wire::CubinRecord) + piece + 7) / 8 * 8;
    const Slot slot = gPc.host.takeSlot(whole);
    if (slot.start == nullptr) return false;
    auto* record = reinterpret_cast<wire::CubinRecord*>(slot.start);
    record->header.kind = static_cast<std::uint32_t>(wire::OwnKind::cubin);
    record->header.bytes = static_cast<std::uint32_t>(whole);
    record->header.t = realtimeNow();
    record->header.tid = static_cast<std::uint32_t>(syscall(SYS_gettid));
    record->crc = crc;
    record->totalBytes = bytes;
    record->offset = at;
    record->bytes = piece;
    std::memcpy(record + 1, static_cast<const char*>(image) + at, piece);
    gPc.host.giveSlot(slot, whole);
    at += piece;
  }
  return true;
}

}  // namespace

void pcBegin(const PcHost& host) noexcept {
  if (host.period == 0) return;
  gPc.host = host;
  Turn turn(kContextWaitNs);
  char text[sizeof wire::PcBatchRecord::text] = {};
  if (const char* missing = loadPcFunctions(gPc.functions, host.libraryPath)) {
    std::snprintf(text, sizeof text, "this CUPTI has no %s: CUDA 12.8 or newer is needed for PC sampling",
                  missing);
  } else if (host.cuptiVersion < kOldestPcCupti) {
    std::snprintf(text, sizeof text,
                  "CUPTI %u cannot sample beside a timeline: CUDA 12.8 or newer is needed for PC sampling",
                  host.cuptiVersion);
  }
  if (text[0] != 0) {
    fail(gGpus[0], "not_recorded", text, CUPTI_SUCCESS);
    flushPending(gGpus[0]);
    return;
  }
  gPc.on.store(1, std::memory_order_release);
}

void pcContextCreated(CUcontext context) noexcept {
  if (!isOn() || context == nullptr) return;
  Turn turn(kContextWaitNs);
  if (!turn) return;
  const std::int64_t start = monotonicNow();
  std::uint32_t device = 0;
  if (gPc.functions.cuptiGetDeviceId(context, &device) != CUPTI_SUCCESS || device >= kMaxGpus) return;
  Gpu& gpu = gGpus[device];
  wire::PcBatchRecord& pending = gpu.sender.pending();
  pending.deviceId = device;
  gpu.known = true;
  if (gpu.session.isOpen()) {
    ++pending.refusedContexts;
  } else if (!gpu.failed) {
    openSession(gpu, context, device);
    ++pending.setups;
    pending.setupNs += static_cast<std::uint64_t>(monotonicNow() - start);
  }
  flushPending(gpu);
}

void pcContextEnds(CUcontext context) noexcept {
  if (!isOn()) return;
  Turn turn(kContextWaitNs);
  if (!turn) return;
  Gpu* gpu = gpuOf(context);
  if (gpu == nullptr) return;
  const std::int64_t start = monotonicNow();
  readSession(*gpu, false);
  closeSession(*gpu);
  ++gpu->sender.pending().flushes;
  gpu->sender.pending().flushNs += static_cast<std::uint64_t>(monotonicNow() - start);
  flushPending(*gpu);
}

void pcModuleLoaded(const void* image, std::uint64_t bytes) noexcept {
  if (!isOn() || !hasLineInfo(image, bytes)) return;
  CUpti_GetCubinCrcParams params{};
  params.size = CUpti_GetCubinCrcParamsSize;
  params.cubin = image;
  params.cubinSize = bytes;
  if (gPc.functions.cuptiGetCubinCrc(&params) != CUPTI_SUCCESS || !isNewImage(params.cubinCrc)) return;
  const bool fits = bytes <= wire::kMaxCubinBytes &&
                    gPc.imagesBytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kMaxImagesBytes;
  if (!fits || !sendImage(params.cubinCrc, image, bytes))
    gPc.imagesLost.fetch_add(1, std::memory_order_relaxed);
}

void pcModuleUnloads(CUcontext context) noexcept {
  if (!isOn()) return;
  Turn turn(kUnloadWaitNs);
  if (!turn) return;
  Gpu* gpu = gpuOf(context);
  if (gpu == nullptr) return;
  const std::int64_t start = monotonicNow();
  readSession(*gpu, false);
  ++gpu->sender.pending().flushes;
  gpu->sender.pending().flushNs += static_cast<std::uint64_t>(monotonicNow() - start);
}

void pcResetComes() noexcept {
  if (!isOn()) return;
  Turn turn(kUnloadWaitNs);
  if (!turn) return;
  for (Gpu& gpu : gGpus) {
    readSession(gpu, false);
    if (gpu.known) flushPending(gpu);
  }
}

void pcTick() noexcept {
  if (!isOn()) return;
  Turn turn(0);
  if (!turn) return;
  for (Gpu& gpu : gGpus) {
    if (!gpu.known) continue;
    const std::int64_t start = monotonicNow();
    readSession(gpu, true);
    ++gpu.sender.pending().reads;
    gpu.sender.pending().readNs += static_cast<std::uint64_t>(monotonicNow() - start);
    flushPending(gpu);
  }
}

void pcAtExit() noexcept {
  if (gPc.on.exchange(0, std::memory_order_acq_rel) == 0) return;
  Turn turn(kExitWaitNs);
  if (!turn) return;
  for (Gpu& gpu : gGpus) {
    if (!gpu.known) continue;
    readSession(gpu, false);
    closeSession(gpu);
    if (!gpu.failed) gpu.sender.pending().state = static_cast<std::uint32_t>(wire::PcState::ended);
    flushPending(gpu);
  }
}

void pcForget() noexcept {
  gPc.on.store(0, std::memory_order_relaxed);
  gPc.turn.store(0, std::memory_order_relaxed);
  gPc.host = PcHost{};
  tInside = false;
  for (Gpu& gpu : gGpus) {
    gpu.session.forget();
    gpu.failed = gpu.known = false;
    gpu.restarts = 0;
    gpu.sender.pending() = wire::PcBatchRecord{};
  }
  for (auto& image : gPc.images) image.store(0, std::memory_order_relaxed);
}

}  // namespace warpmeter::counters
