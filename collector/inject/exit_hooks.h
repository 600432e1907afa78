// SPDX-License-Identifier: Apache-2.0
// The end of a process that calls exit() or returns from main(): the last records are fetched and the exit code is
// published. Nothing here touches CUDA. Processes that end otherwise leave their buffers in the shared memory.
#pragma once

namespace warpmeter::inject {

// May be called again; the handler that runs first does the work, the others nothing.
void installExitHook() noexcept;

// In a forked child: what its parent did does not count.
void resetExitHook() noexcept;

}  // namespace warpmeter::inject
