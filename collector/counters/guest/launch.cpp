// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <cuda.h>

namespace warpmeter::counters {
namespace {

#define D(name) CUPTI_DRIVER_TRACE_CBID_##name
constexpr CUpti_CallbackId kLaunches[] = {D(cuLaunchKernel),
                                          D(cuLaunchKernel_ptsz),
                                          D(cuLaunchKernelEx),
                                          D(cuLaunchKernelEx_ptsz),
                                          D(cuLaunchCooperativeKernel),
                                          D(cuLaunchCooperativeKernel_ptsz),
                                          D(cuLaunchCooperativeKernelMultiDevice),
                                          D(cuGraphLaunch),
                                          D(cuGraphLaunch_ptsz)};
constexpr CUpti_CallbackId kCaptures[] = {D(cuStreamBeginCapture),        D(cuStreamBeginCapture_ptsz),
                                          D(cuStreamBeginCapture_v2),     D(cuStreamBeginCapture_v2_ptsz),
                                          D(cuStreamBeginCaptureToGraph), D(cuStreamBeginCaptureToGraph_ptsz),
                                          D(cuStreamEndCapture),          D(cuStreamEndCapture_ptsz)};

bool startsWith(const char* text, const char* prefix) {
  while (*prefix != 0 && *text == *prefix) ++text, ++prefix;
  return *prefix == 0;
}

std::uint64_t mix(std::uint64_t hash,
                  std::uint64_t value) {  // the finalizer of SplitMix64 over a running sum
  std::uint64_t z = hash + value + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

struct Shape {
  CUfunction function;
  unsigned grid[3], block[3], shared;
};

std::uint64_t keyOf(const Shape& s, const CUpti_CallbackData& call) {
  const auto pair = [](unsigned high, unsigned low) { return std::uint64_t{high} << 32 | low; };
  std::uint64_t key =
      mix(reinterpret_cast<std::uintptr_t>(call.context), reinterpret_cast<std::uintptr_t>(s.function));
  // A handle may come back for another kernel after its module is gone; its name then lies elsewhere, mostly.
  key = mix(key, reinterpret_cast<std::uintptr_t>(call.symbolName));
  key = mix(key, pair(s.grid[0], s.grid[1]));
  key = mix(key, pair(s.grid[2], s.block[0]));
  key = mix(key, pair(s.block[1], s.block[2]));
  key = mix(key, s.shared);
  return key == 0 ? 1 : key;
}

bool isCooperative(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && config.attrs[i].value.cooperative != 0)
      return true;
  }
  return false;
}

}  // namespace

std::span<const CUpti_CallbackId> launchCalls() noexcept { return kLaunches; }
std::span<const CUpti_CallbackId> captureCalls() noexcept { return kCaptures; }

CallKind callKindOf(CUpti_CallbackId id) noexcept {
  switch (id) {
    case D(cuLaunchKernel):
    case D(cuLaunchKernel_ptsz):
    case D(cuLaunchKernelEx):
    case D(cuLaunchKernelEx_ptsz):
      return CallKind::launch;
    case D(cuLaunchCooperativeKernel):
    case D(cuLaunchCooperativeKernel_ptsz):
    case D(cuLaunchCooperativeKernelMultiDevice):
    case D(cuGraphLaunch):
    case D(cuGraphLaunch_ptsz):
      return CallKind::otherWork;
    case D(cuStreamEndCapture):
    case D(cuStreamEndCapture_ptsz):
      return CallKind::endCapture;
    case D(cuStreamBeginCapture):
    case D(cuStreamBeginCapture_ptsz):
    case D(cuStreamBeginCapture_v2):
    case D(cuStreamBeginCapture_v2_ptsz):
    case D(cuStreamBeginCaptureToGraph):
    case D(cuStreamBeginCaptureToGraph_ptsz):
      return CallKind::beginCapture;
    default:
      return CallKind::none;
  }
}

Launch readLaunch(CUpti_CallbackId id, const CUpti_CallbackData& call) noexcept {
  Launch launch;
  if (call.functionParams == nullptr) return launch;
  if (id == D(cuLaunchKernel) || id == D(cuLaunchKernel_ptsz)) {
    const auto& p = *static_cast<const cuLaunchKernel_params*>(call.functionParams);
    launch.key = keyOf({p.f,
                        {p.gridDimX, p.gridDimY, p.gridDimZ},
                        {p.blockDimX, p.blockDimY, p.blockDimZ},
                        p.sharedMemBytes},
                       call);
  } else {
    const auto& p = *static_cast<const cuLaunchKernelEx_params*>(call.functionParams);
    if (p.config == nullptr) return launch;
    const CUlaunchConfig& c = *p.config;
    launch.key = keyOf({p.f,
                        {c.gridDimX, c.gridDimY, c.gridDimZ},
                        {c.blockDimX, c.blockDimY, c.blockDimZ},
                        c.sharedMemBytes},
                       call);
    launch.cooperative = isCooperative(c);
  }
  return launch;
}
#undef D

bool isCommunication(const char* name) noexcept {
  if (name == nullptr) return false;
  for (; *name != 0; ++name) {
    if (startsWith(name, "nccl") || startsWith(name, "nvshmem")) return true;
  }
  return false;
}

bool endsCapture(CUresult result) noexcept {
  switch (result) {
    case CUDA_SUCCESS:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
      return true;
    default:
      return false;
  }
}

}  // namespace warpmeter::counters
