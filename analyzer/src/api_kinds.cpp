// SPDX-License-Identifier: Apache-2.0
#include "warpmeter/analyzer/api_kinds.h"

#include <array>

namespace warpmeter::analyzer {
namespace {

struct Prefix {
  std::string_view text;
  ApiKind kind;
};

// The first prefix that fits decides, so longer ones stand before shorter ones.
constexpr std::array kPrefixes{
    Prefix{"cudaLaunch", ApiKind::launch},
    Prefix{"cuLaunch", ApiKind::launch},
    Prefix{"cudaGraphLaunch", ApiKind::launch},
    Prefix{"cuGraphLaunch", ApiKind::launch},
    Prefix{"cudaMemcpy", ApiKind::copy},
    Prefix{"cuMemcpy", ApiKind::copy},
    Prefix{"cudaMemset", ApiKind::memset},
    Prefix{"cuMemset", ApiKind::memset},
    Prefix{"cudaDeviceSynchronize", ApiKind::sync},
    Prefix{"cudaThreadSynchronize", ApiKind::sync},
    Prefix{"cudaStreamSynchronize", ApiKind::sync},
    Prefix{"cudaEventSynchronize", ApiKind::sync},
    Prefix{"cuCtxSynchronize", ApiKind::sync},
    Prefix{"cuStreamSynchronize", ApiKind::sync},
    Prefix{"cuEventSynchronize", ApiKind::sync},
    Prefix{"cuModuleLoad", ApiKind::moduleLoad},
    Prefix{"cuModuleGetFunction", ApiKind::moduleLoad},
    Prefix{"cuLibraryLoad", ApiKind::moduleLoad},
    Prefix{"cuLibraryGet", ApiKind::moduleLoad},
    Prefix{"cuKernelGetFunction", ApiKind::moduleLoad},
    Prefix{"cuFuncLoad", ApiKind::moduleLoad},
    Prefix{"cudaLibraryLoad", ApiKind::moduleLoad},
    Prefix{"cudaLibraryGet", ApiKind::moduleLoad},
    Prefix{"cudaGetKernel", ApiKind::moduleLoad},
    Prefix{"cuLink", ApiKind::moduleLoad},
    Prefix{"cuDevicePrimaryCtxRetain", ApiKind::context},
    Prefix{"cuCtxCreate", ApiKind::context},
    Prefix{"cuGreenCtxCreate", ApiKind::context},
    Prefix{"cuCtxFromGreenCtx", ApiKind::context},
    Prefix{"cudaInitDevice", ApiKind::context},
    Prefix{"cuInit", ApiKind::init},
    Prefix{"cudaMalloc", ApiKind::memory},
    Prefix{"cudaFree", ApiKind::memory},
    Prefix{"cudaHostAlloc", ApiKind::memory},
    Prefix{"cudaHostRegister", ApiKind::memory},
    Prefix{"cuMemAlloc", ApiKind::memory},
    Prefix{"cuMemFree", ApiKind::memory},
    Prefix{"cuMemHost", ApiKind::memory},
    Prefix{"cuMem", ApiKind::memory},
    Prefix{"cudaMem", ApiKind::memory},
    Prefix{"cudaStream", ApiKind::stream},
    Prefix{"cuStream", ApiKind::stream},
    Prefix{"cudaEvent", ApiKind::event},
    Prefix{"cuEvent", ApiKind::event},
    Prefix{"cudaGraph", ApiKind::graph},
    Prefix{"cuGraph", ApiKind::graph},
};

}  // namespace

ApiKind apiKindOf(std::string_view name) {
  for (const Prefix& prefix : kPrefixes) {
    if (name.starts_with(prefix.text)) return prefix.kind;
  }
  return ApiKind::other;
}

}  // namespace warpmeter::analyzer
