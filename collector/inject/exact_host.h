// SPDX-License-Identifier: Apache-2.0
// Exact mode (counters/guest) in this process: its buffers come from the session's pool.
#pragma once

#include "session.h"

namespace warpmeter::inject {

// Once, when CUPTI delivers to us; does nothing unless the environment asks for it.
void beginExactMode(Session& session) noexcept;

}  // namespace warpmeter::inject
