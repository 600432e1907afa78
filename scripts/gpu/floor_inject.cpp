// SPDX-License-Identifier: Apache-2.0
// The floor of tracing cost: CUPTI records the kinds that it is asked for into shared, populated, zeroed
// buffers, and nobody reads them. Loaded through CUDA_INJECTION64_PATH; what Warpmeter costs above this is
// Warpmeter's own.
//
// WARPMETER_FLOOR_KINDS: names of kKinds, separated by commas (default: kDefaultKinds).
#include <cupti.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kBuffers = 512;

struct Kind {
  const char* name;
  CUpti_ActivityKind kind;
};
constexpr Kind kKinds[] = {
    {"kernel", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
    {"runtime", CUPTI_ACTIVITY_KIND_RUNTIME},
    {"driver", CUPTI_ACTIVITY_KIND_DRIVER},
    {"memcpy", CUPTI_ACTIVITY_KIND_MEMCPY},
    {"memset", CUPTI_ACTIVITY_KIND_MEMSET},
    {"overhead", CUPTI_ACTIVITY_KIND_OVERHEAD},
    {"sync", CUPTI_ACTIVITY_KIND_SYNCHRONIZATION},
    {"event", CUPTI_ACTIVITY_KIND_CUDA_EVENT},
    {"memory", CUPTI_ACTIVITY_KIND_MEMORY2},
    {"context", CUPTI_ACTIVITY_KIND_CONTEXT},
    {"memcpy2", CUPTI_ACTIVITY_KIND_MEMCPY2},
    {"jit", CUPTI_ACTIVITY_KIND_JIT},
    {"stream", CUPTI_ACTIVITY_KIND_STREAM},
    {"device", CUPTI_ACTIVITY_KIND_DEVICE},
};
// "driver-launch" is the launch calls of the driver alone, as Warpmeter asks for them by default.
constexpr CUpti_CallbackId kDriverLaunches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};
constexpr const char* kDefaultKinds =
    "kernel,runtime,driver-launch,memcpy,memcpy2,memset,overhead,sync,event,context,stream,device,memory,"
    "jit";

std::uint8_t* pool;
std::atomic<std::size_t> requested{0};
std::atomic<std::size_t> completed{0};
std::atomic<std::size_t> filledBytes{0};

void bufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords) {
  *buffer = pool + requested.fetch_add(1, std::memory_order_relaxed) % kBuffers * kBufferBytes;
  *size = kBufferBytes;
  *maxRecords = 0;
}

// Zeroing is another process's work in Warpmeter; here it is needed only once the pool has gone round.
void bufferCompleted(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t validSize) {
  filledBytes.fetch_add(validSize, std::memory_order_relaxed);
  if (completed.fetch_add(1, std::memory_order_relaxed) >= kBuffers / 2) {
    std::memset(buffer, 0, validSize);
  }
}

bool listed(const char* list, const char* name) {
  const std::size_t length = std::strlen(name);
  for (const char* at = list; (at = std::strstr(at, name)) != nullptr; at += length) {
    if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) {
      return true;
    }
  }
  return false;
}

void atEnd() {
  cuptiActivityFlushAll(1);
  std::size_t dropped = 0;
  const CUptiResult read = cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  std::fprintf(stderr, "floor: buffers=%zu bytes=%zu dropped=%s%zu\n", completed.load(), filledBytes.load(),
               read == CUPTI_SUCCESS ? "" : "unknown:", dropped);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  void* memory = mmap(nullptr, kBuffers * kBufferBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {
    std::fprintf(stderr, "floor: no memory for the buffers\n");
    return 1;
  }
  pool = static_cast<std::uint8_t*>(memory);
  std::uint8_t zeroed = 1;
  std::size_t zeroedBytes = sizeof zeroed;
  if (cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &zeroedBytes, &zeroed) !=
      CUPTI_SUCCESS) {
    std::fprintf(stderr, "floor: CUPTI zeroes the buffers itself\n");
  }
  if (cuptiActivityRegisterCallbacks(bufferRequested, bufferCompleted) != CUPTI_SUCCESS) {
    std::fprintf(stderr, "floor: CUPTI takes no callbacks\n");
    return 1;
  }
  const char* asked = std::getenv("WARPMETER_FLOOR_KINDS");
  for (const Kind& kind : kKinds) {
    if (listed(asked != nullptr ? asked : kDefaultKinds, kind.name) &&
        cuptiActivityEnable(kind.kind) != CUPTI_SUCCESS) {
      std::fprintf(stderr, "floor: kind %s cannot be enabled\n", kind.name);
    }
  }
  if (listed(asked != nullptr ? asked : kDefaultKinds, "driver-launch")) {
    for (const CUpti_CallbackId call : kDriverLaunches) {
      if (cuptiActivityEnableDriverApi(call, 1) != CUPTI_SUCCESS) {
        std::fprintf(stderr, "floor: driver call %u cannot be enabled\n", call);
      }
    }
  }
  std::atexit(atEnd);
  return 1;
}
