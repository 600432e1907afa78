// SPDX-License-Identifier: Apache-2.0
// PC sampling inside the recorded process: CUPTI's continuous mode, which samples the instruction pointers of
// all warps while kernels run as they do without it. One context per GPU: a second one is refused and
// counted.
//
// A session begins in the callback that says that a context was created (as in NVIDIA's own sample, so
// nothing of the context escapes it) and ends when the context or the process does. In between our thread
// fetches what CUPTI has collected; an application thread does so only where it unloads code or resets a
// device, because CUPTI can name instructions only as long as their image is loaded. No launch passes through
// here. CUPTI's calls are made by one thread at a time; whoever has to wait does so for a bounded time and
// then goes without. Any error of CUPTI ends sampling on that GPU, with the reason in a record; the program
// and its recording go on.
//
// Names of functions that CUPTI hands out are never freed: its header says that they may be shared with
// activity records. How many it hands out anew is counted (PcBatchRecord::names).
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

#include "warpmeter/counters_guest/slots.h"

namespace warpmeter::counters {

struct PcHost {
  std::uint32_t period = 0;     // wire::kPcAutoPeriod or n of 2^n cycles; 0 = off
  std::uint32_t bufferMiB = 0;  // of the hardware's buffer; 0 = kPcBufferMiB
  std::uint32_t cuptiVersion = 0;
  const char* libraryPath = "";  // of the libcupti in use
  TakeSlot takeSlot = nullptr;
  GiveSlot giveSlot = nullptr;
  std::uint64_t (*nameOf)(const char* text, std::uint64_t bytes) noexcept = nullptr;  // a string reference
};
// Beside kernel records only from CUDA 12.8 on (CUPTI's release notes).
inline constexpr std::uint32_t kOldestPcCupti = 26;
// CUPTI's own default is 512 MB.
inline constexpr std::uint32_t kPcBufferMiB = 64;

// Once, after the recording was attached; does nothing with period 0.
void pcBegin(const PcHost& host) noexcept;
// In resource callbacks.
void pcContextCreated(CUcontext context) noexcept;
void pcContextEnds(CUcontext context) noexcept;
void pcModuleLoaded(const void* image, std::uint64_t bytes) noexcept;
void pcModuleUnloads(CUcontext context) noexcept;
// Something is about to be destroyed or reset (API callback, enter).
void pcResetComes() noexcept;
// Regularly, on our own thread.
void pcTick() noexcept;
// The process is ending, its driver still there.
void pcAtExit() noexcept;
// In a forked child: nothing of it is true any more.
void pcForget() noexcept;

}  // namespace warpmeter::counters
