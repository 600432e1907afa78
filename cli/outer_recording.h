// SPDX-License-Identifier: Apache-2.0
// Whether this process itself runs inside a recording.
#pragma once

#include <filesystem>
#include <optional>

#include "warpmeter/profile/result.h"

namespace warpmeter::cli {

struct OuterRecording {
  pid_t recorder = 0;          // 0: not found in /proc
  std::filesystem::path file;  // absolute; empty: not known
};

// The recording that WARPMETER_SOCKET belongs to, if its recorder still listens. Does not disturb it.
std::optional<OuterRecording> outerRecording();

// Why a second recording does not start inside it. A program reports to one recorder only, the innermost: the
// outer file would claim that there was no CUDA work.
Error refusalInside(const OuterRecording& outer);

}  // namespace warpmeter::cli
