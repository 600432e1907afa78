// SPDX-License-Identifier: Apache-2.0
// What the fake libcuda tells the fake libcupti: the real ones talk through private tables in the same way.
#pragma once

#include <cstdint>

namespace warpmeter::fake {

enum class Work : std::uint32_t { none, kernel, copy, set, synchronize, event, allocate, release };

// One API call of the application, with the GPU work that it starts.
struct Call {
  bool runtime = false;              // a CUDA runtime call with a driver call of the same id inside
  std::uint32_t cbid = 0;            // of the outer call
  std::uint32_t nestedCbid = 0;      // of the driver call inside a runtime call
  Work work = Work::none;
  const char* name = nullptr;        // kernel; must stay valid
  std::uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  std::uint32_t contextId = 0, streamId = 0;
  std::uint64_t bytes = 0, address = 0;
  std::uint32_t copyKind = 0;        // CUpti_ActivityMemcpyKind
  std::int64_t durationNs = 0;       // of the GPU work
  void* context = nullptr;           // CUcontext
  const void* image = nullptr;       // kernel: of the code it is in
  std::uint64_t imageBytes = 0;
  const void* driverParameters = nullptr;  // of the driver call (cuLaunchKernel_params ...)
  int result = 0;                    // CUresult of the call
  void (*inside)(Call*) = nullptr;   // what the driver does between enter and exit
  // Out.
  std::uint32_t correlationId = 0;
  std::int64_t endNs = 0;            // CLOCK_REALTIME at which the GPU work ends
};

// Numbers that tests look at.
struct State {
  std::uint32_t version, subscribed, callbacksRegistered, enabledKinds, enabledRuntimeCalls, enabledDriverCalls,
      enabledCallbacks;
  std::uint64_t recordsWritten, recordsDropped, buffersRequested, buffersRefused, buffersCompleted, flushes,
      forcedFlushes;
  std::uint32_t zeroedBuffersPromised, launchAttributes, latencyTimestamps, threadIdType;
  std::uint64_t dirtyBuffers;        // buffers that were promised to be zero and were not
  std::uint64_t rangeCalls;          // calls of the Range Profiler API, cuptiProfilerInitialize included
  std::uint64_t pushedRanges, openRanges, openSessions;
  std::uint64_t callsDuringCapture;  // of rangeCalls: each of them would have spoiled the capture
  std::uint64_t pcCalls, pcSessions;  // calls of PC sampling, open sessions
  std::uint64_t pcSamples, pcNameless;  // taken so far; of them not fetched before their code was unloaded
};

using CallFunction = void (*)(Call*);
using ResourceFunction = void (*)(std::uint32_t cbid, std::uint32_t contextId, std::uint32_t moduleId,
                                  std::uint64_t bytes, std::uint32_t streamId, const void* image,
                                  void* context);
using StateFunction = void (*)(State*);
using CaptureFunction = bool (*)(int change);

// Symbols that the fake libcupti exports beside CUPTI's own.
inline constexpr char kMarkerSymbol[] = "warpmeterFakeCupti";          // proves that no real libcupti is in use
inline constexpr char kCallSymbol[] = "warpmeterFakeCuptiCall";        // CallFunction
inline constexpr char kResourceSymbol[] = "warpmeterFakeCuptiResource";  // ResourceFunction
// CaptureFunction: a stream begins (+1) or ends (-1) to capture; true at the end: the capture was invalidated.
inline constexpr char kCaptureSymbol[] = "warpmeterFakeCuptiCapture";
inline constexpr char kStateSymbol[] = "warpmeterFakeCuptiState";      // StateFunction

}  // namespace warpmeter::fake
