// SPDX-License-Identifier: Apache-2.0
// One connection to the recorder, one message, closed again; see wire/handshake.h. Never waits.
#pragma once

#include "memory.h"
#include "options.h"

namespace warpmeter::inject {

// A connected descriptor, or -1: no recorder is listening there, or too many guests are knocking.
int connectRecorder(const char* socketPath) noexcept;

// Sends Hello with the memory's descriptor; closes both descriptors whatever happens.
bool sendHello(int connection, SharedMemory& memory, const Options& options) noexcept;

}  // namespace warpmeter::inject
