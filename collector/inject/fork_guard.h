// SPDX-License-Identifier: Apache-2.0
// A forked child has CUPTI's state but none of its threads, and the same shared memory: whatever it wrote there would
// land among its parent's records. It gets private memory in its place and records nothing until it calls exec.
#pragma once

namespace warpmeter::inject {

// Once per process, before the first record.
bool installForkGuard() noexcept;

}  // namespace warpmeter::inject
