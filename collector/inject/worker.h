// SPDX-License-Identifier: Apache-2.0
// Our one thread: flushes CUPTI, takes returned slots back, populates pages ahead, reads the drop counter. It sleeps
// without a timeout as long as no CUPTI is attached.
#pragma once

namespace warpmeter::inject {

// False when the process may start no thread: buffers then come at the end only.
bool startWorker() noexcept;

// Keeps the thread out of CUPTI from now on; waits up to a second for it to come out.
void stopFlushing() noexcept;

}  // namespace warpmeter::inject
