// SPDX-License-Identifier: Apache-2.0
#include "reasons.h"

#include <cstdio>

namespace warpmeter::counters {

const char* reasonOf(CUptiResult result) noexcept {
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return "no_permission";
    case CUPTI_ERROR_HARDWARE_BUSY:
    case CUPTI_ERROR_INVALID_OPERATION:
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "counters_busy";
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_INVALID_CHIP_NAME:
      return "unsupported_chip";
    default:
      return "not_recorded";
  }
}

void describe(const StepFailure& failure, decltype(&::cuptiGetResultString) resultString, char* text,
              std::size_t bytes) noexcept {
  const char* meaning = nullptr;
  if (resultString != nullptr) resultString(failure.result, &meaning);
  std::snprintf(text, bytes, "%s failed: %s (CUPTI error %d)", failure.step,
                meaning == nullptr ? "?" : meaning, failure.result);
}

}  // namespace warpmeter::counters
