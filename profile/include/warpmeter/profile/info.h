// SPDX-License-Identifier: Apache-2.0
// The few-row tables of a profile: session, processes, GPUs. Times in ns as in rows.h unless said otherwise.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "warpmeter/profile/ids.h"

namespace warpmeter {

// WM_SESSION and TARGET_INFO_SESSION_START_TIME.
struct SessionInfo {
  std::int64_t utcEpochNs = kNull;      // CLOCK_REALTIME at time 0 of the file
  std::int64_t monotonicNs = kNull;     // CLOCK_MONOTONIC at the same moment
  std::int64_t boottimeNs = kNull;      // CLOCK_BOOTTIME at the same moment
  std::int64_t startedNs = 0;           // when the recorder was ready
  std::int64_t endedNs = kNull;         // NULL while recording, and after a recorder that was killed
  std::string endedHow;                 // "exited(0)", "killed(9)", "" while recording
  std::string hostname;                 // empty in imported files
  std::string warpmeterVersion;
  std::string driverVersion;            // "580.159"; empty = not known
  std::string counters;                 // "sampled" (and what else there is, comma-separated), else the reason id
                                        // from analyzer names: "not_requested", "no_permission", ...
  std::string countersText;             // one line for people about a reason that is more than its id; may be empty
  bool nvtxRequested = false;
  std::string apiMode;                  // work, all, none
};

// One clock triple; the recorder writes one a second (WM_CLOCK).
struct ClockRow {
  std::int64_t realtimeNs = kNull, monotonicNs = kNull, boottimeNs = kNull;
};

// WM_PROCESS and PROCESSES.
struct ProcessInfo {
  GlobalPid globalPid;
  std::int64_t pid = 0;
  std::int64_t parentPid = kNull;
  std::string name;                     // last path component of argv[0] or the script
  std::vector<std::string> argv;
  std::int64_t startNs = kNull;         // process start from /proc
  std::int64_t startUncertaintyNs = kNull;
  std::int64_t exitNs = kNull;
  std::string exitHow;                  // "exited(0)", "killed(9)", "unknown", "" = still running
  std::int64_t rank = kNull;
  std::int64_t cuptiVersion = kNull;
  std::string cuptiPath;
  std::string status;                   // "recorded", "no_gpu_work", "blocked: <holder>", "refused: <why>"
};

// TARGET_INFO_GPU plus WM_GPU_LIMIT. Absent values are kNull.
struct GpuInfo {
  std::int64_t id = 0;                  // TARGET_INFO_GPU.id = cuDevice where the process sees all GPUs
  std::int64_t cuDevice = kNull;
  std::string name, busLocation, uuid, chipName;
  std::int64_t isDiscrete = 1, l2CacheSize = kNull, totalMemory = kNull,
               memoryBandwidth = kNull /* bytes/s */, clockRate = kNull /* Hz */, smCount = kNull,
               constantMemory = kNull, maxIpc = kNull, maxRegistersPerBlock = kNull,
               maxShmemPerBlock = kNull, maxShmemPerBlockOptin = kNull, maxShmemPerSm = kNull,
               maxRegistersPerSm = kNull, threadsPerWarp = kNull, asyncEngines = kNull,
               maxWarpsPerSm = kNull, maxBlocksPerSm = kNull, maxThreadsPerBlock = kNull;
  std::int64_t maxBlockDim[3] = {kNull, kNull, kNull}, maxGridDim[3] = {kNull, kNull, kNull};
  std::int64_t computeMajor = kNull, computeMinor = kNull;
  std::int64_t reservedShmemPerBlock = kNull;  // WM_GPU_LIMIT only
  std::int64_t memoryClockHz = kNull, memoryBusBits = kNull;
  std::string limitSource;              // "driver", "cupti", "table": who said the limits
};

// TARGET_INFO_CUDA_DEVICE: a process's CUDA ordinal -> GPU.
struct CudaDeviceInfo {
  std::int64_t gpuId = kNull, cudaId = kNull, pid = kNull;
  std::string uuid;
  std::int64_t numMultiprocessors = kNull;
};

// Of WM_LOSS.kind. NVTX that the program itself left unbalanced, kinds that its CUPTI does not have, holes between
// samples (which are some of many in any case), source lines and processes that outlive the recording are told, but no record is
// missing.
constexpr bool lossMeansIncomplete(std::string_view kind) {
  return kind != "nvtx_open" && kind != "nvtx_orphan" && kind != "degraded" && kind != "samples" &&
         kind != "pc_samples" && kind != "pc_lines" && kind != "left_running";
}

}  // namespace warpmeter
