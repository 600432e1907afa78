// SPDX-License-Identifier: Apache-2.0
#include "reasons.h"

#include <cupti_result.h>
#include <fmt/format.h>

namespace warpmeter::sampler {
namespace {

constexpr const char* kPermissionRemedy =
    "run as root, or on the host: options nvidia NVreg_RestrictProfilingToAdminUsers=0 in "
    "/etc/modprobe.d/nvidia.conf, "
    "then reload the driver; container: --cap-add SYS_ADMIN";
constexpr const char* kBusyRemedy =
    "end the other profiler on this GPU (ncu, nsys with GPU metrics, another Warpmeter), or pause DCGM: "
    "dcgmi profile "
    "--pause";

}  // namespace

bool isBusy(const PmStatus& status) {
  return status.code == CUPTI_ERROR_HARDWARE_BUSY || status.code == CUPTI_ERROR_INVALID_OPERATION;
}

Unavailable explain(const PmStatus& status, const std::string& name, const std::string& chip, bool mps) {
  const auto unsupported = [&](std::string_view what) {
    return Unavailable{kUnsupportedChip, fmt::format("{} (CUPTI {})", what, name)};
  };
  switch (status.code) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return {kNoPermission, fmt::format("counters are not permitted for this user (CUPTI {}): {}", name,
                                         kPermissionRemedy)};
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return {kNoPermission,
              fmt::format("this virtual GPU may not count (CUPTI {}): the host's administrator sets the "
                          "vGPU plugin parameter enable_profiling=1",
                          name)};
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_INVALID_OPERATION:
      return {kCountersBusy,
              fmt::format("another tool holds the counters of this GPU (CUPTI {}): {}", name, kBusyRemedy)};
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return {kCountersBusy, fmt::format("another profiler is attached (CUPTI {}): {}", name, kBusyRemedy)};
    case CUPTI_ERROR_INVALID_CHIP_NAME:
      return unsupported(fmt::format("this CUPTI does not know the chip {}: use a newer CUDA toolkit", chip));
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_NOT_COMPATIBLE:
      return unsupported(fmt::format("PM sampling is not possible on {}{}", chip.empty() ? "this GPU" : chip,
                                     mps ? ": MPS is running, counters do not work under it; end it" : ""));
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return unsupported("virtual GPUs of this kind have no counters");
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return unsupported("confidential computing is on: counters are not readable");
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
      return unsupported("mining cards have no counters");
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
      return unsupported(
          "the GPU is split by MIG, which has no device-wide counters: switch MIG off (nvidia-smi -mig 0)");
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
      return unsupported("SLI is on: switch it off");
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return unsupported("WSL has no counters: use Linux");
    default:
      break;
  }
  return {kNotRecorded, fmt::format("{} failed (CUPTI {}){}", status.call, name,
                                    mps ? "; MPS is running, counters do not work under it: end it" : "")};
}

Unavailable explainSetup(const std::string& why) {
  return {kUnsupportedChip,
          fmt::format("CUPTI offers no PM sampling here because of {}", why.empty() ? "its setup" : why)};
}

Unavailable explainMissing(const std::string& problem) { return {kNotRecorded, problem}; }

}  // namespace warpmeter::sampler
