// SPDX-License-Identifier: Apache-2.0
// The two entry points of the library; everything behind them is in the other files.
#include "attach.h"
#include "nvtx.h"

// Called by libcuda inside cuInit() because CUDA_INJECTION64_PATH names this library. 1 = fine: a recording that could
// not be started is no reason to let the application's cuInit() know about us.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  warpmeter::inject::attachCuda();
  return 1;
}

// Called by each module that uses NVTX, at its first NVTX call, because NVTX_INJECTION64_PATH names this library.
// 0 = not recorded; NVTX then turns its functions into no-ops.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    warpmeter::inject::NvtxGetExportTable getExportTable) {
  return warpmeter::inject::attachNvtx(getExportTable) ? 1 : 0;
}
