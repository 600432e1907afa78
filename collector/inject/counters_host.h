// SPDX-License-Identifier: Apache-2.0
// What the ways to count inside the process (counters/guest) need of the recording: slots, names, exit hooks.
#pragma once

#include "session.h"

namespace warpmeter::inject {

// Begins those that the options ask for.
void beginCounters(Session& session) noexcept;

}  // namespace warpmeter::inject
